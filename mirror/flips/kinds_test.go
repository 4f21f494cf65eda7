package flips

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// A kind is a kind of archive, or a layout.
type kind struct {
	name   string
	change func(s *source, o *mirroring.Options)
	// months is how many archives there are; each builds on the one before.
	months                            int
	layout, parity, encrypted, signed bool
	short                             bool // make test has it
}

func split(o *mirroring.Options) { o.VolumeSize = 64 << 10 }

func compact(o *mirroring.Options) {
	o.Compact, o.Delta = mirroring.DeltaMax, mirroring.DeltaMax
}

func redundant(o *mirroring.Options) { o.Redundancy, o.VolumeSize = 40, 128<<10 }

// kinds are the kinds of archives.
func kinds() []kind {
	return []kind{
		{name: "plain", change: func(*source, *mirroring.Options) {}},
		{name: "split", change: func(_ *source, o *mirroring.Options) { split(o) }},
		{name: "deltas", short: true, months: 2, change: func(_ *source, o *mirroring.Options) { o.Delta = mirroring.DeltaMax }},
		{name: "compact", change: func(_ *source, o *mirroring.Options) { compact(o) }},
		{name: "encrypted", encrypted: true, change: func(s *source, o *mirroring.Options) { o.EncryptTo = s.encryption }},
		{name: "signed", signed: true, change: func(s *source, o *mirroring.Options) { o.SigningKey = s.key }},
		{name: "parity", parity: true, change: func(_ *source, o *mirroring.Options) { redundant(o) }},
		{name: "everything", short: true, parity: true, encrypted: true, signed: true, change: func(s *source, o *mirroring.Options) {
			compact(o)
			redundant(o)
			o.EncryptTo, o.SigningKey = s.encryption, s.key
		}},
		{name: "layout", short: true, layout: true, change: func(*source, *mirroring.Options) {}},
	}
}

// fits reports whether a kind is read in a way.
func (k *kind) fits(way string) bool {
	switch {
	case k.layout:
		return way == "verify" || way == "mirror"
	case way == "rebuild":
		return k.parity
	}
	return way != "mirror"
}

// A source has the content of the archives, and keys.
type source struct {
	*mirrortest.Site
	encryption *archive.Encryption
	identities []age.Identity
	key        *sshsig.Key
	policy     *sshsig.Policy
	configs    []string // of two months
	changing   []string // of two months; the second also has less
}

// newSource pushes the images. An app changes a little from month to month.
func newSource(t *testing.T) *source {
	t.Helper()
	s := &source{Site: mirrortest.New(t, registrytest.Options{})}
	identity, recipient := s.AgeKey("identity", "")
	s.encryption, s.identities = s.Encryption(recipient), s.Identities(identity)
	signing, _ := s.SSHKey("signing", "")
	s.key, s.policy = s.Key(signing), s.Policy(signing)
	s.Push("org/small:v1", image(t, "small", 3000, 0))
	multi, err := registrytest.ImageIndex(true, image(t, "one", 2000, 0), image(t, "other", 2000, 0))
	fail.On(t, err)
	s.Push("org/multi:v1", multi)
	stanza := ""
	for month := range 2 {
		s.Push(fmt.Sprintf("org/app:v%d", month), image(t, "app", 120<<10, month))
		stanza += fmt.Sprintf("  - name: %s/org/app:v%d\n", s.Source.Host, month)
		text := "  additionalImages:\n" + stanza + fmt.Sprintf("  - name: %[1]s/org/small:v1\n  - name: %[1]s/org/multi:v1\n", s.Source.Host)
		s.configs = append(s.configs, s.Config(fmt.Sprintf("month%d.yaml", month), text))
		text = fmt.Sprintf("  additionalImages:\n  - name: %[1]s/org/app:v%[2]d\n  - name: %[1]s/org/small:v1\n", s.Source.Host, month) +
			"  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    packages: [{name: lantern}]\n"
		s.changing = append(s.changing, s.Config(fmt.Sprintf("changing%d.yaml", month), text))
	}
	return s
}

// image returns an image with a file that changes a little with each version.
func image(t *testing.T, name string, size, version int) v1.Image {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(len(name)), 1))
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%x %d\n", r.Uint64(), i)
		if i%500 == 250 {
			fmt.Fprintf(&b, "version %d\n", version)
		}
	}
	img, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{}, []registrytest.File{{Name: name, Data: b.Bytes(), Mode: 0o755}})
	fail.On(t, err)
	return img
}

// options returns the options of a run for an archive of a kind, in a workspace of its own.
func (s *source) options(k kind, month int) mirroring.Options {
	o := s.MirrorOptions(s.configs[month], "")
	o.Workspace, o.Name = s.Path("work-"+k.name), "flips"
	k.change(s, &o)
	return o
}

// write writes the archive of a kind, and reads it in all ways.
func (s *source) write(t *testing.T, k kind) *archived {
	t.Helper()
	a := &archived{source: s, kind: k}
	months := []int{1}
	if k.months > 1 {
		months = []int{0, 1}
	}
	for _, month := range months {
		dir := s.Path(fmt.Sprintf("%s-%d", k.name, month))
		o := s.options(k, month)
		o.Destination = env.ArchiveScheme + dir
		if k.layout {
			o.Destination = env.LayoutScheme + dir
		}
		_, err := mirroring.Run(t.Context(), o)
		fail.On(t, err)
		a.folders = append([]string{dir}, a.folders...)
	}
	if k.layout {
		a.plan = s.WrittenPlan("layout.json", s.configs[1])
	}
	a.files = readFolders(t, a.folders...)
	a.places = places(t, a.files)
	for _, w := range a.ways() {
		if !k.fits(w.name) {
			continue
		}
		if said, wrong := w.read(t.Context(), t, k.name+"-reference-"+w.name); said != nil || wrong != nil {
			t.Fatalf("%s of an intact archive: %v, %v", w.name, said, wrong)
		}
	}
	return a
}

// locations returns the folders as arguments.
func (a *archived) locations() (all []string) {
	return elements.Map(a.folders, func(dir string) string { return env.ArchiveScheme + dir })
}

// reading returns the keys that an archive is read with.
func (a *archived) reading() archive.OpenOptions {
	o := archive.OpenOptions{Log: slog.New(slog.NewTextHandler(&a.warned, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if a.encrypted {
		o.Identities = a.identities
	}
	if a.signed {
		o.Signatures = a.policy
	}
	return o
}

// rescued reports whether a way reads an archive without what is in a place, so that damage there is no error: parity, for
// example, is only read to rebuild.
func (a *archived) rescued(w way, p place) bool {
	return a.parity && strings.HasSuffix(p.file, ".parity") && slices.Contains([]string{"import", "extract", "serve", "list"}, w.name)
}
