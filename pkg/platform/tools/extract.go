package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// maxSize is the maximum size of one tool.
const maxSize = 4 << 30

// An Output is the file that a tool is written to. It is written from the beginning to the end; then
// the signature in a program for macOS is read and replaced.
type Output interface {
	io.Writer
	io.ReaderAt
	io.WriterAt
}

// Options say where the images of a release are.
type Options struct {
	// Sources returns where the image of a component may be, best first: sources for the image.Reader.
	Sources func(c *payload.Component) []string
	// ReleaseImage is the reference by digest that openshift-install installs.
	ReleaseImage string
}

// An Extracted is a tool that was extracted.
type Extracted struct {
	*Tool
	Size   int64
	Digest digest.Digest
	// Notes are sentences about what is not as expected.
	Notes []string
}

// Extract reads tools of a release. It calls create for each, and done after it was written completely
// and compared with the digest of its layer. Each image is read once, and tools come in the order of
// images.
func Extract(ctx context.Context, src image.Reader, p *payload.Payload, tools []Tool, o Options, create func(*Tool) (Output, error), done func(Extracted) error) error {
	left := make([]*Tool, 0, len(tools))
	for i := range tools {
		left = append(left, &tools[i])
	}
	for len(left) > 0 {
		first := left[0]
		var now, later []*Tool
		for _, t := range left {
			// A path is read once, so the second tool with the same path waits.
			if t.Component == first.Component && t.arch == first.arch && !slices.ContainsFunc(now, func(n *Tool) bool { return n.Path == t.Path }) {
				now = append(now, t)
			} else {
				later = append(later, t)
			}
		}
		left = later
		x := extraction{payload: p, options: o, create: create, open: map[string]*written{}}
		err := x.run(ctx, src, now)
		for _, t := range now {
			if err == nil {
				err = x.finish(t, done)
			}
		}
		if err != nil {
			return fmt.Errorf("extracting tools of release %s from image %s: %w", release.Name(p.Version, p.Arch), first.Component, err)
		}
	}
	return nil
}

// An extraction reads tools of one image.
type extraction struct {
	payload *payload.Payload
	options Options
	create  func(*Tool) (Output, error)
	open    map[string]*written // by path in the image
}

// A written is a tool that was written, but perhaps from a layer that is damaged.
type written struct {
	out   Output
	size  int64
	notes []string
}

func (x *extraction) run(ctx context.Context, src image.Reader, tools []*Tool) error {
	c := tools[0].Image(x.payload)
	img, err := openImage(ctx, src, x.options.Sources(c), c, tools[0].arch)
	if err != nil {
		return err
	}
	byPath := map[string]*Tool{}
	for _, t := range tools {
		byPath[t.Path] = t
	}
	return readFiles(ctx, img, byPath, func(t *Tool, r io.Reader) error {
		out, err := x.create(t)
		if err != nil {
			return err
		}
		w := &written{out: out}
		x.open[t.Path] = w
		if err := x.write(t, w, r); err != nil {
			return fmt.Errorf("/%s: %w", t.Path, err)
		}
		return nil
	})
}

// write copies a program and replaces its placeholders.
func (x *extraction) write(t *Tool, w *written, r io.Reader) error {
	patches := elements.Map(t.program.patches, func(ph placeholder) patch { return patch{placeholder: ph, value: x.value(t, ph)} })
	p, err := newPatcher(w.out, patches)
	if err != nil {
		return err
	}
	n, err := io.Copy(p, io.LimitReader(r, maxSize+1))
	if err == nil && n > maxSize {
		err = fmt.Errorf("it has more than %d bytes", int64(maxSize))
	}
	if err == nil {
		err = p.Close()
	}
	if err != nil {
		return err
	}
	w.size = n
	for _, name := range p.missing() {
		if name == t.program.required {
			return fmt.Errorf("the program has no placeholder for the %s, so it would install another release", name)
		}
		w.notes = append(w.notes, fmt.Sprintf("%s for %s has no placeholder for the %s", t.Name, t.Platform, name))
	}
	return nil
}

// value returns the value of a placeholder.
func (x *extraction) value(t *Tool, ph placeholder) string {
	switch ph.name {
	case inImage.name:
		return x.options.ReleaseImage
	case inVersion.name:
		return x.payload.Version
	}
	if x.payload.Arch == release.Multi {
		return fmt.Sprintf("multi (linux/%s)", cmp.Or(t.arch, release.DefaultArch))
	}
	return "linux/" + string(x.payload.Arch)
}

