package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/manifest"
)

// A node is a manifest taken apart.
type node struct {
	mediaType string
	size      int64
	children  []ocispec.Descriptor // of an index
	blobs     []Blob               // config and layers, duplicates removed
	// foreign counts the layers that stay at their vendor's URLs.
	foreign int
}

// parseManifest reads an image manifest or an index. desc.MediaType is the type
// that the source gave; a mediaType inside the manifest must agree with it.
func parseManifest(desc ocispec.Descriptor, raw []byte) (*node, error) {
	var m struct {
		SchemaVersion int                  `json:"schemaVersion"`
		MediaType     string               `json:"mediaType"`
		Config        *ocispec.Descriptor  `json:"config"`
		Layers        []ocispec.Descriptor `json:"layers"`
		Manifests     []ocispec.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("reading manifest %s: %w", desc.Digest, err)
	}
	if manifest.IsSchema1(desc.MediaType) || m.SchemaVersion == 1 {
		return nil, errors.New("the image has Docker's schema 1, which registries no longer take: ask its vendor for a newer one")
	}
	if m.MediaType != "" && desc.MediaType != m.MediaType && manifest.Is(desc.MediaType) {
		return nil, fmt.Errorf("reading manifest %s: the registry calls it %s, it calls itself %s", desc.Digest, desc.MediaType, m.MediaType)
	}
	if m.MediaType != "" || !manifest.Is(desc.MediaType) {
		desc.MediaType = manifest.TypeOf(raw)
	}
	n := &node{mediaType: desc.MediaType, size: desc.Size}
	switch {
	case m.Manifests != nil && (m.Config != nil || m.Layers != nil):
		return nil, fmt.Errorf("reading manifest %s: it is both an image and an index", desc.Digest)
	case manifest.IsIndex(desc.MediaType):
		n.children = m.Manifests
		for _, c := range n.children {
			if err := checkDescriptor(c); err != nil {
				return nil, fmt.Errorf("reading index %s: %w", desc.Digest, err)
			}
		}
		return n, nil
	case !manifest.IsImage(desc.MediaType):
		return nil, fmt.Errorf("reading manifest %s: unknown type %q", desc.Digest, desc.MediaType)
	case m.Config == nil:
		return nil, fmt.Errorf("reading manifest %s: it has no config", desc.Digest)
	}
	seen := map[digest.Digest]int64{}
	n.blobs = make([]Blob, 0, 1+len(m.Layers))
	for _, d := range append([]ocispec.Descriptor{*m.Config}, m.Layers...) {
		if err := checkDescriptor(d); err != nil {
			return nil, fmt.Errorf("reading manifest %s: %w", desc.Digest, err)
		}
		if isForeign(d) {
			n.foreign++
			continue
		}
		if size, ok := seen[d.Digest]; ok {
			if size != d.Size {
				return nil, fmt.Errorf("reading manifest %s: blob %s has two sizes, %d and %d", desc.Digest, d.Digest, size, d.Size)
			}
			continue
		}
		seen[d.Digest] = d.Size
		n.blobs = append(n.blobs, Blob{Digest: d.Digest, Size: d.Size})
	}
	return n, nil
}

// isForeign reports whether a layer is to be fetched from its vendor rather
// than kept in a registry (Windows base layers).
func isForeign(d ocispec.Descriptor) bool {
	return len(d.URLs) > 0 &&
		(strings.Contains(d.MediaType, ".nondistributable.") || strings.Contains(d.MediaType, ".foreign."))
}

func checkDescriptor(d ocispec.Descriptor) error {
	if err := d.Digest.Validate(); err != nil {
		return fmt.Errorf("digest %q: %w", d.Digest, err)
	}
	if d.Size < 0 {
		return fmt.Errorf("%s has the size %d", d.Digest, d.Size)
	}
	return nil
}
