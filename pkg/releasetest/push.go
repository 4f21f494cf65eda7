package releasetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// pushes is how many images are pushed at a time.
const pushes = 4

// Push puts all images and sigstore signatures into the registry at host. What
// references name as quay.io/path goes to quay.io/path below it, host included,
// unless they name that registry itself.
func (w *World) Push(ctx context.Context, c *registrytest.Client, host string) error {
	// Registries before version 3 lose what is put into one repository twice at
	// the same time: release images have a layer in common, lists have children
	// that others have, too. All else is different.
	var below string
	if own := w.universe.host(); own != host {
		below = own + "/"
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(pushes)
	var then []placed
	for _, p := range w.placed {
		isAbsent, err := w.isAbsent(p)
		if err != nil {
			return err
		}
		_, isList := p.content.(v1.ImageIndex)
		switch {
		case isAbsent:
		case isList || w.Payload(p.tag) != nil:
			then = append(then, p)
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
	for _, p := range then {
		if _, err := c.Push(ctx, below+p.repository, p.tag, p.content); err != nil {
			return err
		}
	}
	return nil
}

// isAbsent reports whether content is absent, or a list with such a child.
func (w *World) isAbsent(p placed) (bool, error) {
	if w.absent[p.digest] {
		return true, nil
	}
	digests, err := imagesOf(p.content)
	return slices.ContainsFunc(digests, func(d digest.Digest) bool { return w.absent[d] }), err
}

// RegistriesConf is a registries.conf by which the registry that Push filled
// stands for the one that references name. Those of plainHTTP are spoken to
// without TLS, this one among them if it is one.
func (w *World) RegistriesConf(registry string, plainHTTP ...string) string {
	var conf strings.Builder
	for _, host := range plainHTTP {
		fmt.Fprintf(&conf, "[[registry]]\nlocation = %q\ninsecure = true\n\n", host)
	}
	if host := w.universe.host(); host != registry {
		fmt.Fprintf(&conf, "[[registry]]\nprefix = %q\nlocation = %q\ninsecure = %t\n",
			host, registry+"/"+host, slices.Contains(plainHTTP, registry))
	}
	return conf.String()
}

// WrongBytes is a fault of the registry that Push filled: of a component's image,
// the first one of a list, a layer comes with other bytes.
func (p *Payload) WrongBytes(component string) (registrytest.Rule, error) {
	if p.made[component] == nil {
		return registrytest.Rule{}, fmt.Errorf("%s has no component %s to be spoilt", p.Name, component)
	}
	all, err := images(p.made[component])
	if err != nil {
		return registrytest.Rule{}, err
	}
	layers, err := all[0].Layers()
	if err != nil {
		return registrytest.Rule{}, err
	}
	h, err := layers[len(layers)-1].Digest()
	return registrytest.Rule{Path: "/blobs/" + h.String() + "$", Action: registrytest.WrongBytes()}, err
}

// images are those that content consists of: itself, or its children.
func images(content registrytest.Content) ([]v1.Image, error) {
	list, isList := content.(v1.ImageIndex)
	if !isList {
		return []v1.Image{content.(v1.Image)}, nil
	}
	m, err := list.IndexManifest()
	if err != nil {
		return nil, err
	}
	var all []v1.Image
	for _, desc := range m.Manifests {
		img, err := list.Image(desc.Digest)
		if err != nil {
			return nil, err
		}
		all = append(all, img)
	}
	return all, nil
}

// imagesOf are the digests of the images that content consists of.
func imagesOf(content registrytest.Content) ([]digest.Digest, error) {
	all, err := images(content)
	if err != nil {
		return nil, err
	}
	var digests []digest.Digest
	for _, img := range all {
		h, err := img.Digest()
		if err != nil {
			return nil, err
		}
		digests = append(digests, digest.Digest(h.String()))
	}
	return digests, nil
}
