package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A planContent is the images of a plan with their sizes, and the manifests and blobs that they
// consist of, unique and sorted by digest.
type planContent struct {
	images    []plan.Image
	manifests []plan.Manifest
	blobs     []plan.Blob
	notes     []string
}

// content returns the manifests and blobs of images, and the images, to which it adds their sizes.
func (g *manifestGraph) content(images []plan.Image) (planContent, error) {
	g.texts = map[string]string{} // hardly any follow, and for many images they take much memory
	w := contentWriter{
		graph: g, written: make(map[digest.Digest]bool, len(g.nodes)), manifests: make([]plan.Manifest, 0, len(g.nodes)),
		blobs: map[digest.Digest]int64{}, foreign: map[digest.Digest]int{},
	}
	c := planContent{images: images}
	for i := range c.images {
		img := &c.images[i]
		sizes := map[digest.Digest]int64{}
		if err := w.add(img.Digest, sizes); err != nil {
			return planContent{}, fmt.Errorf("image %s: %w", img.Source, err)
		}
		for _, n := range sizes {
			img.Size += n
		}
		if n := w.foreign[img.Digest]; n > 0 {
			c.notes = append(c.notes, fmt.Sprintf("%s: %s not redistributable and only at the vendor's URLs; clusters need access to these URLs", img.Source, count(n, "layer is", "layers are")))
		}
	}
	elements.Sort(w.manifests, func(a, b plan.Manifest) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	c.manifests, c.blobs = w.manifests, make([]plan.Blob, 0, len(w.blobs))
	for d, size := range w.blobs {
		c.blobs = append(c.blobs, plan.Blob{Digest: d, Size: size})
	}
	elements.Sort(c.blobs, func(a, b plan.Blob) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return c, nil
}

// A contentWriter collects the manifests and blobs below images of a graph.
type contentWriter struct {
	graph     *manifestGraph
	written   map[digest.Digest]bool
	manifests []plan.Manifest
	blobs     map[digest.Digest]int64
	// foreign is the number of layers below a manifest that stay at their vendor's URLs.
	foreign map[digest.Digest]int
}

// add writes the manifest d and everything below it, each once, and enters their sizes into sizes.
func (w *contentWriter) add(d digest.Digest, sizes map[digest.Digest]int64) error {
	n := w.graph.nodes[d]
	if n == nil || n.parsedManifest == nil {
		return fmt.Errorf("manifest %s was not read", d)
	}
	m := plan.Manifest{Digest: d, MediaType: n.mediaType, Size: n.size}
	first := !w.written[d]
	if first {
		m.Blobs = make([]digest.Digest, 0, len(n.blobs))
	}
	foreign := n.foreign
	for _, c := range n.children {
		if !n.selected[c.Digest] {
			m.Sparse = true
			continue
		}
		if slices.Contains(m.Manifests, c.Digest) {
			continue
		}
		if err := w.add(c.Digest, sizes); err != nil {
			return err
		}
		m.Manifests = append(m.Manifests, c.Digest)
		foreign += w.foreign[c.Digest]
	}
	if foreign > 0 {
		w.foreign[d] = foreign
	}
	for _, b := range n.blobs {
		if size, ok := w.blobs[b.Digest]; ok && size != b.Size {
			return fmt.Errorf("blob %s has %d bytes in one image and %d in another", b.Digest, size, b.Size)
		}
		w.blobs[b.Digest] = b.Size
		sizes[b.Digest] = b.Size
		if first {
			m.Blobs = append(m.Blobs, b.Digest)
		}
	}
	if first {
		w.written[d] = true
		w.manifests = append(w.manifests, m)
	}
	sizes[d] = m.Size
	return nil
}
