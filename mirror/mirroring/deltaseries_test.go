package mirroring_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// deltas is a source with an image that changes a little each month, a site, and disks between them.
type deltas struct {
	*series
	layers map[string]string // the layer that changes each month, by the digests of images
}

func newDeltas(t *testing.T) *deltas {
	t.Helper()
	s := &deltas{series: &series{Site: mirrortest.New(t, registrytest.Options{})}, layers: map[string]string{}}
	s.months = []string{s.Images(s.Source.Host + "/org/app:stable")}
	return s
}

// monthly returns the bytes of a file that changes a little each month: some words differ, and some are new.
func monthly(seed uint64, size, month int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%x %d\n", r.Uint64(), i)
		if i%500 == 250 {
			fmt.Fprintf(&b, "month %d\n", month)
		}
	}
	return b.Bytes()
}

// publish pushes the image of a month, with more files, and returns its digest.
func (s *deltas) publish(month int, more ...registrytest.File) string {
	s.T.Helper()
	base := []registrytest.File{{Name: "usr/", Mode: 0o755}, {Name: "usr/base", Data: monthly(1, 200<<10, 0)}}
	files := append([]registrytest.File{
		{Name: "app/", Mode: 0o755},
		{Name: "app/server", Data: monthly(2, 900<<10, month), Mode: 0o755},
		{Name: "app/same", Data: monthly(3, 100<<10, 0)},
		{Name: fmt.Sprintf("app/lib.so.%d", month), Data: monthly(4, 300<<10, month)},
	}, more...)
	img, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{Labels: map[string]string{"month": fmt.Sprint(month)}}, base, files)
	fail.On(s.T, err)
	manifest, err := img.Manifest()
	fail.On(s.T, err)
	_, d, _ := strings.Cut(s.Push("org/app:stable", img), "@")
	s.layers[d] = manifest.Layers[len(manifest.Layers)-1].Digest.String()
	return d
}

// writing writes the disk of a month. Deltas are made however busy the machine is.
func (s *deltas) writing(disk string, more ...change) (*airgap.ExportResult, error) {
	slow := func(o *mirroring.Options) {
		if o.Delta == "" {
			o.DeltaTime = time.Minute
		}
	}
	return s.write(0, disk, append(more, slow)...)
}

// disk is writing that must succeed.
func (s *deltas) disk(disk string, more ...change) *airgap.ExportResult {
	s.T.Helper()
	r, err := s.writing(disk, more...)
	fail.On(s.T, err)
	return r
}

// has checks that a site has the image of a month, with all its blobs.
func (s *deltas) has(site, want string) {
	s.T.Helper()
	got, err := s.Mirror.Client().Pull(s.T.Context(), site+"/org/app", "stable")
	if err != nil || got.Digest.String() != want {
		s.T.Fatalf("%s has %+v, want %s: %v", site, got, want, err)
	}
	if _, err := verify.Run(s.T.Context(), verify.Options{Env: s.Env, Locations: []string{s.Docker(site)}, Workspace: s.Path("at-" + site), ReadBlobs: true}); err != nil {
		s.T.Errorf("%s: %v", site, err)
	}
	resp, err := http.Get(s.Mirror.URL() + "/v2/" + site + "/org/app/blobs/" + s.layers[want])
	fail.On(s.T, err)
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || digest.FromBytes(body).String() != s.layers[want] {
		s.T.Errorf("%s answers %d and %d bytes, %v", site, resp.StatusCode, len(body), err)
	}
}

// bases returns the digests of what the deltas of a disk are based on.
func (s *deltas) bases(disk string) (all []string) {
	s.T.Helper()
	have, err := archive.Inspect(s.Path(disk))
	fail.On(s.T, err)
	defer have.Close()
	for d := range have.Deltas() {
		all = append(all, elements.Map(d.Bases, func(b archive.DeltaBase) string { return b.Digest.String() })...)
	}
	return all
}

// lose has the mirror answer that it does not have these blobs.
func (s *deltas) lose(blobs ...string) {
	var rules []registrytest.Rule
	for _, b := range blobs {
		rules = append(rules, registrytest.Rule{Path: "/blobs/" + b, Action: registrytest.Refuse(http.StatusNotFound, "BLOB_UNKNOWN")})
	}
	s.Mirror.Script(rules...)
}

// repaired writes the repair that an import requested at a site, to a folder.
func (s *deltas) repaired(site string, sequence int, folder string, more ...change) error {
	s.T.Helper()
	o := s.MirrorOptions("", s.Archive(folder))
	o.Repair = s.Path(fmt.Sprintf("at-%s/requests/ops-%06d.json", site, sequence))
	for _, c := range more {
		c(&o)
	}
	_, err := mirroring.Run(s.T.Context(), o)
	return err
}

func delta(mode string) change { return func(o *mirroring.Options) { o.Delta = mode } }
func since(sequence int) change {
	return func(o *mirroring.Options) { o.Since = mirroring.Since{Sequence: sequence} }
}

// receiving is the receipt that an archive is written for, and giving the one that an import writes.
func (s *deltas) receiving(file string) change {
	return func(o *mirroring.Options) { o.Receipts = []string{s.Path(file)} }
}

func (s *deltas) giving(file string) change {
	return func(o *mirroring.Options) { o.WriteReceipt = s.Path(file) }
}

// count checks how many blobs an archive has as deltas.
func (s *deltas) count(r *airgap.ExportResult, want int) {
	s.T.Helper()
	if r.Deltas == nil || r.Deltas.Blobs != want {
		s.T.Fatalf("sequence %d has the deltas %+v, want %d", r.Sequence, r.Deltas, want)
	}
}
