package image

import (
	"context"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// OpenBase opens an image that a catalog is to be built on, such as one with
// opm: Build then adds the catalog to it. Where the image has no catalog itself,
// that goes into /configs, with the label, and opm is told to serve it. An image
// that has one keeps its place.
func OpenBase(ctx context.Context, content Content, desc ocispec.Descriptor) (*Image, error) {
	img, err := openPlatforms(ctx, content, desc)
	if err == nil {
		for _, p := range img.platforms {
			if err = p.prepare(); err != nil {
				break
			}
		}
	}
	if err == nil {
		img.kind = FileBased
		err = img.findCatalog()
	}
	if err != nil {
		return nil, fmt.Errorf("opening base image %s: %w", desc.Digest, err)
	}
	return img, nil
}

// prepare gives a platform the label of a catalog, and opm something to serve,
// where it has neither.
func (p *platform) prepare() error {
	if p.labels[ConfigsLabel] != "" {
		return nil
	}
	inner, err := p.config.object("config")
	if err != nil {
		return err
	}
	labels, err := inner.object("Labels")
	if err != nil {
		return err
	}
	if labels, err = labels.with(ConfigsLabel, "/"+scratchDir); err != nil {
		return err
	}
	if inner, err = inner.with("Labels", labels); err != nil {
		return err
	}
	if p.command.isOpm() && !p.command.serves() {
		p.command = command{entrypoint: p.command.argv()[:1], cmd: []string{"serve", "/" + scratchDir}}
		if inner, err = inner.with("Entrypoint", p.command.entrypoint); err == nil {
			inner, err = inner.with("Cmd", p.command.cmd)
		}
		if err != nil {
			return err
		}
	}
	if p.config, err = p.config.with("config", inner); err != nil {
		return err
	}
	known := map[string]string{ConfigsLabel: "/" + scratchDir}
	for k, v := range p.labels {
		known[k] = v
	}
	p.labels = known
	return nil
}
