package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ggcrlayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive/extract"
	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

func TestArchiveList(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk, have, p := w.disk("disk")
	got := decoded[inspect.ArchiveImages](t, w.looked(exitOK, "archive", "list", disk, "-o", "json").stdout)
	var want []inspect.ArchivedImage
	for _, img := range p.Images {
		for _, tag := range img.Tags {
			want = append(want, inspect.ArchivedImage{Name: img.Repository + ":" + tag, Kind: img.Kind, Digest: img.Digest, Size: img.Size, Source: img.Source, Here: airgap.Available})
		}
	}
	if diff := cmp.Diff(want, got.Images); diff != "" {
		t.Error(diff)
	}
	text := w.looked(exitOK, "archive", "list", disk).stdout
	if n := strings.Count(text, "\n"); n != len(want)+1 {
		t.Errorf("%d lines for %d images:\n%s", n, len(want), text)
	}
	// By name, by digest and by source. * matches slashes, and ? matches exactly one character.
	img := p.Images[3]
	for pattern, some := range map[string]int{
		"*/operator-index:v4.20": 1, "*operator-index*": 2, string(img.Digest): 1, img.Source: 1, "acme/operator-index": 1,
		"nothing*": 0, "?acme/operator-index:v4.20": 0, "acme/operator-inde?:v4.20": 1, "acme.operator-index:v4.20": 0,
	} {
		got := decoded[inspect.ArchiveImages](t, w.looked(exitOK, "archive", "list", disk, "-o", "json", "--filter", pattern).stdout)
		if len(got.Images) < some || some == 0 && len(got.Images) > 0 || len(got.Images) == len(want) {
			t.Errorf("--filter %s lists %d images, want %d", pattern, len(got.Images), some)
		}
	}

	// --blobs lists volume and offset.
	content := decoded[inspect.ArchiveContent](t, w.looked(exitOK, "archive", "list", disk, "--blobs", "-o", "json").stdout).Content
	if len(content) != have.Selected().Content {
		t.Errorf("%d entries, want %d", len(content), have.Selected().Content)
	}
	for _, x := range content {
		f, err := os.Open(filepath.Join(w.path("disk"), x.Volume))
		if err != nil {
			t.Fatal(err)
		}
		got, err := digest.FromReader(io.NewSectionReader(f, x.Offset, x.Size))
		if err := errors.Join(err, f.Close()); err != nil || got != x.Digest || x.Sequence != 1 {
			t.Errorf("%+v: there is %s, %v", x, got, err)
		}
	}
	only := decoded[inspect.ArchiveContent](t, w.looked(exitOK, "archive", "list", disk, "--blobs", "-o", "json", "--filter", "*.0002.tar").stdout).Content
	if len(only) == 0 || slices.ContainsFunc(only, func(x inspect.ArchivedContent) bool { return x.Volume != "gantry-000001.0002.tar" }) {
		t.Errorf("volume 2 has %+v", only)
	}

	// An image in a missing volume.
	lost := largest(have, "gantry-000001.0002.tar")
	if err := os.Remove(w.path("disk/gantry-000001.0002.tar")); err != nil {
		t.Fatal(err)
	}
	holders, err := mirror.ImagesByContent(p, []digest.Digest{lost.Digest})
	if err != nil {
		t.Fatal(err)
	}
	broken := holders[lost.Digest][0]
	yes, no := 0, 0
	for _, x := range decoded[inspect.ArchiveImages](t, w.looked(exitOK, "archive", "list", disk, "-o", "json").stdout).Images {
		switch {
		case x.Here == airgap.Unavailable:
			no++
		case x.Here == airgap.Available && x.Source != broken.Source:
			yes++
		default:
			t.Errorf("%+v", x)
		}
	}
	if yes == 0 || no == 0 {
		t.Errorf("%d images are here and %d not", yes, no)
	}
}

// TestArchiveParts checks that the parts of a blob are listed one by one, and that the complete
// blob is extracted.
func TestArchiveParts(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", w.path("imageset.yaml"), disk, "--volume-size", "0.07MB", "--name", "parts")
	parts := map[digest.Digest][]inspect.ArchivedContent{}
	for _, x := range decoded[inspect.ArchiveContent](t, w.looked(exitOK, "archive", "list", disk, "--blobs", "-o", "json").stdout).Content {
		if x.Parts > 0 {
			parts[x.Digest] = append(parts[x.Digest], x)
		}
	}
	if len(parts) == 0 {
		t.Fatal("no blob is in parts")
	}
	w.says(w.looked(exitOK, "archive", "list", disk, "--blobs").stdout, "blob, part 1 of 2")
	for d, all := range parts {
		var sum int64
		for i, x := range all {
			if x.Part != i+1 || x.At != sum || x.Parts != len(all) {
				t.Errorf("%+v", x)
			}
			sum += x.Size
		}
		if all[0].Whole != sum {
			t.Errorf("%s has %d bytes, its parts %d", d, all[0].Whole, sum)
		}
		if got := digest.FromString(w.looked(exitOK, "archive", "extract", disk, "--digest", d.String()).stdout); got != d {
			t.Errorf("%s was extracted as %s", d, got)
		}
	}
}

