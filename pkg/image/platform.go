package image

import (
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// A Command is what a container of an image runs: the arguments of Cmd after those of Entrypoint.
type Command struct {
	Entrypoint, Cmd []string
}

// A Platform is the image of one platform: its manifest and config as they are, and the fields of
// them that readers and builders need.
type Platform struct {
	Descriptor       ocispec.Descriptor
	Manifest, Config Object

	OS, Architecture, Variant string

	Layers     []ocispec.Descriptor
	DiffIDs    []digest.Digest // one for each layer, all SHA-256
	Labels     map[string]string
	Command    Command
	WorkingDir string
}

// readChild reads one image of an index. It is nil if the child is something else.
func (i *Image) readChild(ctx context.Context, desc ocispec.Descriptor) (*Platform, error) {
	if manifest.IsIndex(desc.MediaType) {
		return nil, fmt.Errorf("it is an index within an index, which is not supported")
	}
	if desc.MediaType != "" && !manifest.IsImage(desc.MediaType) {
		return nil, nil
	}
	o, err := i.readManifest(ctx, &desc)
	if err != nil {
		return nil, err
	}
	return i.readPlatform(ctx, desc, o)
}

// readPlatform reads the config of a manifest. It is nil if that does not describe a container.
func (i *Image) readPlatform(ctx context.Context, desc ocispec.Descriptor, manifest Object) (*Platform, error) {
	p := &Platform{Descriptor: desc, Manifest: manifest}
	var config ocispec.Descriptor
	if err := manifest.Field("config", &config); err != nil {
		return nil, err
	}
	if !isConfig(config.MediaType) {
		return nil, nil
	}
	if err := manifest.Field("layers", &p.Layers); err != nil {
		return nil, err
	}
	o, err := i.readConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	p.Config = o
	rootfs, err := o.Object("rootfs")
	if err != nil {
		return nil, err
	}
	inner, err := o.Object("config")
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		in  Object
		key string
		v   any
	}{
		{o, "os", &p.OS},
		{o, "architecture", &p.Architecture},
		{o, "variant", &p.Variant},
		{rootfs, "diff_ids", &p.DiffIDs},
		{inner, "Labels", &p.Labels},
		{inner, "Entrypoint", &p.Command.Entrypoint},
		{inner, "Cmd", &p.Command.Cmd},
		{inner, "WorkingDir", &p.WorkingDir},
	} {
		if err := f.in.Field(f.key, f.v); err != nil {
			return nil, fmt.Errorf("reading config %s: %w", config.Digest, err)
		}
	}
	if len(p.DiffIDs) != len(p.Layers) {
		return nil, fmt.Errorf("config %s has %d diff IDs for the %d layers of the manifest", config.Digest, len(p.DiffIDs), len(p.Layers))
	}
	for n, id := range p.DiffIDs {
		if err := id.Validate(); err != nil || id.Algorithm() != digest.SHA256 {
			return nil, fmt.Errorf("config %s: diff ID %d is not a SHA-256 digest", config.Digest, n+1)
		}
	}
	return p, nil
}

// String returns os/architecture[/variant], such as "linux/arm64/v8".
func (p *Platform) String() string {
	s := p.OS + "/" + p.Architecture
	if p.Variant != "" {
		s += "/" + p.Variant
	}
	return s
}

// TopDown returns the positions of the layers, the uppermost first. A layer that occurs twice counts
// where it is uppermost: there it hides everything that its second occurrence could show.
func (p *Platform) TopDown() []int {
	var order []int
	seen := map[digest.Digest]bool{}
	for n := range slices.Backward(p.Layers) {
		if id := p.DiffIDs[n]; !seen[id] {
			seen[id] = true
			order = append(order, n)
		}
	}
	return order
}
