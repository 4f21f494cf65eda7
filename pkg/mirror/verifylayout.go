package mirror

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A DamagedFile is a manifest or blob of a layout that is damaged or missing.
type DamagedFile struct {
	File    string `json:"file"` // in the layout
	Problem string `json:"problem"`
	// Images are the images with this content, by name.
	Images []string `json:"breaks,omitempty"`
}

// A LayoutReport is the result of VerifyLayout.
type LayoutReport struct {
	// Images is how many should be there, Bytes how many bytes were to be read.
	Images int           `json:"images"`
	Bytes  int64         `json:"bytes"`
	Damage []DamagedFile `json:"damage"`
	// Missing are images of the plan that index.json does not list.
	Missing []MissingImage `json:"lacking"`
	// Broken are the images with content in Damage, by name.
	Broken []string `json:"broken"`
	// AbsentChildren are children of indexes that are absent although others are present. Only a
	// plan shows whether they should be there.
	AbsentChildren []digest.Digest `json:"leftOut,omitempty"`
}

// Intact reports whether nothing is damaged or missing.
func (s *LayoutReport) Intact() bool { return len(s.Damage)+len(s.Missing) == 0 }

// VerifyLayout reads all blobs of the layout. It finds damaged content, and what is missing of the
// images of a plan, or, if p is nil, of those that index.json lists. streams is how many files are
// read at the same time; 0 means 8. tell, if not nil, is called with the bytes to be read in all
// and with those read since the last call.
func VerifyLayout(ctx context.Context, l *layout.Layout, p *plan.Plan, streams int, tell func(total, read int64)) (*LayoutReport, error) {
	v := &layoutCheck{layout: l, content: map[digest.Digest]*layoutContent{}}
	v.report.Damage, v.report.Missing, v.report.Broken = []DamagedFile{}, []MissingImage{}, []string{}
	index, err := l.Index()
	if err != nil {
		return nil, err
	}
	if p != nil {
		err = v.addPlan(p, index)
	} else {
		err = v.addIndex(ctx, index)
	}
	if err != nil {
		return nil, err
	}
	files, err := l.Blobs()
	if err != nil {
		return nil, err
	}
	for _, desc := range files {
		v.addContent(desc, "")
	}
	return &v.report, v.checkAll(ctx, streams, tell)
}

// A layoutCheck is one call of VerifyLayout.
type layoutCheck struct {
	layout  *layout.Layout
	content map[digest.Digest]*layoutContent
	report  LayoutReport
}

// layoutContent is content that a layout should have, and the images with it.
type layoutContent struct {
	desc   ocispec.Descriptor
	images []string
}

// addContent adds content of an image; "" is none.
func (v *layoutCheck) addContent(desc ocispec.Descriptor, image string) {
	h := v.content[desc.Digest]
	if h == nil {
		h = &layoutContent{desc: desc}
		v.content[desc.Digest] = h
		v.report.Bytes += desc.Size
	}
	if n := len(h.images); image != "" && (n == 0 || h.images[n-1] != image) {
		h.images = append(h.images, image)
	}
}

// addPlan adds the content of a plan, and the images that the index does not list.
func (v *layoutCheck) addPlan(p *plan.Plan, index ocispec.Index) error {
	contents, err := p.Contents()
	if err != nil {
		return err
	}
	names := map[string]digest.Digest{}
	for _, m := range index.Manifests {
		names[indexName(m)] = m.Digest
	}
	v.report.Images = len(p.Images) + len(p.Missing)
	for i := range p.Images {
		img := &image{Image: &p.Images[i]}
		err := contents.Walk(img.Digest,
			func(m *plan.Manifest) error { v.addContent(manifestDescriptor(m), img.name()); return nil },
			func(b plan.Blob) error { v.addContent(blobDescriptor(b), img.name()); return nil })
		if err != nil {
			return err
		}
		for _, name := range indexNames(img.Image) {
			problem := "index.json does not list it"
			switch d, ok := names[name]; {
			case d == img.Digest:
				continue
			case ok:
				problem = "index.json lists another image under the name " + name
			}
			v.report.Missing = append(v.report.Missing, MissingImage{Source: img.Source, Digest: img.Digest, Repository: img.Repository, Tags: img.Tags, Problem: problem})
			break
		}
	}
	for _, m := range p.Missing {
		v.report.Missing = append(v.report.Missing, MissingImage{Source: m.Source, Problem: "it is missing at the source: " + m.Message})
	}
	return nil
}

// addIndex adds the content of the images that the index lists, as far as their manifests can be
// read.
func (v *layoutCheck) addIndex(ctx context.Context, index ocispec.Index) error {
	v.report.Images = len(index.Manifests)
	for _, m := range index.Manifests {
		if err := v.walk(ctx, m, cmp.Or(m.Annotations[ocispec.AnnotationRefName], m.Digest.String())); err != nil {
			return err
		}
	}
	slices.Sort(v.report.AbsentChildren)
	v.report.AbsentChildren = slices.Compact(v.report.AbsentChildren)
	return nil
}

func (v *layoutCheck) walk(ctx context.Context, desc ocispec.Descriptor, image string) error {
	v.addContent(desc, image)
	raw, err := v.layout.Read(ctx, desc, manifest.MaxSize)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var m struct {
		Config    *ocispec.Descriptor  `json:"config"`
		Layers    []ocispec.Descriptor `json:"layers"`
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err != nil || json.Unmarshal(raw, &m) != nil {
		return nil //nolint:nilerr // damage is found when everything is read, and content that is not JSON names nothing
	}
	present := func(d ocispec.Descriptor) bool { _, ok := v.layout.Size(d.Digest); return ok }
	anyPresent := slices.ContainsFunc(m.Manifests, present)
	for _, child := range m.Manifests {
		if anyPresent && !present(child) {
			v.report.AbsentChildren = append(v.report.AbsentChildren, child.Digest)
			continue
		}
		if err := v.walk(ctx, child, image); err != nil {
			return err
		}
	}
	if m.Config != nil {
		v.addContent(*m.Config, image)
	}
	for _, layer := range m.Layers {
		if len(layer.URLs) == 0 || present(layer) { // otherwise, it stays at its vendor
			v.addContent(layer, image)
		}
	}
	return nil
}

// checkAll reads all content and records the damage.
func (v *layoutCheck) checkAll(ctx context.Context, streams int, tell func(total, read int64)) error {
	if streams <= 0 {
		streams = defaultStreams
	}
	var mu sync.Mutex
	broken := map[string]bool{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(streams)
	for _, h := range v.content {
		g.Go(func() error {
			err := v.layout.Check(ctx, h.desc, func(n int64) {
				if tell != nil {
					tell(v.report.Bytes, n)
				}
			})
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err == nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			v.report.Damage = append(v.report.Damage, DamagedFile{File: layout.BlobPath(h.desc.Digest), Problem: problemText(err), Images: h.images})
			for _, name := range h.images {
				broken[name] = true
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	elements.Sort(v.report.Damage, func(a, b DamagedFile) int { return strings.Compare(a.File, b.File) })
	for name := range broken {
		v.report.Broken = append(v.report.Broken, name)
	}
	slices.Sort(v.report.Broken)
	return nil
}

// problemText returns what is wrong with a file.
func problemText(err error) string {
	var corrupt *layout.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return corrupt.Problem
	case errors.Is(err, fs.ErrNotExist):
		return "it is missing"
	}
	return err.Error()
}