// listingOf returns the digests in the index of a layout, by name.
func listingOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	l, err := layout.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	index, err := l.Index()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, m := range index.Manifests {
		names[m.Annotations[ocispec.AnnotationRefName]] = string(m.Digest)
	}
	return names
}

// byName returns the images of a plan by each of their names.
func byName(p *plan.Plan) map[string]*plan.Image {
	names := map[string]*plan.Image{}
	for i := range p.Images {
		for _, tag := range p.Images[i].Tags {
			names[p.Images[i].Repository+":"+tag] = &p.Images[i]
		}
	}
	return names
}

// wholeLayout reads every image of a layout with another library.
func wholeLayout(t *testing.T, dir string) {
	t.Helper()
	index, err := ggcrlayout.ImageIndexFromPath(dir)
	if err == nil {
		err = validate.Index(index)
	}
	if err != nil {
		t.Errorf("%s: %v", dir, err)
	}
}

func TestArchiveExtract(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk, have, p := w.disk("disk")
	all := map[string]string{}
	for name, img := range byName(p) {
		all[name] = string(img.Digest)
	}
	to := w.path("layout")
	// One by one, then all: images that are already present stay.
	w.says(w.looked(exitOK, "archive", "extract", disk, "--to", to, "--image", "acme/operator-index:v4.20").stdout, "Extracted 1 image to oci://"+to)
	if diff := cmp.Diff(map[string]string{"acme/operator-index:v4.20": all["acme/operator-index:v4.20"]}, listingOf(t, to)); diff != "" {
		t.Error(diff)
	}
	wholeLayout(t, to)
	img := p.Images[len(p.Images)-1]
	w.looked(exitOK, "archive", "extract", disk, "-o", to, "--image", string(img.Digest))
	if got := listingOf(t, to); len(got) < 2 || got["acme/operator-index:v4.20"] == "" || got[img.Repository+":"+img.Tags[0]] != string(img.Digest) {
		t.Errorf("%v", got)
	}
	got := decoded[extract.Extracted](t, w.looked(exitOK, "archive", "extract", disk, "--to", to, "--output", "json").stdout)
	if got.To != to || len(got.Images) != len(all) || len(got.Report.Failed) > 0 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(all, listingOf(t, to)); diff != "" {
		t.Error(diff)
	}
	wholeLayout(t, to)
	w.says(w.looked(exitOK, "archive", "extract", disk, "--to", to).stdout, "Nothing to extract")

	// A folder with other files is not changed.
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.refuseLook(exitUsage, []string{"--to"}, "archive", "extract", disk, "--to", other)
	if entries, err := os.ReadDir(other); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}

	// One blob, one manifest and the plan: to stdout, to a new file and to an existing file.
	blob := largest(have, "gantry-000001.0002.tar")
	for _, d := range []digest.Digest{blob.Digest, img.Digest, have.PlanDigest()} {
		file := w.write("taken", "older")
		for _, args := range [][]string{nil, {"--to", "-"}, {"--to", file}} {
			text := w.looked(exitOK, append([]string{"archive", "extract", disk, "--digest", d.String()}, args...)...).stdout
			if len(args) == 2 && args[1] == file {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				text += string(raw)
			}
			if digest.FromString(text) != d {
				t.Errorf("%v: %d bytes are not %s", args, len(text), d)
			}
		}
	}
	w.refuseLook(exitUsage, []string{"--to " + other + " is a folder"}, "archive", "extract", disk, "--digest", blob.Digest.String(), "--to", other)
	w.refuseLook(exitUsage, []string{"no such file"}, "archive", "extract", disk, "--digest", blob.Digest.String(), "--to", filepath.Join(other, "absent", "file"))

	// A damaged image is not written. All others are.
	w.spoil("disk", blob)
	file := w.path("damaged")
	o := w.looked(exitMismatch, "archive", "extract", disk, "--digest", blob.Digest.String(), "--to", file)
	w.says(o.stderr, "gantry-000001.0002.tar", blob.Digest.Encoded())
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a damaged file was written: %v", err)
	}
	to = w.path("layout2")
	o = w.looked(exitMismatch, "archive", "extract", disk, "--to", to)
	w.says(o.stderr, "not extracted", "gantry-000001.0002.tar", "repair-request")
	holders, err := mirror.ImagesByContent(p, []digest.Digest{blob.Digest})
	if err != nil {
		t.Fatal(err)
	}
	for name, img := range byName(p) {
		if slices.ContainsFunc(holders[blob.Digest], func(h *plan.Image) bool { return h.Repository == img.Repository && h.Digest == img.Digest }) {
			w.says(o.stderr, img.Source)
			delete(all, name)
		}
	}
	if diff := cmp.Diff(all, listingOf(t, to)); diff != "" || len(all) == len(byName(p)) {
		t.Error(diff)
	}
	wholeLayout(t, to)
	if _, err := os.Stat(filepath.Join(to, layout.BlobPath(blob.Digest))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the damaged blob was written: %v", err)
	}
}

