package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A shape is the size of a workload: an operator catalog with all images that it names, which share
// layers like real ones.
type shape struct {
	packages int
	bundles  int // per package, in one channel
	operands int // per bundle, each in its own repository
	bases    int // bases of two layers that operands are built on

	layersLeast, layersMost int // of an operand, including its base
	// baseSize and layerSize are mean sizes in bytes. Sizes range from an eighth of the mean to
	// more than three times the mean.
	baseSize, layerSize int

	// Percentages: of operands that are indexes of two or more platforms, of operands that are
	// signed, and of operands whose image differs from that in the previous bundle.
	indexes, signed, changed int
}

// workloadPlatforms are the platforms of operand indexes, in this order.
var workloadPlatforms = []string{"amd64", "arm64", "ppc64le", "s390x"}

// push makes a workload of the shape and pushes it to a registry. The catalog names its
// images at host, which is the registry's address for clients. The result lists the tags in an
// order that depends only on the shape, the catalog last. Operands are made one by one, so that
// only a few are in memory.
func push(ctx context.Context, c *registrytest.Client, host string, s shape) ([]item, error) {
	catalog := fstest.MapFS{}
	packages := make([]workloadPackage, s.packages)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i := range packages {
		p := &packages[i]
		*p = workloadPackage{client: c, host: host, shape: s, name: fmt.Sprintf("operator%03d", i), org: fmt.Sprintf("org%d", i%7)}
		g.Go(func() error { return p.push(gctx) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var all []item
	for _, p := range packages {
		text, err := p.catalog()
		if err != nil {
			return nil, err
		}
		catalog[p.name+"/catalog.json"] = &fstest.MapFile{Data: text, Mode: 0o644}
		all = append(all, p.placed...)
	}
	img, err := registrytest.CatalogImage(catalog)
	if err != nil {
		return nil, err
	}
	d, err := c.Push(ctx, "catalog/operators", "v1", img)
	return append(all, item{"catalog/operators", d, "v1", catalogKind}), err
}

// A workloadPackage pushes one package's images, one after the other: registries before version 3
// lose content if two clients push to one repository at the same time.
type workloadPackage struct {
	client    *registrytest.Client
	host      string
	shape     shape
	name, org string
	placed    []item
	bundles   []workloadBundle
}

// A workloadBundle is a bundle and its images, for the catalog.
type workloadBundle struct {
	version, image string
	operands       []string
}

func (p *workloadPackage) push(ctx context.Context) error {
	for b := range p.shape.bundles {
		bundle := workloadBundle{version: fmt.Sprintf("1.%d.0", b)}
		for i := range p.shape.operands {
			seed := fmt.Sprintf("%s operand %d version %d", p.name, i, b)
			if b > 0 && newRand(seed).IntN(100) >= p.shape.changed {
				bundle.operands = append(bundle.operands, p.bundles[b-1].operands[i])
				continue
			}
			d, err := p.pushOperand(ctx, i, b)
			if err != nil {
				return err
			}
			bundle.operands = append(bundle.operands, fmt.Sprintf("%s/%s@%s", p.host, p.repository(i), d))
		}
		img, err := registrytest.BundleImage(p.name, bundle.version)
		if err != nil {
			return err
		}
		repository := p.org + "/" + p.name + "-bundle"
		d, err := p.put(ctx, repository, "v"+bundle.version, "bundle", img)
		if err != nil {
			return err
		}
		bundle.image = fmt.Sprintf("%s/%s@%s", p.host, repository, d)
		p.bundles = append(p.bundles, bundle)
	}
	return nil
}

func (p *workloadPackage) repository(operand int) string {
	return fmt.Sprintf("%s/%s-operand%d", p.org, p.name, operand)
}

func (p *workloadPackage) put(ctx context.Context, repository, tag, kind string, content registrytest.Content) (digest.Digest, error) {
	d, err := p.client.Push(ctx, repository, tag, content)
	p.placed = append(p.placed, item{repository, d, tag, kind})
	return d, err
}

// pushOperand pushes the image or index of an operand and its signatures.
func (p *workloadPackage) pushOperand(ctx context.Context, operand, version int) (digest.Digest, error) {
	repository, tag := p.repository(operand), fmt.Sprintf("v1.%d.0", version)
	r := newRand(repository)
	architectures, oci, signed := workloadPlatforms[:1], r.IntN(10) < 3, r.IntN(100) < p.shape.signed
	kind := "related"
	if r.IntN(100) < p.shape.indexes {
		architectures, kind = workloadPlatforms[:2+r.IntN(3)], "index"
	}
	var images []v1.Image
	var subjects []digest.Digest
	for _, architecture := range architectures {
		img, err := p.operand(operand, version, v1.Platform{OS: "linux", Architecture: architecture}, oci)
		if err != nil {
			return "", err
		}
		h, err := img.Digest()
		if err != nil {
			return "", err
		}
		images, subjects = append(images, img), append(subjects, digest.Digest(h.String()))
	}
	var content registrytest.Content = images[0]
	if kind == "index" {
		idx, err := registrytest.ImageIndex(oci, images...)
		if err != nil {
			return "", err
		}
		content = idx
	} else {
		subjects = nil
	}
	d, err := p.put(ctx, repository, tag, kind, content)
	if err != nil || !signed {
		return d, err
	}
	for _, subject := range append(subjects, d) {
		sig, err := p.client.PushSignature(ctx, repository, subject, ".sig", "")
		if err != nil {
			return "", err
		}
		p.placed = append(p.placed, item{repository, sig, "sha256-" + subject.Encoded() + ".sig", "sig"})
	}
	return d, nil
}

// operand makes an image: two layers of a base; if there are five or more layers, one that the
// package's operands share; some that do not change between versions; and the rest.
func (p *workloadPackage) operand(operand, version int, platform v1.Platform, oci bool) (v1.Image, error) {
	repository, architecture := p.repository(operand), platform.Architecture
	r := newRand(repository + " layers")
	base := fmt.Sprintf("workload base %d %s", r.IntN(p.shape.bases), architecture)
	count := p.shape.layersLeast + r.IntN(p.shape.layersMost-p.shape.layersLeast+1)
	staying := 2 + r.IntN(3)
	layer := func(seed string, mean int) registrytest.RandomLayer {
		return registrytest.RandomLayer{Seed: seed, Size: spread(newRand(seed), mean)}
	}
	layers := []registrytest.RandomLayer{layer(base+" system", p.shape.baseSize*3/2), layer(base+" runtime", p.shape.baseSize/2)}
	for i := 2; i < count; i++ {
		seed := fmt.Sprintf("%s %s layer %d", repository, architecture, i)
		switch {
		case i == 2 && count > 4:
			seed = p.name + " " + architecture + " shared"
		case i >= staying:
			seed += fmt.Sprintf(" version %d", version)
		}
		layers = append(layers, layer(seed, p.shape.layerSize))
	}
	return registrytest.LayeredImage(platform, oci, v1.Config{
		Entrypoint: []string{"/usr/bin/manager"},
		Labels:     map[string]string{"name": repository, "version": fmt.Sprintf("1.%d.0", version)},
	}, layers...)
}

func newRand(seed string) *rand.Rand { return rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed)))) }

