package mirror

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

func TestLayoutAddKeepsOtherImages(t *testing.T) {
	m := sample(t)
	p := m.plan()
	l, err := layout.Create(t.TempDir(), layout.Options{})
	fail.On(t, err)
	called := func(name, text string) ocispec.Descriptor {
		d := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString(text), Size: 1}
		if name != "" {
			d.Annotations = map[string]string{ocispec.AnnotationRefName: name}
		}
		return d
	}
	img := p.Images[0]
	replaced := img.Repository + ":" + img.Tags[0]
	others := []ocispec.Descriptor{called("", "nameless"), called("of/another:v1", "another")}
	before := slices.Concat(others[:1], []ocispec.Descriptor{called(replaced, "older")}, others[1:])
	fail.On(t, l.SetIndex(t.Context(), slices.Values(before)))
	names, err := IndexManifests(p)
	fail.On(t, err)
	sink := NewLayoutDestination(l)
	mustRun(t, p, m.source(), sink, Options{})
	for range 2 { // the second changes nothing
		fail.On(t, sink.Add(t.Context(), p))
		index, err := l.Index()
		fail.On(t, err)
		fail.Diff(t, slices.AppendSeq(slices.Clone(others), names), index.Manifests)
	}
}

// TestLayoutCheckBlobs checks that CheckBlobs finds and fixes damage that does not change the size,
// and that missing content is always found.
func TestLayoutCheckBlobs(t *testing.T) {
	m := sample(t)
	p := m.plan()
	dir := t.TempDir()
	l, err := layout.Create(dir, layout.Options{})
	fail.On(t, err)
	sink := NewLayoutDestination(l)
	mustRun(t, p, m.source(), sink, Options{})
	fail.On(t, sink.Finish(t.Context(), p))
	file := func(d digest.Digest) string { return filepath.Join(dir, filepath.FromSlash(layout.BlobPath(d))) }
	blob, manifest, lost := p.Blobs[0], p.Manifests[0], p.Blobs[1]
	for _, d := range []digest.Digest{blob.Digest, manifest.Digest} {
		text, err := os.ReadFile(file(d))
		fail.On(t, err)
		text[len(text)/2] ^= 1
		fail.On(t, os.WriteFile(file(d), text, 0o600))
	}
	again := func(opts Options) *Report {
		t.Helper()
		return mustRun(t, p, m.source(), NewLayoutDestination(l), opts)
	}
	if r := again(Options{}); !r.UpToDate() {
		t.Errorf("unasked, content was read: %+v", r)
	}
	fail.On(t, os.Remove(file(lost.Digest)))
	if r := again(Options{}); r.BlobsCopied != 1 || r.Manifests != 0 {
		t.Errorf("one blob was lost: %+v", r)
	}
	missing, err := Compare(t.Context(), p, NewLayoutDestination(l), Options{CheckBlobs: true})
	if err != nil || missing.Images == 0 || missing.Bytes != blob.Size+manifest.Size {
		t.Errorf("Look = %+v, %v, want %d bytes", missing, err, blob.Size+manifest.Size)
	}
	if r := again(Options{CheckBlobs: true}); r.BlobsCopied != 1 || r.Manifests != 1 {
		t.Errorf("one blob and one manifest were damaged: %+v", r)
	}
	if r := again(Options{CheckBlobs: true}); !r.UpToDate() {
		t.Errorf("after that: %+v", r)
	}
	for desc := range Content(p) {
		fail.On(t, l.Check(t.Context(), desc, nil))
	}
}

// TestCompareErrorNamesTheImage checks that an error has the name of the image at the destination.
func TestCompareErrorNamesTheImage(t *testing.T) {
	m := sample(t)
	p := m.plan()
	for i := range p.Images {
		p.Images[i].Source = "dir:///nowhere"
	}
	refused := errors.New("refused")
	registry := newMemoryRegistry()
	registry.fail = func(string, string, digest.Digest) error { return refused }
	_, err := Compare(t.Context(), p, registry, Options{Streams: 1})
	if !errors.Is(err, refused) || strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "looking for ") || !strings.Contains(err.Error(), " at the destination: refused") {
		t.Error(err)
	}
}
