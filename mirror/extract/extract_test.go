package extract_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ggcrlayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

const catalogName = "acme/operator-index:v4.20"

// images returns the options that extract images of disks to a folder.
func images(s *mirrortest.Site, to string, disks ...string) extract.Options {
	return extract.Options{Options: open.Options{Env: s.Env, Folders: disks}, To: to}
}

// inLayout returns the digests in the index of a layout, by name. Another library reads every image.
func inLayout(t *testing.T, dir string) map[string]string {
	t.Helper()
	l, err := layout.Open(dir)
	fail.On(t, err)
	index, err := l.Index()
	fail.On(t, err)
	names := map[string]string{}
	for _, m := range index.Manifests {
		names[m.Annotations[ocispec.AnnotationRefName]] = string(m.Digest)
	}
	all, err := ggcrlayout.ImageIndexFromPath(dir)
	if err == nil {
		err = validate.Index(all)
	}
	if err != nil {
		t.Errorf("%s: %v", dir, err)
	}
	return names
}

// planned returns the digests of a plan, by name.
func planned(p *plan.Plan) map[string]string {
	names := map[string]string{}
	for _, img := range p.Images {
		for _, name := range img.Names() {
			names[name] = string(img.Digest)
		}
	}
	return names
}

// TestImages extracts images one by one, and then all: what is already present stays.
func TestImages(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk, have, p := s.Disk("disk")
	to, last := s.Path("layout"), p.Images[len(p.Images)-1]
	all := planned(p)
	two := map[string]string{catalogName: all[catalogName]}
	for _, name := range last.Names() {
		two[name] = string(last.Digest)
	}
	for _, tc := range []struct {
		images []string
		count  int
		want   map[string]string
	}{
		{[]string{catalogName}, 1, map[string]string{catalogName: all[catalogName]}},
		{[]string{string(last.Digest)}, 1, two},
		{nil, len(p.Images), all},
		{nil, len(p.Images), all},
	} {
		o := images(s, to, disk)
		o.Images = tc.images
		got, err := extract.Images(t.Context(), o)
		fail.On(t, err)
		if got.To != to || got.Count != tc.count || len(got.Report.Failed) > 0 {
			t.Errorf("%v: %+v", tc.images, got)
		}
		fail.Diff(t, tc.want, inLayout(t, to))
	}

	// A damaged image is not written. All others are.
	blob := mirrortest.Largest(have, "gantry-000001.0002.tar")
	s.Spoil("disk", blob)
	got, err := extract.Images(t.Context(), images(s, s.Path("damaged"), disk))
	mirrortest.Refused(t, err, advice.Mismatch, "images are not extracted", "repair-request")
	holders, holdersErr := mirror.ImagesByContent(p, []digest.Digest{blob.Digest})
	if holdersErr != nil {
		t.Fatal(holdersErr)
	}
	var failed, want []string
	for _, img := range holders[blob.Digest] {
		want = append(want, img.Source)
		for _, name := range img.Names() {
			delete(all, name)
		}
	}
	for _, f := range got.Report.Failed {
		failed = append(failed, f.Source)
		if !strings.Contains(f.Reason, "gantry-000001.0002.tar") {
			t.Errorf("%s: %s", f.Source, f.Reason)
		}
	}
	slices.Sort(failed)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(failed, want) {
		t.Errorf("not extracted: %v, want %v", failed, want)
	}
	fail.Diff(t, all, inLayout(t, s.Path("damaged")))
	if s.Exists(filepath.Join("damaged", layout.BlobPath(blob.Digest))) {
		t.Error("the damaged blob was written")
	}
}