// spread chooses a random size around a mean with the distribution of real layers: most are
// smaller, a few much larger.
func spread(r *rand.Rand, mean int) int {
	sixteenths := []int{2, 4, 4, 8, 8, 12, 16, 20, 32, 54} // their mean is 16
	size := mean * sixteenths[r.IntN(len(sixteenths))] / 16
	return max(2048, size-size/16+r.IntN(size/8+1))
}

// catalog returns the package as a file-based catalog.
func (p *workloadPackage) catalog() ([]byte, error) {
	type object = map[string]any
	var entries []object
	var bundles []object
	for i, b := range p.bundles {
		name := p.name + ".v" + b.version
		entry := object{"name": name}
		if i > 0 {
			entry["replaces"] = p.name + ".v" + p.bundles[i-1].version
		}
		entries = append(entries, entry)
		related := []object{{"name": "", "image": b.image}}
		for n, image := range b.operands {
			related = append(related, object{"name": fmt.Sprintf("operand%d", n), "image": image})
		}
		bundles = append(bundles, object{
			"schema": "olm.bundle", "name": name, "package": p.name, "image": b.image, "relatedImages": related,
			"properties": []object{{"type": "olm.package", "value": object{"packageName": p.name, "version": b.version}}},
		})
	}
	all := append([]object{
		{"schema": "olm.package", "name": p.name, "defaultChannel": "stable"},
		{"schema": "olm.channel", "package": p.name, "name": "stable", "entries": entries},
	}, bundles...)
	var text []byte
	for _, o := range all {
		raw, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		text = append(append(text, raw...), '\n')
	}
	return text, nil
}
