package image

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/manifest"
)

// A platform is the image of one platform: its manifest and config as they
// stand, and what this package needs to know of them.
type platform struct {
	desc             ocispec.Descriptor
	manifest, config object

	os, architecture, variant string
	layers                    []ocispec.Descriptor
	diffIDs                   []digest.Digest // of layers, one by one
	labels                    map[string]string
	command                   command
	workingDir                string
}

// readChild reads one image of an index; nil where the child is something else.
func readChild(ctx context.Context, content Content, desc ocispec.Descriptor) (*platform, error) {
	if manifest.IsIndex(desc.MediaType) {
		return nil, fmt.Errorf("it is an index inside an index, which is not supported")
	}
	if desc.MediaType != "" && !manifest.IsImage(desc.MediaType) {
		return nil, nil
	}
	o, err := readManifest(ctx, content, &desc)
	if err != nil {
		return nil, err
	}
	return readPlatform(ctx, content, desc, o)
}

// readPlatform reads the config of a manifest; nil where it has none that
// describes a container.
func readPlatform(ctx context.Context, content Content, desc ocispec.Descriptor, manifest object) (*platform, error) {
	p := &platform{desc: desc, manifest: manifest}
	var config ocispec.Descriptor
	if err := manifest.field("config", &config); err != nil {
		return nil, err
	}
	if !isConfig(config.MediaType) {
		return nil, nil
	}
	if err := manifest.field("layers", &p.layers); err != nil {
		return nil, err
	}
	o, err := readConfig(ctx, content, config)
	if err != nil {
		return nil, err
	}
	p.config = o
	rootfs, err := o.object("rootfs")
	if err != nil {
		return nil, err
	}
	inner, err := o.object("config")
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		in  object
		key string
		v   any
	}{
		{o, "os", &p.os},
		{o, "architecture", &p.architecture},
		{o, "variant", &p.variant},
		{rootfs, "diff_ids", &p.diffIDs},
		{inner, "Labels", &p.labels},
		{inner, "Entrypoint", &p.command.entrypoint},
		{inner, "Cmd", &p.command.cmd},
		{inner, "WorkingDir", &p.workingDir},
	} {
		if err := f.in.field(f.key, f.v); err != nil {
			return nil, fmt.Errorf("reading config %s: %w", config.Digest, err)
		}
	}
	if len(p.diffIDs) != len(p.layers) {
		return nil, fmt.Errorf("config %s has %d diff IDs for the %d layers of the manifest", config.Digest, len(p.diffIDs), len(p.layers))
	}
	for n, id := range p.diffIDs {
		if err := id.Validate(); err != nil || id.Algorithm() != digest.SHA256 {
			return nil, fmt.Errorf("config %s: diff ID %d is no sha256 digest", config.Digest, n+1)
		}
	}
	return p, nil
}

// String is the platform as people write it, "linux/arm64/v8".
func (p *platform) String() string {
	s := p.os + "/" + p.architecture
	if p.variant != "" {
		s += "/" + p.variant
	}
	return s
}
