package layout

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func named(text, name string) ocispec.Descriptor {
	d := describe(text)
	d.MediaType = ocispec.MediaTypeImageManifest
	if name != "" {
		d.Annotations = map[string]string{ocispec.AnnotationRefName: name, "b": "2", "a": "1"}
	}
	return d
}

func TestIndexRoundTrip(t *testing.T) {
	l, dir := newLayout(t)
	var first []byte
	for range 3 {
		want := ocispec.Index{Manifests: []ocispec.Descriptor{named("one", "v1"), named("two", "")}}
		fail.On(t, l.SetIndex(t.Context(), slices.Values(want.Manifests)))
		got, err := l.Index()
		fail.On(t, err)
		want.SchemaVersion, want.MediaType = 2, ocispec.MediaTypeImageIndex
		fail.Diff(t, want, got)
		raw, err := os.ReadFile(filepath.Join(dir, "index.json"))
		fail.On(t, err)
		if first == nil {
			first = raw
		}
		fail.Diff(t, first, raw)
	}
	_, err := layout.FromPath(dir)
	fail.On(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.SetIndex(ctx, slices.Values([]ocispec.Descriptor(nil))); err == nil {
		t.Error("SetIndex wrote after the end of its context")
	}
}

func TestResolve(t *testing.T) {
	l, _ := newLayout(t)
	one, two, again := named("one", "stable"), named("two", "candidate"), named("two", "next")
	twin := named("three", "stable")
	for _, tc := range []struct {
		manifests []ocispec.Descriptor
		name      string
		want      ocispec.Descriptor
		err       string
	}{
		{[]ocispec.Descriptor{one}, "", one, ""},
		{[]ocispec.Descriptor{two, again}, "", two, ""},
		{[]ocispec.Descriptor{one, two, again}, "stable", one, ""},
		{[]ocispec.Descriptor{one, two, again}, "next", again, ""},
		{[]ocispec.Descriptor{one, two}, two.Digest.String(), two, ""},
		{nil, "", ocispec.Descriptor{}, "it has no images"},
		{[]ocispec.Descriptor{one, two}, "", ocispec.Descriptor{}, "2 images; name one of them: candidate, stable"},
		{[]ocispec.Descriptor{one, two}, "stabel", ocispec.Descriptor{}, `did you mean "stable"?`},
		{[]ocispec.Descriptor{one, two}, "zzz", ocispec.Descriptor{}, "it has: candidate, stable"},
		{[]ocispec.Descriptor{one, twin}, "stable", ocispec.Descriptor{}, "2 images are named"},
	} {
		fail.On(t, l.SetIndex(t.Context(), slices.Values(tc.manifests)))
		got, err := l.Resolve(tc.name)
		fail.Diff(t, tc.want, got)
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(advice.Text(err), tc.err)) {
			t.Errorf("Resolve(%q) = %v, want %q", tc.name, err, tc.err)
		}
	}
}

func FuzzIndex(f *testing.F) {
	raw, err := encodeIndex(ocispec.Index{Manifests: []ocispec.Descriptor{named("one", "v1")}})
	fail.On(f, err)
	f.Add(raw)
	f.Add([]byte(`{"schemaVersion":2,"manifests":null}`))
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"digest":"sha256:../..","size":-1}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		index, err := parseIndex(raw)
		if err != nil {
			return
		}
		for _, m := range index.Manifests {
			if err := CheckDigest(m.Digest); err != nil {
				t.Fatalf("accepted digest %q: %v", m.Digest, err)
			}
			if name := BlobPath(m.Digest); strings.Contains(name, "..") || strings.Count(name, "/") != 2 {
				t.Fatalf("accepted digest %q, whose file is %q", m.Digest, name)
			}
		}
		written, err := encodeIndex(index)
		fail.On(t, err)
		again, err := parseIndex(written)
		if err != nil {
			t.Fatalf("wrote %s, which is refused: %v", written, err)
		}
		twice, err := encodeIndex(again)
		fail.On(t, err)
		fail.Diff(t, written, twice)
	})
}
