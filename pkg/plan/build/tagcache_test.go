package build

import (
	"bytes"
	"context"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
)

// A tagSource has a manifest for each source, and remembers what was read.
type tagSource struct {
	image.Reader
	size  int
	reads []string
}

func (s *tagSource) Manifest(_ context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	if d != "" {
		s.reads = append(s.reads, source+" by digest")
	} else {
		s.reads = append(s.reads, source)
	}
	raw := bytes.Repeat([]byte(source), s.size)
	return ocispec.Descriptor{Digest: digest.FromBytes(raw)}, raw, nil
}

// TestTagCache resolves each tag once, and reads manifests again, by their digests, only if there are too many to keep.
func TestTagCache(t *testing.T) {
	t.Parallel()
	for size, want := range map[int][]string{
		1:                {"a", "b"},
		mostTagged/2 + 1: {"a", "b", "b by digest", "b by digest"},
		mostTagged + 1:   {"a", "b", "a by digest", "a by digest", "b by digest", "b by digest"},
	} {
		s := &tagSource{size: size}
		c := &tagCache{Reader: s}
		read := func(source string, d digest.Digest) digest.Digest {
			t.Helper()
			desc, raw, err := c.Manifest(t.Context(), source, d)
			fail.On(t, err)
			fail.Diff(t, digest.FromBytes(raw), desc.Digest)
			return desc.Digest
		}
		a, b := read("a", ""), read("b", "")
		fail.Diff(t, a, read("a", ""))
		fail.Diff(t, a, read("a", a))
		fail.Diff(t, b, read("b", ""))
		fail.Diff(t, b, read("b", b))
		fail.Diff(t, want, s.reads)
	}
}