// TestArchiveExtractTags checks that an image with several tags is extracted with the selected
// tags.
func TestArchiveExtractTags(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	_, _, p := w.disk("disk")
	i := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Kind == plan.AdditionalImage })
	p.Images[i].Tags = []string{"a1", "a2", "b"}
	name := p.Images[i].Repository
	for pattern, want := range map[string][]string{name: {"a1", "a2", "b"}, name + ":a?": {"a1", "a2"}, name + ":b": {"b"}, string(p.Images[i].Digest): {"a1", "a2", "b"}} {
		picked, err := airgap.PickImages(p, []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		if len(picked.Images) != 1 || !slices.Equal(picked.Images[0].Tags, want) || picked.Totals.Images != 1 {
			t.Errorf("%s picks %+v, want %v", pattern, picked.Images, want)
		}
	}
	if !slices.Equal(p.Images[i].Tags, []string{"a1", "a2", "b"}) {
		t.Error("the plan was changed")
	}
}

func TestArchiveDiff(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	disk, _, p := w.disk("disk")
	w.says(w.looked(exitOK, "archive", "diff", disk, disk).stdout, "No difference")
	second := fileScheme + w.path("second")
	w.must("mirror", "-c", w.config("store.yaml", storeOnly), second, "--name", "imageset")
	o := w.looked(exitSomething, "archive", "diff", disk, second)
	w.says(o.stdout, "Removed: ", "  acme/", "New content: ", "... and ")
	if o.stderr != "" {
		t.Errorf("a difference is no error: %s", o.stderr)
	}
	got := decoded[inspect.ArchiveDifference](t, w.looked(exitSomething, "archive", "diff", disk, second, "-o", "json").stdout)
	back := decoded[inspect.ArchiveDifference](t, w.looked(exitSomething, "archive", "diff", second, disk, "-o", "json").stdout)
	if len(got.Removed) == 0 || len(got.Removed) != len(back.Added) || len(got.Added) != len(back.Removed) || len(got.Changed) != len(back.Changed) ||
		got.RemovedBytes != back.NewBytes || got.NewBytes != back.RemovedBytes || got.RemovedBytes == 0 || got.RemovedContent != back.NewContent {
		t.Errorf("%+v\n%+v", got, back)
	}
	if got.Old.Sequence != 1 || got.Old.Archive != disk || got.New.Archive != second {
		t.Errorf("%+v, %+v", got.Old, got.New)
	}

	// Several archives in one folder: the last two, or the selected ones.
	months := fileScheme + w.path("months")
	far := []string{"--name", "months", "--workspace", w.path("elsewhere")}
	w.must(append([]string{"mirror", "-c", w.path("store.yaml"), months}, far...)...)
	w.must(append([]string{"mirror", "-c", w.path("imageset.yaml"), months}, far...)...)
	w.must(append([]string{"mirror", "-c", w.path("store.yaml"), months}, far...)...)
	for _, tc := range []struct {
		args     []string
		old, new int
		code     int
	}{
		{nil, 2, 3, exitSomething}, {[]string{"--sequence", "1,2"}, 1, 2, exitSomething},
		{[]string{"--sequence", "1,0"}, 1, 3, exitOK}, {[]string{months, "--sequence", "2,1"}, 2, 1, exitSomething},
	} {
		o := w.looked(tc.code, append([]string{"archive", "diff", months, "-o", "json"}, tc.args...)...)
		if got := decoded[inspect.ArchiveDifference](t, o.stdout); got.Old.Sequence != tc.old || got.New.Sequence != tc.new || got.Empty() != (tc.code == exitOK) {
			t.Errorf("%v: %+v", tc.args, got)
		}
	}
	w.says(w.looked(exitOK, "archive", "inspect", months).stdout, "builds on sequence 2\n", "\nSequence 1\n")

	// An image with another digest.
	changed := *p
	changed.Images = slices.Clone(p.Images)
	other := p.Images[1].Digest
	changed.Images[0].Digest = other
	d := inspect.ArchiveDifference{Difference: *plan.Compare(p.Outline(), changed.Outline())}
	w.says(view.ArchiveDifference(&d), "Changed: 1 image\n", view.Short(other)+", was "+view.Short(p.Images[0].Digest))
}