// finish signs a tool and passes it on.
func (x *extraction) finish(t *Tool, done func(Extracted) error) error {
	w := x.open[t.Path]
	if w == nil {
		return fmt.Errorf("the image has no /%s, which would be %s for %s", t.Path, t.Name, t.Platform)
	}
	if (t.Platform == release.ToolPlatform{OS: "darwin", Arch: "arm64"}) {
		switch err := resign(w.out); {
		case errors.Is(err, errUnsigned):
			w.notes = append(w.notes, fmt.Sprintf("%s for %s cannot be signed again, so that macOS may refuse to run it: %v", t.Name, t.Platform, err))
		case err != nil:
			return fmt.Errorf("signing %s for %s: %w", t.Name, t.Platform, err)
		}
	}
	sum, err := digest.FromReader(io.NewSectionReader(w.out, 0, w.size))
	if err != nil {
		return err
	}
	return done(Extracted{Tool: t, Size: w.size, Digest: sum, Notes: w.notes})
}

// openImage opens the image of a component for an architecture, "" for any, at the first source that
// has it.
func openImage(ctx context.Context, src image.Reader, sources []string, c *payload.Component, arch release.Arch) (*image.Image, error) {
	var err error
	for _, source := range sources {
		var desc ocispec.Descriptor
		if desc, err = imageFor(ctx, src, source, c.Digest, arch); err == nil {
			return image.Open(ctx, src, source, desc)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, err
}

// imageFor returns the manifest of the image for an architecture. An index may be sparse: images for
// other architectures need not exist.
func imageFor(ctx context.Context, src image.Reader, source string, d digest.Digest, arch release.Arch) (ocispec.Descriptor, error) {
	desc, raw, err := src.Manifest(ctx, source, d)
	if err != nil || !manifest.IsIndex(desc.MediaType) {
		return desc, err
	}
	o, err := image.DecodeObject(raw)
	if err != nil {
		return desc, err
	}
	var lines []ocispec.Descriptor
	if err := o.Field("manifests", &lines); err != nil {
		return desc, err
	}
	// Any architecture will do: preferably the default one.
	elements.Sort(lines, func(a, b ocispec.Descriptor) int { return cmp.Compare(rank(a), rank(b)) })
	var have []string
	for _, line := range lines {
		if line.Platform == nil || line.Platform.OS != "linux" || arch != "" && line.Platform.Architecture != string(arch) {
			if line.Platform != nil {
				have = append(have, line.Platform.OS+"/"+line.Platform.Architecture)
			}
			continue
		}
		child, _, err := src.Manifest(ctx, source, line.Digest)
		if arch == "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return child, err
	}
	return desc, fmt.Errorf("the index %s has no image for linux/%s that exists (it has %s): %w", d, cmp.Or(arch, "any"), strings.Join(have, ", "), fs.ErrNotExist)
}

func rank(d ocispec.Descriptor) int {
	if d.Platform != nil && d.Platform.Architecture == string(release.DefaultArch) {
		return 0
	}
	return 1
}

// readFiles passes on the files at the paths, as the layers leave them. It reads layers from the top
// down until it has all files. Only if one of them is a link, all layers are read.
func readFiles(ctx context.Context, img *image.Image, wanted map[string]*Tool, each func(*Tool, io.Reader) error) error {
	p, view, left := img.Primary(), image.NewView(), layers.NewBudget(2*layers.MaxUnpacked)
	found := map[string]bool{}
	for _, n := range p.TopDown() {
		listing, err := img.List(ctx, p, n, &image.Lister{Budget: left, File: func(name string, r io.Reader) error {
			t := wanted[name]
			if t == nil || found[name] || !view.Shows(name) {
				return nil
			}
			found[name] = true
			return each(t, r)
		}})
		if err != nil {
			return err
		}
		view.Add(n, listing)
		if len(found) == len(wanted) {
			return nil
		}
	}
	links := map[string][]string{}
	for name := range wanted {
		if !found[name] && (view.HasFile(name) || view.Linked(name)) {
			links[name] = []string{name}
		}
	}
	return img.ReadLinks(ctx, p, view, image.Links{Names: links}, func(name string, r io.Reader) error {
		return each(wanted[name], r)
	}, left)
}
