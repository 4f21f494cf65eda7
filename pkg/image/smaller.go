package image

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// maxIndexes limits how deeply indexes are nested. An image has two levels.
const maxIndexes = 8

// Smaller writes the index of an image to store with only those of its images for which keep is true.
// Indexes in it become smaller, too. Their images, and all other fields, stay as they are: the same
// index and images give the same bytes. It returns the indexes that were written, by the index that each
// replaces; none if all images are kept.
func Smaller(ctx context.Context, r Reader, store Store, source string, index digest.Digest, keep func(digest.Digest) bool) (map[digest.Digest]digest.Digest, error) {
	s := &smaller{Reader: r, builder: builder{store: store, seen: map[digest.Digest]bool{}}, source: source, keep: keep, written: map[digest.Digest]digest.Digest{}, done: map[digest.Digest]madeSmaller{}}
	_, remains, err := s.index(ctx, index, 0)
	if err == nil && !remains {
		err = fmt.Errorf("index %s has none of its images left", index)
	}
	return s.written, err
}

type smaller struct {
	Reader
	builder
	source  string
	keep    func(digest.Digest) bool
	written map[digest.Digest]digest.Digest
	done    map[digest.Digest]madeSmaller // indexes may list each other many times
}

// A madeSmaller is the result of an index.
type madeSmaller struct {
	desc    ocispec.Descriptor
	remains bool
}

// index writes the index d once.
func (s *smaller) index(ctx context.Context, d digest.Digest, depth int) (ocispec.Descriptor, bool, error) {
	if made, ok := s.done[d]; ok {
		return made.desc, made.remains, nil
	}
	desc, remains, err := s.writeIndex(ctx, d, depth)
	s.done[d] = madeSmaller{desc, remains}
	return desc, remains, err
}

// writeIndex writes the index d, unless all of it is kept. remains reports whether it has images to keep.
func (s *smaller) writeIndex(ctx context.Context, d digest.Digest, depth int) (desc ocispec.Descriptor, remains bool, err error) {
	if depth > maxIndexes {
		return desc, false, fmt.Errorf("%s is nested in more than %d indexes", d, maxIndexes)
	}
	desc, raw, err := s.Manifest(ctx, s.source, d)
	if err != nil {
		return desc, false, err
	}
	index, err := DecodeObject(raw)
	if err != nil {
		return desc, false, fmt.Errorf("reading index %s: %w", d, err)
	}
	var children []json.RawMessage
	if err := index.Field("manifests", &children); err != nil {
		return desc, false, fmt.Errorf("reading index %s: %w", d, err)
	}
	var kept []json.RawMessage
	changed := false
	for _, child := range children {
		line, same, err := s.child(ctx, child, depth)
		if err != nil {
			return desc, false, err
		}
		if line != nil {
			kept = append(kept, line)
		}
		changed = changed || !same
	}
	if !changed || len(kept) == 0 {
		return desc, len(kept) > 0, nil
	}
	if index, err = index.With("manifests", kept); err != nil {
		return desc, false, err
	}
	if !manifest.IsIndex(desc.MediaType) {
		desc.MediaType = manifest.TypeOf(raw)
	}
	desc, err = s.write(ctx, desc.MediaType, index)
	s.written[d] = desc.Digest
	return desc, true, err
}

// child returns the line of an index for one of its children, nil if it is left out. same reports
// whether the line is unchanged.
func (s *smaller) child(ctx context.Context, line json.RawMessage, depth int) (_ json.RawMessage, same bool, err error) {
	var c ocispec.Descriptor
	if err := json.Unmarshal(line, &c); err != nil {
		return nil, false, err
	}
	if !manifest.IsIndex(c.MediaType) {
		if !s.keep(c.Digest) {
			return nil, false, nil
		}
		return line, true, nil
	}
	made, remains, err := s.index(ctx, c.Digest, depth+1)
	switch {
	case err != nil || !remains:
		return nil, false, err
	case made.Digest == c.Digest:
		return line, true, nil
	}
	object, err := DecodeObject(line)
	if err == nil {
		object, err = pointAt(object, made)
	}
	if err != nil {
		return nil, false, err
	}
	line, err = encode(object)
	return line, false, err
}
