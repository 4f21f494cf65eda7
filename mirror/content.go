package mirror

import (
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/plan"
)

// Content lists every manifest and blob of a plan, each once: what an archive
// or a layout of it holds.
func Content(p *plan.Plan) []ocispec.Descriptor {
	all := make([]ocispec.Descriptor, 0, len(p.Manifests)+len(p.Blobs))
	for _, m := range p.Manifests {
		all = append(all, ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size})
	}
	for _, b := range p.Blobs {
		all = append(all, blobDescriptor(b))
	}
	return all
}

func blobDescriptor(b plan.Blob) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: "application/octet-stream", Digest: b.Digest, Size: b.Size}
}

// Index is the index.json of a layout that holds the plan: every image under
// its name in the mirror ("org/name:tag"), in the plan's order.
func Index(p *plan.Plan) (ocispec.Index, error) {
	contents, err := p.Contents()
	if err != nil {
		return ocispec.Index{}, err
	}
	index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}
	index.SchemaVersion = 2
	for _, img := range p.Images {
		m, ok := contents.Manifest(img.Digest)
		if !ok {
			return ocispec.Index{}, fmt.Errorf("manifest %s of %s is not in the plan", img.Digest, img.Source)
		}
		for _, tag := range img.Tags {
			index.Manifests = append(index.Manifests, ocispec.Descriptor{
				MediaType: m.MediaType, Digest: m.Digest, Size: m.Size,
				Annotations: map[string]string{ocispec.AnnotationRefName: img.Repository + ":" + tag},
			})
		}
	}
	return index, nil
}
