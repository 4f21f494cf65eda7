package mirror

import (
	"fmt"
	"iter"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Content returns every manifest and blob of a plan, each once: the content of an archive or a
// layout of it. The descriptors are made during the iteration.
func Content(p *plan.Plan) iter.Seq[ocispec.Descriptor] {
	return func(yield func(ocispec.Descriptor) bool) {
		for i := range p.Manifests {
			if !yield(manifestDescriptor(&p.Manifests[i])) {
				return
			}
		}
		for _, b := range p.Blobs {
			if !yield(blobDescriptor(b)) {
				return
			}
		}
	}
}

func manifestDescriptor(m *plan.Manifest) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size}
}

func blobDescriptor(b plan.Blob) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: "application/octet-stream", Digest: b.Digest, Size: b.Size}
}

// IndexManifests returns the manifests for the index.json of a layout with the plan's images: every
// image under its name in the mirror ("org/name:tag"), or without a name if it has no tag, in the
// plan's order. The descriptors are
// made during the iteration.
func IndexManifests(p *plan.Plan) (iter.Seq[ocispec.Descriptor], error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	for i := range p.Images {
		img := &p.Images[i]
		if _, ok := contents.Manifest(img.Digest); !ok {
			return nil, fmt.Errorf("manifest %s of %s is not in the plan", img.Digest, img.Source)
		}
	}
	return func(yield func(ocispec.Descriptor) bool) {
		for i := range p.Images {
			img := &p.Images[i]
			m, _ := contents.Manifest(img.Digest)
			if len(img.Tags) == 0 && !yield(manifestDescriptor(&m)) {
				return
			}
			for _, tag := range img.Tags {
				if !yield(ocispec.Descriptor{
					MediaType: m.MediaType, Digest: m.Digest, Size: m.Size,
					Annotations: map[string]string{ocispec.AnnotationRefName: img.Repository + ":" + tag},
				}) {
					return
				}
			}
		}
	}, nil
}
