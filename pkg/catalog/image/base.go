package image

import (
	"context"
	"fmt"
	"maps"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// OpenBase opens an image to build a catalog on, such as one with opm; Build then adds the catalog to
// it. If the image has no catalog itself, the new one goes to /configs, with the label, and opm serves
// it. If it has one, the new catalog goes to the same directory.
func OpenBase(ctx context.Context, r image.Reader, source string, desc ocispec.Descriptor) (*Image, error) {
	img, err := openAny(ctx, r, source, desc)
	if err == nil {
		for _, p := range img.image.Platforms {
			if err = prepare(p); err != nil {
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

// prepare gives a platform the label of a catalog, and opm something to serve, unless it has both.
func prepare(p *image.Platform) error {
	if p.Labels[ConfigsLabel] != "" {
		return nil
	}
	config, err := p.Config.Object("config")
	if err != nil {
		return err
	}
	labels, err := config.Object("Labels")
	if err != nil {
		return err
	}
	if labels, err = labels.With(ConfigsLabel, "/"+scratchDir); err != nil {
		return err
	}
	if config, err = config.With("Labels", labels); err != nil {
		return err
	}
	if c := command(p.Command); c.isOpm() && !c.serves() {
		p.Command = image.Command{Entrypoint: c.argv()[:1], Cmd: []string{"serve", "/" + scratchDir}}
		if config, err = config.With("Entrypoint", p.Command.Entrypoint); err == nil {
			config, err = config.With("Cmd", p.Command.Cmd)
		}
		if err != nil {
			return err
		}
	}
	if p.Config, err = p.Config.With("config", config); err != nil {
		return err
	}
	all := map[string]string{ConfigsLabel: "/" + scratchDir}
	maps.Copy(all, p.Labels)
	p.Labels = all
	return nil
}
