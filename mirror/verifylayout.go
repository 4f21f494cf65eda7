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

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/manifest"
	"github.com/gantry-mirror/gantry/plan"
)

// A Flaw is a manifest or blob of a layout that is damaged or lost.
type Flaw struct {
	File    string `json:"file"` // in the layout
	Problem string `json:"problem"`
	// Breaks are the images that hold it, by name; none where no image does.
	Breaks []string `json:"breaks,omitempty"`
}

// A LayoutState is what was found out about a layout when it was read.
type LayoutState struct {
	// Images is how many should be there, Bytes how many were to be read.
	Images int    `json:"images"`
	Bytes  int64  `json:"bytes"`
	Damage []Flaw `json:"damage"`
	// Lacking are images of the plan that index.json does not list.
	Lacking []Lack `json:"lacking"`
	// Broken are the images that something in Damage breaks, by name.
	Broken []string `json:"broken"`
	// LeftOut are parts of indexes that are not there beside others that are. A
	// plan knows whether they should be, and without one nobody does.
	LeftOut []digest.Digest `json:"leftOut,omitempty"`
}

// Whole reports whether all is as it should be.
func (s *LayoutState) Whole() bool { return len(s.Damage)+len(s.Lacking) == 0 }

// VerifyLayout reads every file of the layout that has a digest for its name, and
// finds what is damaged and what lacks of the images of a plan, or of those that
// index.json lists where p is nil. So many files are read at a time as streams
// says; tell, where set, is told of the bytes that will be read and were.
func VerifyLayout(ctx context.Context, l *layout.Layout, p *plan.Plan, streams int, tell func(total, read int64)) (*LayoutState, error) {
	v := &layoutCheck{layout: l, content: map[digest.Digest]*layoutContent{}}
	v.state.Damage, v.state.Lacking, v.state.Broken = []Flaw{}, []Lack{}, []string{}
	index, err := l.Index()
	if err != nil {
		return nil, err
	}
	if p != nil {
		err = v.planned(p, index)
	} else {
		err = v.listed(ctx, index)
	}
	if err != nil {
		return nil, err
	}
	files, err := l.Blobs()
	if err != nil {
		return nil, err
	}
	for _, desc := range files {
		v.hold(desc, "")
	}
	return &v.state, v.read(ctx, streams, tell)
}

// layoutCheck is one call of VerifyLayout.
type layoutCheck struct {
	layout  *layout.Layout
	content map[digest.Digest]*layoutContent
	state   LayoutState
}

// layoutContent is content that a layout should have, and the images that hold it.
type layoutContent struct {
	desc   ocispec.Descriptor
	images []string
}

// hold notes content of an image; "" is none.
func (v *layoutCheck) hold(desc ocispec.Descriptor, image string) {
	h := v.content[desc.Digest]
	if h == nil {
		h = &layoutContent{desc: desc}
		v.content[desc.Digest] = h
		v.state.Bytes += desc.Size
	}
	if n := len(h.images); image != "" && (n == 0 || h.images[n-1] != image) {
		h.images = append(h.images, image)
	}
}

// planned notes the content of a plan, and what the index lacks of its images.
func (v *layoutCheck) planned(p *plan.Plan, index ocispec.Index) error {
	contents, err := p.Contents()
	if err != nil {
		return err
	}
	names := map[string]digest.Digest{}
	for _, m := range index.Manifests {
		names[m.Annotations[ocispec.AnnotationRefName]] = m.Digest
	}
	v.state.Images = len(p.Images) + len(p.Missing)
	for i := range p.Images {
		img := &image{Image: &p.Images[i]}
		err := contents.Walk(img.Digest,
			func(m *plan.Manifest) error { v.hold(manifestDescriptor(m), img.name()); return nil },
			func(b plan.Blob) error { v.hold(blobDescriptor(b), img.name()); return nil })
		if err != nil {
			return err
		}
		for _, tag := range img.Tags {
			problem := "index.json does not list it"
			switch d, ok := names[img.Repository+":"+tag]; {
			case d == img.Digest:
				continue
			case ok:
				problem = "index.json lists another image under the name " + img.Repository + ":" + tag
			}
			v.state.Lacking = append(v.state.Lacking, Lack{Source: img.Source, Digest: img.Digest, Repository: img.Repository, Tags: img.Tags, Problem: problem})
			break
		}
	}
	for _, m := range p.Missing {
		v.state.Lacking = append(v.state.Lacking, Lack{Source: m.Source, Problem: "the plan has it as missing at the source: " + m.Reason})
	}
	return nil
}

// listed notes the content of the images that the index lists, as far as their
// manifests can be read.
func (v *layoutCheck) listed(ctx context.Context, index ocispec.Index) error {
	v.state.Images = len(index.Manifests)
	for _, m := range index.Manifests {
		if err := v.walk(ctx, m, cmp.Or(m.Annotations[ocispec.AnnotationRefName], m.Digest.String())); err != nil {
			return err
		}
	}
	slices.Sort(v.state.LeftOut)
	v.state.LeftOut = slices.Compact(v.state.LeftOut)
	return nil
}

func (v *layoutCheck) walk(ctx context.Context, desc ocispec.Descriptor, image string) error {
	v.hold(desc, image)
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
		return nil //nolint:nilerr // what is damaged is found when all is read, and what is no JSON names nothing
	}
	there := func(d ocispec.Descriptor) bool { _, ok := v.layout.Size(d.Digest); return ok }
	some := slices.ContainsFunc(m.Manifests, there)
	for _, child := range m.Manifests {
		if some && !there(child) {
			v.state.LeftOut = append(v.state.LeftOut, child.Digest)
			continue
		}
		if err := v.walk(ctx, child, image); err != nil {
			return err
		}
	}
	if m.Config != nil {
		v.hold(*m.Config, image)
	}
	for _, layer := range m.Layers {
		if len(layer.URLs) == 0 || there(layer) { // else it stays at its vendor's
			v.hold(layer, image)
		}
	}
	return nil
}

// read reads all content and notes what is wrong with it.
func (v *layoutCheck) read(ctx context.Context, streams int, tell func(total, read int64)) error {
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
					tell(v.state.Bytes, n)
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
			v.state.Damage = append(v.state.Damage, Flaw{File: layout.BlobPath(h.desc.Digest), Problem: flawText(err), Breaks: h.images})
			for _, name := range h.images {
				broken[name] = true
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	slices.SortFunc(v.state.Damage, func(a, b Flaw) int { return strings.Compare(a.File, b.File) })
	for name := range broken {
		v.state.Broken = append(v.state.Broken, name)
	}
	slices.Sort(v.state.Broken)
	return nil
}

// flawText says what is wrong with a file.
func flawText(err error) string {
	var corrupt *layout.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return corrupt.Problem
	case errors.Is(err, fs.ErrNotExist):
		return "it is not there"
	}
	return err.Error()
}
