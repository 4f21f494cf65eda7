package releasetest

import (
	"context"
	"errors"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// pushes is the number of images that are pushed in parallel.
const pushes = 4

// Push pushes all images and sigstore signatures to the registry at host. The content of
// quay.io/path goes to quay.io/path below host, unless host is the registry of the references.
func (w *Platform) Push(ctx context.Context, c *registrytest.Client, host string) error {
	// Registries before version 3 lose content that is pushed to one repository twice at the same
	// time. Release images share a layer, and manifest lists share children with others, so these
	// are pushed last, one by one. All other content is distinct.
	var below string
	if own := w.definition.host(); own != host {
		below = own + "/"
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(pushes)
	var later []storedContent
	for _, p := range w.stored {
		isMissing, err := w.isMissing(p)
		if err != nil {
			return err
		}
		_, isList := p.content.(v1.ImageIndex)
		switch {
		case isMissing:
		case isList || w.Payload(p.tag) != nil:
			later = append(later, p)
		default:
			g.Go(func() error {
				_, err := c.Push(gctx, below+p.repository, p.tag, p.content)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, p := range later {
		if _, err := c.Push(ctx, below+p.repository, p.tag, p.content); err != nil {
			return err
		}
	}
	return nil
}

// isMissing reports whether content is missing or is a manifest list with a missing child.
func (w *Platform) isMissing(p storedContent) (bool, error) {
	if w.missing[p.digest] {
		return true, nil
	}
	digests, err := imagesOf(p.content)
	return slices.ContainsFunc(digests, func(d digest.Digest) bool { return w.missing[d] }), err
}

// RegistriesConf returns a registries.conf that replaces the registry of the references by the one
// that Push filled. Clients use HTTP for the hosts in plainHTTP, which may include that registry.
func (w *Platform) RegistriesConf(registry string, plainHTTP ...string) string {
	var hosts []string
	if own := w.definition.host(); own != registry {
		hosts = append(hosts, own)
	}
	return registrytest.RegistriesConf(registry, hosts, plainHTTP...)
}

// imagesOf returns the digests of the images in content: its own, or those of its children.
func imagesOf(content registrytest.Content) ([]digest.Digest, error) {
	if list, isList := content.(v1.ImageIndex); isList {
		m, err := list.IndexManifest()
		if err != nil {
			return nil, err
		}
		all := elements.Map(m.Manifests, func(desc v1.Descriptor) digest.Digest { return digest.Digest(desc.Digest.String()) })
		return all, nil
	}
	if content == nil {
		return nil, errors.New("the Definition has no such component")
	}
	h, err := content.Digest()
	return []digest.Digest{digest.Digest(h.String())}, err
}
