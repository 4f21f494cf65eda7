package mirror

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// twoMonths returns a plan, a second one with another image that shares a blob with it, and the
// content of the archive of the second.
func twoMonths(t *testing.T) (first, second *maker, left *Omitted, carried *memorySource) {
	t.Helper()
	first, second = newMaker(t), newMaker(t)
	for _, m := range []*maker{first, second} {
		m.add("org/a", "v1", m.index(m.image("base", "a"), m.image("base", "arm")))
	}
	second.add("org/b", "v1", second.image("base", "b"))
	second.add("org/a", "v2", second.image("a", "new"))
	repositories, err := Inventory(first.plan(), nil)
	fail.On(t, err)
	left, err = FindOmitted(second.plan(), &state.Receipt{Repositories: repositories})
	fail.On(t, err)
	carried = second.source()
	carried.content = maps.Clone(carried.content)
	maps.DeleteFunc(carried.content, func(d digest.Digest, _ []byte) bool { return left.Has(d) })
	for d := range second.content {
		if left.Has(d) {
			carried.broken[d] = fs.ErrNotExist
		}
	}
	return first, second, left, carried
}

// TestFindOmitted checks that content of the site is omitted, and that Omitted has the repository
// of blobs that new images need.
func TestFindOmitted(t *testing.T) {
	first, second, left, carried := twoMonths(t)
	if left.Manifests != 3 || left.Blobs != 3 {
		t.Errorf("%d manifests and %d blobs are left out, want 3 of each", left.Manifests, left.Blobs)
	}
	for text, want := range map[string]string{"base": "org/a", "a": "org/a", "arm": ""} {
		d := digest.FromString(text)
		if !left.Has(d) || left.Repository(d) != want {
			t.Errorf("%s: left out %v, in %q", text, left.Has(d), left.Repository(d))
		}
	}
	for _, text := range []string{"b", "new"} {
		if left.Has(digest.FromString(text)) {
			t.Errorf("%s is left out", text)
		}
	}
	for _, img := range second.plan().Images {
		_, has := carried.content[img.Digest]
		if old := img.Digest == first.plan().Images[0].Digest; has == old {
			t.Errorf("%s %s is carried: %v", img.Repository, img.Tags, has)
		}
	}
	// An image with another tag counts as new, and its manifests are included.
	repositories, err := Inventory(first.plan(), nil)
	fail.On(t, err)
	retagged := *first.plan()
	retagged.Images = slices.Clone(retagged.Images)
	retagged.Images[0].Tags = []string{"latest", "v1"}
	l, err := FindOmitted(&retagged, &state.Receipt{Repositories: repositories})
	if err != nil || l.Manifests != 0 || l.Blobs != 3 {
		t.Errorf("with another tag %+v is left out, %v", l, err)
	}
}

// TestInventory checks that Inventory has the copied images, and each blob once.
func TestInventory(t *testing.T) {
	_, second, _, _ := twoMonths(t)
	p := second.plan()
	got, err := Inventory(p, &Report{Failed: []Failure{{Source: p.Images[slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Repository == "org/b" })].Source, Repository: "org/b"}}})
	if err != nil || len(got) != 1 || got[0].Name != "org/a" || len(got[0].Images) != 2 || len(got[0].Blobs) != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	var text bytes.Buffer
	fail.On(t, (&state.Receipt{Name: "x", Repositories: got}).Write(&text))
}

// A stubborn registry mounts nothing, but its blobs can be read.
type stubborn struct {
	*memoryRegistry
	content map[digest.Digest][]byte
}

func (r *stubborn) MountBlob(ctx context.Context, repository string, desc ocispec.Descriptor, _ string, open Open) (bool, error) {
	return false, r.PutBlob(ctx, repository, desc, open)
}

func (r *stubborn) Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if err := r.call(ctx, "get blob", repository, desc.Digest); err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(r.content[desc.Digest][offset:])), nil
}

// TestMountFrom checks that omitted content comes from the registry, by mounting or reading it.
func TestMountFrom(t *testing.T) {
	for _, mounts := range []bool{true, false} {
		first, second, left, carried := twoMonths(t)
		registry := newMemoryRegistry()
		var sink Registry = registry
		if !mounts {
			sink = &stubborn{memoryRegistry: registry, content: second.content}
		}
		mustRun(t, first.plan(), first.source(), sink, Options{})
		// Remove the image itself but keep its blobs: only MountFrom knows of them.
		registry.tags, registry.manifests, registry.calls = map[string]digest.Digest{}, map[string][]byte{}, map[string]int{}
		only := *second.plan()
		only.Images = slices.DeleteFunc(slices.Clone(only.Images), func(img plan.Image) bool { return img.Repository != "org/b" })
		opts := Options{MountFrom: func(d ocispec.Descriptor) string { return left.Repository(d.Digest) }}
		missing, err := MissingContent(t.Context(), &only, sink, func(d ocispec.Descriptor) bool { return carried.content[d.Digest] != nil }, opts)
		if err != nil || len(missing) != 0 {
			t.Errorf("missing %v, %v", missing, err)
		}
		if rep := mustRun(t, &only, carried, sink, opts); !rep.Complete() || rep.Copied != 1 {
			t.Errorf("mounts %v: %+v", mounts, rep)
		}
		if n := registry.calls["get blob"]; (n == 0) != mounts {
			t.Errorf("mounts %v: %d blobs were read back", mounts, n)
		}
		if registry.tags["org/b:v1"] == "" {
			t.Error("the image is missing")
		}
	}
}

// TestMissingContent checks that content that neither side has is reported before anything is
// copied, and fails only its images.
func TestMissingContent(t *testing.T) {
	first, second, left, carried := twoMonths(t)
	registry := newMemoryRegistry()
	mustRun(t, first.plan(), first.source(), registry, Options{})
	registry.tags, registry.manifests = map[string]digest.Digest{}, map[string][]byte{}
	maps.DeleteFunc(registry.blobs, func(name string, _ bool) bool { return strings.HasSuffix(name, digest.FromString("base").String()) })
	opts := Options{MountFrom: func(d ocispec.Descriptor) string { return left.Repository(d.Digest) }}
	has := func(d ocispec.Descriptor) bool { return carried.content[d.Digest] != nil }
	missing, err := MissingContent(t.Context(), second.plan(), registry, has, opts)
	fail.On(t, err)
	var want []string // the omitted index and its children, and the blob
	for d := range second.content {
		if left.Has(d) && (d == digest.FromString("base") || slices.ContainsFunc(second.p.Manifests, func(m plan.Manifest) bool { return m.Digest == d })) {
			want = append(want, d.String())
		}
	}
	slices.Sort(want)
	got := elements.Map(missing, func(desc ocispec.Descriptor) string { return desc.Digest.String() })
	fail.Diff(t, want, got)
	rep, err := Run(t.Context(), second.plan(), carried, registry, opts)
	if err != nil || len(rep.Failed) != 2 || rep.Copied != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}
