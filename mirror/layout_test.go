package mirror

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

func TestLayoutKeepsWhatIsAddedTo(t *testing.T) {
	m := sample(t)
	p := m.plan()
	l, err := layout.Create(t.TempDir(), layout.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
	if err := l.SetIndex(t.Context(), slices.Values(before)); err != nil {
		t.Fatal(err)
	}
	names, err := Names(p)
	if err != nil {
		t.Fatal(err)
	}
	sink := ToLayout(l)
	mustRun(t, p, m.source(), sink, Options{})
	for range 2 { // the second changes nothing
		if err := sink.Add(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		index, err := l.Index()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.AppendSeq(slices.Clone(others), names), index.Manifests); diff != "" {
			t.Error(diff)
		}
	}
}

// An image is looked for under the name that the destination knows.
func TestLookSaysWhatItAskedFor(t *testing.T) {
	m := sample(t)
	p := m.plan()
	for i := range p.Images {
		p.Images[i].Source = "dir:///nowhere"
	}
	refused := errors.New("refused")
	registry := newMemoryRegistry()
	registry.fail = func(string, string, digest.Digest) error { return refused }
	_, err := Look(t.Context(), p, registry, Options{Streams: 1})
	if !errors.Is(err, refused) || strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "looking for ") || !strings.Contains(err.Error(), " at the destination: refused") {
		t.Error(err)
	}
}
