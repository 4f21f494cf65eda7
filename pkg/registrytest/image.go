package registrytest

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// platforms are the platforms of every index that this package makes.
var platforms = []v1.Platform{
	{OS: "linux", Architecture: "amd64"},
	{OS: "linux", Architecture: "arm64"},
}

// The sizes of random layers in bytes.
const (
	baseSize     = 1 << 20
	ownSizeLeast = 8 << 10
	ownSizeMost  = 192 << 10
)

// baseCount is the number of base layers for each platform that images share.
const baseCount = 3

// Image returns an image for linux/amd64 with a shared base layer and one to three random ones.
// Everything depends only on the name: the base, the number of layers, OCI or Docker media types,
// and every byte.
func Image(name string) (v1.Image, error) { return operand(name, platforms[0], 1) }

// SizedImage returns an OCI image for linux/amd64 with random layers of these sizes in bytes, plus
// a little for the tar format. Every byte depends only on the name and the sizes.
func SizedImage(name string, sizes ...int) (v1.Image, error) {
	var layers []RandomLayer
	for i, size := range sizes {
		layers = append(layers, RandomLayer{fmt.Sprintf("%s %d", name, i), size})
	}
	return LayeredImage(platforms[0], true, v1.Config{}, layers...)
}

// A RandomLayer is a layer with one file of a size in bytes. Every byte depends only on the seed.
type RandomLayer struct {
	Seed string
	Size int
}

// LayeredImage returns an image for a platform with random layers.
func LayeredImage(p v1.Platform, oci bool, config v1.Config, layers ...RandomLayer) (v1.Image, error) {
	made := elements.Map(layers, func(of RandomLayer) *layer { return randomLayer(of.Seed, of.Size) })
	return assemble(p, oci, config, made...)
}

// Index returns an index with one image for each of linux/amd64 and linux/arm64. The images are
// like those of Image.
func Index(name string) (v1.ImageIndex, error) { return operandIndex(name, 1) }

func operandIndex(name string, divisor int) (v1.ImageIndex, error) {
	return newIndex(isOCI(name), func(p v1.Platform) (v1.Image, error) { return operand(name, p, divisor) })
}

// AttestedIndex returns an index like Index, with an attestation as BuildKit adds it: a child for
// the platform unknown/unknown.
func AttestedIndex(name string) (v1.ImageIndex, error) { return attestedIndex(name, 1) }

func attestedIndex(name string, divisor int) (v1.ImageIndex, error) {
	idx, err := newIndex(true, func(p v1.Platform) (v1.Image, error) { return operand(name, p, divisor) })
	if err != nil {
		return nil, err
	}
	subject, err := idx.IndexManifest()
	if err != nil {
		return nil, err
	}
	l := newLayer(map[string]File{"provenance.json": {Data: []byte(`{"_type":"https://in-toto.io/Statement/v0.1"}`)}})
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

// operand makes the image of a name for a platform. The sizes of its layers are divided by divisor.
func operand(name string, p v1.Platform, divisor int) (v1.Image, error) {
	r := newRand(name + " " + p.String())
	layers := []*layer{baseLayer(newRand(name+" base").IntN(baseCount), p, divisor)}
	for i := range 1 + r.IntN(3) {
		layers = append(layers, randomLayer(fmt.Sprintf("%s %s %d", name, p, i), (ownSizeLeast+r.IntN(ownSizeMost-ownSizeLeast))/divisor))
	}
	return assemble(p, isOCI(name), v1.Config{
		Entrypoint: []string{"/usr/bin/manager"},
		Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Labels:     map[string]string{"org.opencontainers.image.title": name},
	}, layers...)
}

// bases are the base layers that were made. Making one again for each image that shares it would
// take most of the time of making the sample.
var bases struct {
	mu   sync.Mutex
	made map[baseKey]*layer
}

type baseKey struct {
	number, size int
	platform     string
}

// baseLayer returns one of the base layers of a platform, with its size divided by divisor.
func baseLayer(number int, p v1.Platform, divisor int) *layer {
	bases.mu.Lock()
	defer bases.mu.Unlock()
	key := baseKey{number, baseSize / divisor, p.String()}
	if bases.made == nil {
		bases.made = map[baseKey]*layer{}
	}
	if bases.made[key] == nil {
		bases.made[key] = randomLayer(fmt.Sprintf("base %d %s", number, p), key.size)
	}
	return bases.made[key]
}

// assemble makes an image from layers.
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

// newIndex makes an index with one image for each platform.
func newIndex(oci bool, image func(v1.Platform) (v1.Image, error)) (v1.ImageIndex, error) {
	var images []v1.Image
	for _, p := range platforms {
		img, err := image(p)
		if err != nil {
			return nil, err
		}
		images = append(images, img)
	}
	return ImageIndex(oci, images...)
}

// ImageIndex returns an index, or a Docker manifest list, of images for the platforms in their configs.
func ImageIndex(oci bool, images ...v1.Image) (v1.ImageIndex, error) {
	var idx v1.ImageIndex = empty.Index
	if !oci {
		idx = mutate.IndexMediaType(idx, types.DockerManifestList)
	}
	for _, img := range images {
		config, err := img.ConfigFile()
		if err != nil {
			return nil, err
		}
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: child{img}, Descriptor: v1.Descriptor{Platform: config.Platform()}})
	}
	return idx, nil
}

// A child is an image that an index describes without an artifactType: mutate would add one, and
// published images do not have it.
type child struct{ v1.Image }

// Descriptor returns the descriptor of the image without an artifact type.
func (c child) Descriptor() (*v1.Descriptor, error) {
	d, err := partial.Descriptor(c.Image)
	if err == nil {
		d.ArtifactType = ""
	}
	return d, err
}