// TestRefused checks what is refused before anything is written.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk := s.Exported(s.Config("store.yaml", mirrortest.StoreOnly), "disk")
	key, _ := s.SSHKey("ops", "")
	s.Write("thesis.txt", "mine")
	for name, tc := range map[string]struct {
		kind   advice.Kind
		change func(o *extract.Options)
		words  []string
	}{
		"no folder":         {advice.Input, func(o *extract.Options) { o.To = "" }, []string{"name a folder with Options.To"}},
		"a folder of files": {advice.Input, func(o *extract.Options) { o.To = s.Dir }, []string{"Options.To"}},
		"a misspelled name": {advice.Input, func(o *extract.Options) { o.Images = []string{"lantern/stroe:1.2"} }, []string{`no image "lantern/stroe:1.2"`, `did you mean "lantern/store:1.2"?`}},
		"no archive":        {advice.Input, func(o *extract.Options) { o.Folders = []string{s.Archive("absent")} }, []string{"no such file", "check the path, and that the disk is mounted"}},
		"not signed":        {advice.Mismatch, func(o *extract.Options) { o.Read = archive.OpenOptions{Signatures: s.Policy(key)} }, []string{"not signed"}},
		"a base":            {advice.Input, func(o *extract.Options) { o.Bases = []string{"/disk"} }, []string{"write docker://HOST[:PORT][/PREFIX], oci://DIR or file://DIR"}},
		"no such layout":    {advice.Input, func(o *extract.Options) { o.Bases = []string{"oci://" + s.Path("absent")} }, []string{"Options.Bases oci://"}},
		"a mirror's paths":  {advice.Input, func(o *extract.Options) { o.MaxNestedPaths = 2 }, []string{"Options.MaxNestedPaths is for docker://"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := images(s, s.Path("out"), disk)
			tc.change(&o)
			_, err := extract.Images(t.Context(), o)
			mirrortest.Refused(t, err, tc.kind, tc.words...)
		})
	}
	if s.Exists("out") || s.Exists("index.json") {
		t.Error("something was written")
	}
}

// TestBases extracts an archive that builds on an earlier one, whose content is in the folder of that, in a layout, or in
// the mirror.
func TestBases(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	named := func(o *mirroring.Options) { o.Name = "ops" }
	one := s.Exported(s.Config("one.yaml", mirrortest.FirstMonth), "one", named)
	two := s.Exported(s.Config("two.yaml", mirrortest.SecondMonth), "two", named)
	_, err := extract.Images(t.Context(), images(s, s.Path("layout"), one))
	fail.On(t, err)
	s.Imported(s.Docker("site"), one)
	_, p := s.OpenArchive(two)
	got, err := extract.Images(t.Context(), images(s, s.Path("alone"), two))
	mirrortest.Refused(t, err, advice.Partial, "name the folders of the archives before it")
	if got == nil || len(got.Report.Failed) == 0 || len(got.Images) == 0 {
		t.Errorf("without a base: %+v", got)
	}
	for name, base := range map[string]string{"archive": one, "layout": "oci://" + s.Path("layout"), "mirror": s.Docker("site")} {
		o := images(s, s.Path("with-"+name), two)
		o.Bases = []string{base}
		if _, err := extract.Images(t.Context(), o); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fail.Diff(t, planned(p), inLayout(t, o.To))
	}
}

