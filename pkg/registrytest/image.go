package registrytest

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Platforms are those of every index that this package makes.
var platforms = []v1.Platform{
	{OS: "linux", Architecture: "amd64"},
	{OS: "linux", Architecture: "arm64"},
}

// Sizes of random layers, in bytes.
const (
	baseSize     = 1 << 20
	ownSizeLeast = 8 << 10
	ownSizeMost  = 192 << 10
)

// baseCount is the number of base layers, per platform, that images share.
const baseCount = 3

// Image returns an image for linux/amd64 of a shared base layer and one to
// three random ones. The name decides everything: which base, how many layers,
// OCI or Docker media types, and every byte.
func Image(name string) (v1.Image, error) { return operand(name, platforms[0]) }

// SizedImage returns an OCI image for linux/amd64 with random layers of these
// sizes in bytes, and a little more for their tar. The name decides every byte.
func SizedImage(name string, sizes ...int) (v1.Image, error) {
	var layers []*layer
	for i, size := range sizes {
		l, err := randomLayer(fmt.Sprintf("%s %d", name, i), size)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return assemble(platforms[0], true, v1.Config{}, layers...)
}

// Index returns an index with one image like that of Image for each of
// linux/amd64 and linux/arm64.
func Index(name string) (v1.ImageIndex, error) {
	return newIndex(isOCI(name), func(p v1.Platform) (v1.Image, error) { return operand(name, p) })
}

// AttestedIndex is Index with the attestation that BuildKit adds: a child of
// the platform unknown/unknown.
func AttestedIndex(name string) (v1.ImageIndex, error) {
	idx, err := newIndex(true, func(p v1.Platform) (v1.Image, error) { return operand(name, p) })
	if err != nil {
		return nil, err
	}
	subject, err := idx.IndexManifest()
	if err != nil {
		return nil, err
	}
	l, err := newLayer(map[string]file{"provenance.json": {data: []byte(`{"_type":"https://in-toto.io/Statement/v0.1"}`)}})
	if err != nil {
		return nil, err
	}
	unknown := v1.Platform{OS: "unknown", Architecture: "unknown"}
	img, err := assemble(unknown, true, v1.Config{}, l)
	if err != nil {
		return nil, err
	}
	return mutate.AppendManifests(idx, mutate.IndexAddendum{Add: child{img}, Descriptor: v1.Descriptor{
		Platform: &unknown,
		Annotations: map[string]string{
			"vnd.docker.reference.type":   "attestation-manifest",
			"vnd.docker.reference.digest": subject.Manifests[0].Digest.String(),
		},
	}}), nil
}

func newRand(seed string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed))))
}

func isOCI(name string) bool { return newRand(name+" media types").IntN(2) == 0 }

func operand(name string, p v1.Platform) (v1.Image, error) {
	r := newRand(name + " " + p.String())
	base, err := randomLayer(fmt.Sprintf("base %d %s", newRand(name+" base").IntN(baseCount), p), baseSize)
	if err != nil {
		return nil, err
	}
	layers := []*layer{base}
	for i := range 1 + r.IntN(3) {
		l, err := randomLayer(fmt.Sprintf("%s %s %d", name, p, i), ownSizeLeast+r.IntN(ownSizeMost-ownSizeLeast))
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return assemble(p, isOCI(name), v1.Config{
		Entrypoint: []string{"/usr/bin/manager"},
		Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Labels:     map[string]string{"org.opencontainers.image.title": name},
	}, layers...)
}

// assemble makes an image of layers.
func assemble(p v1.Platform, oci bool, config v1.Config, layers ...*layer) (v1.Image, error) {
	img, layerType := empty.Image, types.DockerLayer
	if oci {
		img = mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON)
		layerType = types.OCILayer
	}
	for _, l := range layers {
		var err error
		img, err = mutate.Append(img, mutate.Addendum{
			Layer:   l.as(layerType),
			History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "gantry registrytest"},
		})
		if err != nil {
			return nil, err
		}
	}
	cf, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cf = cf.DeepCopy()
	cf.Created = v1.Time{Time: epoch}
	cf.OS, cf.Architecture, cf.Variant = p.OS, p.Architecture, p.Variant
	cf.Config = config
	return mutate.ConfigFile(img, cf)
}

// newIndex makes an index of one image for each platform.
func newIndex(oci bool, image func(v1.Platform) (v1.Image, error)) (v1.ImageIndex, error) {
	var idx v1.ImageIndex = empty.Index
	if !oci {
		idx = mutate.IndexMediaType(idx, types.DockerManifestList)
	}
	for _, p := range platforms {
		img, err := image(p)
		if err != nil {
			return nil, err
		}
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: child{img}, Descriptor: v1.Descriptor{Platform: &p}})
	}
	return idx, nil
}

// A child is an image as an index describes it: without the artifactType that
// mutate would fill in and that published images do not have.
type child struct{ v1.Image }

// Descriptor describes the image without an artifact type.
func (c child) Descriptor() (*v1.Descriptor, error) {
	d, err := partial.Descriptor(c.Image)
	if err == nil {
		d.ArtifactType = ""
	}
	return d, err
}