// TestContent extracts a blob, a manifest, the plan, and a blob in parts: to a stream, to a new file and to an existing one.
func TestContent(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk, have, p := s.Disk("disk")
	parts := s.Exported(s.Config("parts.yaml", mirrortest.StoreOnly), "parts", func(o *mirroring.Options) { o.VolumeSize = 70_000 })
	inParts, _ := s.OpenArchive(parts)
	blob := mirrortest.Largest(have, "gantry-000001.0002.tar")
	wanted := map[digest.Digest]string{blob.Digest: disk, p.Images[0].Digest: disk, have.PlanDigest(): disk}
	for e := range inParts.Entries() {
		if e.Parts > 1 && e.IsContent {
			wanted[e.Digest] = parts
		}
	}
	if len(wanted) < 4 {
		t.Fatal("no blob is in parts")
	}
	write := func(disk string, d digest.Digest, to string) (string, error) {
		var out bytes.Buffer
		err := extract.Content(t.Context(), extract.ContentOptions{Options: open.Options{Env: s.Env, Folders: []string{disk}}, Digest: d, To: to, Output: &out})
		return out.String(), err
	}
	file := s.Write("taken", "older")
	for d, disk := range wanted {
		if text, err := write(disk, d, ""); err != nil || digest.FromString(text) != d {
			t.Errorf("%s: %d bytes, %v", d, len(text), err)
		}
		if text, err := write(disk, d, file); err != nil || text != "" || digest.FromString(s.Read("taken")) != d {
			t.Errorf("%s: %d bytes, %v", d, len(s.Read("taken")), err)
		}
	}
	s.Spoil("disk", blob)
	for name, tc := range map[string]struct {
		d     digest.Digest
		to    string
		kind  advice.Kind
		words []string
	}{
		"a folder":  {have.PlanDigest(), s.Dir, advice.Input, []string{"Options.To " + s.Dir + " is a folder"}},
		"no folder": {have.PlanDigest(), s.Path("absent/file"), advice.Input, []string{"no such file"}},
		"damage":    {blob.Digest, s.Path("damaged"), advice.Mismatch, []string{"gantry-000001.0002.tar", blob.Digest.Encoded()}},
		"short":     {"sha256:12", "", advice.Input, []string{"give the complete digest"}},
		"unknown":   {digest.FromString("x"), "", advice.Input, []string{"has no sha256:"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := write(disk, tc.d, tc.to)
			mirrortest.Refused(t, err, tc.kind, tc.words...)
		})
	}
	if _, err := os.Stat(s.Path("damaged")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a damaged file was written: %v", err)
	}
}

// TestFiles extracts files: all but the hidden ones, single ones, and none that is only in an earlier archive.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	stanza := "  files:\n"
	for _, name := range []string{"tool", ".bashrc"} {
		stanza += "  - path: " + s.Write(name, "content of "+name) + "\n    target: bin/" + name + "\n"
	}
	named := func(o *mirroring.Options) { o.Name = "ops" }
	one := s.Exported(s.Config("files.yaml", stanza), "one", named)
	two := s.Exported(s.Config("files.yaml", stanza+"  - path: "+s.Write("new", "the new one")+"\n"), "two", named)
	files := func(to string, force bool, disk string, names ...string) (*extract.ExtractedFiles, error) {
		return extract.Files(t.Context(), extract.FilesOptions{
			Options: open.Options{Env: s.Env, Folders: []string{disk}}, Names: names, To: to, Force: force,
		})
	}
	to := s.Path("to")
	got, err := files(to, false, one)
	if err != nil || len(got.Files) != 1 || got.Files[0].Present || !slices.Equal(got.Hidden, []string{"bin/.bashrc"}) || s.Read("to/bin/tool") != "content of tool" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = files(to, false, one, "bin/.bashrc"); err != nil || s.Read("to/bin/.bashrc") != "content of .bashrc" {
		t.Errorf("%+v, %v", got, err)
	}
	s.Write("to/bin/tool", "changed")
	_, err = files(to, false, one, "bin/tool")
	mirrortest.Refused(t, err, advice.Input, "bin/tool")
	if _, err := files(to, true, one, "bin/tool"); err != nil || s.Read("to/bin/tool") != "content of tool" {
		t.Errorf("with force: %s, %v", s.Read("to/bin/tool"), err)
	}
	s.Said()
	got, err = files(s.Path("later"), false, two)
	if err != nil || !slices.Equal(got.Earlier, []string{"bin/tool"}) || s.Read("later/new") != "the new one" {
		t.Errorf("%+v, %v", got, err)
	}
	if said := s.Said(); !slices.ContainsFunc(said, func(text string) bool {
		return text == "bin/tool is in an earlier archive: name its folder, too, or run gantry get with the mirror"
	}) {
		t.Errorf("%q", said)
	}
	_, err = files(s.Path("later"), false, two, "bin/tool")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file of an earlier archive by name: %v", err)
	}
	_, err = files("", false, one)
	mirrortest.Refused(t, err, advice.Input, "name a folder with Options.To")
	_, err = files(to, false, one, "bin/tol")
	mirrortest.Refused(t, err, advice.Input, "bin/tol", "bin/tool")
	if left, err := os.ReadDir(s.Path("to/bin")); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}
