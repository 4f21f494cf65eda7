package plan

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// From is where a plan's content is read, and where the catalog images that are
// built for it are kept.
type From struct {
	Images Images
	Files  Files
	Store  Store
	// Database reads SQLite indexes, and Snapshots spares the reading of catalogs
	// that were read before; see [source.From]. Both may be nil.
	Database  func(ctx context.Context, db io.Reader, each func(*catalog.Meta) error) error
	Snapshots source.Snapshots
	// Updates tells of platform releases; nil where none are to be planned.
	Updates Updates

	// fresh is Images as it was given: what it says is held by nobody.
	fresh Images
}

// once is where a single plan is made from: what a source names is asked once.
func (f From) once() From {
	f.fresh, f.Images = f.Images, localImages{&pinned{Images: f.Images}}
	return f
}

// planting is where the forest has what was read, so that it does not read it again.
func (f From) planting(in *forest) From {
	f.Images = planted{f.Images, in}
	return f
}

// Options are what a plan is made with, beside the configuration.
type Options struct {
	// Jobs is how many manifests are read at the same time; 0 means 16.
	Jobs int
	// Progress, where set, is told how many images were looked up, of how many.
	// It is called from several goroutines.
	Progress func(done, images int)
	Log      *slog.Logger // nil means none
	// Warn, where set, is told at once what somebody has to know who does not read the
	// plan's notes, which say it, too.
	Warn func(text string)
	// Installed is what clusters run, beside what the configuration says of it.
	// Each is taken into account for every catalog that has its package.
	Installed []imageset.Installed
	// Clusters are clusters whose way to the releases of the configuration is kept.
	Clusters []Cluster
	// IgnoreReleaseSignatures takes payloads that nobody signed.
	IgnoreReleaseSignatures bool
	// Only, where set, says which packages Select and SelectAgain are asked about.
	// Of a catalog that is taken whole they only outline the others, unless
	// dependencies make each matter to each. Make takes no notice of it.
	Only func(pkg string) bool
}

// jobs is how many manifests are read at the same time unless told otherwise.
const jobs = 16

func (o Options) withDefaults() Options {
	if o.Jobs <= 0 {
		o.Jobs = jobs
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

// Make makes the plan of a configuration: it reads, filters, validates and
// builds the catalogs, collects what they and the lists of the configuration
// name, and reads the manifests of all that. name is the plan's name.
//
// What the configuration asks for and a catalog does not have is an error, as
// is a catalog that cannot be read or that OLM would refuse. An image that
// cannot be read is not: it is among the plan's Missing. Where not one image
// can be read, the first reason is the error.
func Make(ctx context.Context, cfg *imageset.Config, name string, from From, opts Options) (*Plan, error) {
	opts, from = opts.withDefaults(), from.once()
	opts.Only = nil
	p := &Plan{Kind: Kind, Version: Version, Name: name, ArchiveSize: cfg.ArchiveSize, Manifests: []Manifest{}, Blobs: []Blob{}}
	ws := newWishes()
	var catalogs []*wish
	read, notes, err := readCatalogs(ctx, from, cfg.Mirror.Operators, opts)
	if err != nil {
		return nil, err
	}
	p.Notes = append(p.Notes, notes...)
	if err := each(ctx, len(read), func(ctx context.Context, i int) error { return read[i].build(ctx, from) }); err != nil {
		return nil, err
	}
	for _, c := range read {
		if err := c.collect(ws); err != nil {
			return nil, err
		}
		p.Catalogs = append(p.Catalogs, c.entry)
		p.Notes = append(p.Notes, c.notes...)
		catalogs = append(catalogs, c.wish())
	}
	f := newForest(from.Images)
	releases, err := readPlatform(ctx, cfg.Mirror.Platform, cfg.Mirror.BlockedImages, from.planting(f), opts)
	if err != nil {
		return nil, err
	}
	if err := releases.collect(ws); err != nil {
		return nil, err
	}
	releases.block(read)
	if err := addLists(ws, cfg.Mirror.AdditionalImages); err != nil {
		return nil, err
	}
	p.Blocked = ws.block(cfg.Mirror.BlockedImages)
	releases.remark(p.Blocked)
	if ws.empty > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s an empty reference; passed over", count(ws.empty, "related image has", "related images have")))
	}
	for short := range ws.short {
		p.Notes = append(p.Notes, fmt.Sprintf("image %s has no registry; it is taken from docker.io", short))
	}

	all, err := f.resolve(ctx, append(catalogs, ws.sorted()...), opts)
	if err != nil {
		return nil, err
	}
	if err := inputProblems(all); err != nil {
		return nil, err
	}
	signatures, err := releases.signatures(ctx, f, all)
	if err != nil {
		return nil, err
	}
	all = append(all, signatures...)
	var found []resolved
	for _, r := range all {
		switch {
		case r.err == nil:
			found = append(found, r)
		case r.wish.kind == CatalogImage:
			return nil, fmt.Errorf("reading catalog image %s: %w", r.wish.source, r.err)
		case r.wish.kind == ReleaseImage || r.wish.kind == GraphImage:
			return nil, fmt.Errorf("reading %s image %s: %w", r.wish.kind, r.wish.source, r.err)
		default:
			p.Missing = append(p.Missing, Missing{
				Source: r.wish.source, Kind: r.wish.kind, Reason: r.err.Error(), Because: r.wish.because, err: r.err,
			})
		}
	}
	if len(found) == len(catalogs)+releases.images() && len(p.Missing) > 0 {
		return nil, fmt.Errorf("no image can be read, of %d; the first: %s: %w", len(p.Missing), p.Missing[0].Source, p.Missing[0].err)
	}
	if p.Images, notes, err = place(found); err != nil {
		return nil, err
	}
	p.Notes = append(p.Notes, notes...)
	p.placeCatalogs()
	releases.enter(p)
	if err := f.harvest(p); err != nil {
		return nil, err
	}
	slices.Sort(p.Notes)
	p.Notes = slices.Compact(p.Notes)
	return p, p.check()
}

// addLists asks for what the configuration names itself.
func addLists(ws *wishes, images []imageset.Image) error {
	for _, img := range images {
		w := wish{
			kind: AdditionalImage, repo: img.TargetRepo, tag: img.TargetTag,
			because: []Because{{List: "additionalImages"}}, platforms: img.Platforms, pos: img.Pos,
		}
		if strings.HasPrefix(img.Name, ociScheme) {
			w.source = img.Name
			ws.add(w)
			continue
		}
		if err := ws.addText(img.Name, w); err != nil {
			return fmt.Errorf("%s: %w", img.Pos, err)
		}
	}
	return nil
}

// placeCatalogs writes into each catalog where its image was placed.
func (p *Plan) placeCatalogs() {
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		for _, img := range p.Images {
			if img.Catalog == c.Name() {
				c.Repository, c.Tag = img.Repository, img.Tags[0]
			}
		}
	}
}

// harvest enters the manifests and blobs of the plan's images, their sizes and
// the totals.
func (f *forest) harvest(p *Plan) error {
	entered := make(map[digest.Digest]bool, len(f.trees))
	p.Manifests = slices.Grow(p.Manifests, len(f.trees))
	blobs := map[digest.Digest]int64{}
	foreign := map[digest.Digest]int{} // layers that stay at their vendor's, children included
	var visit func(d digest.Digest, each func(digest.Digest, int64)) error
	visit = func(d digest.Digest, each func(digest.Digest, int64)) error {
		t := f.trees[d]
		if t == nil || t.node == nil {
			return fmt.Errorf("manifest %s was not read", d)
		}
		m := Manifest{Digest: d, MediaType: t.mediaType, Size: t.size}
		first := !entered[d]
		if first {
			m.Blobs = make([]digest.Digest, 0, len(t.blobs))
		}
		sum := t.foreign
		for _, c := range t.children {
			if !t.kept[c.Digest] {
				m.Sparse = true
				continue
			}
			if slices.Contains(m.Manifests, c.Digest) {
				continue
			}
			if err := visit(c.Digest, each); err != nil {
				return err
			}
			m.Manifests = append(m.Manifests, c.Digest)
			sum += foreign[c.Digest]
		}
		if sum > 0 {
			foreign[d] = sum
		}
		for _, b := range t.blobs {
			if size, ok := blobs[b.Digest]; ok && size != b.Size {
				return fmt.Errorf("blob %s has %d bytes in one image and %d in another", b.Digest, size, b.Size)
			}
			blobs[b.Digest] = b.Size
			each(b.Digest, b.Size)
			if first {
				m.Blobs = append(m.Blobs, b.Digest)
			}
		}
		if first {
			entered[d] = true
			p.Manifests = append(p.Manifests, m)
		}
		each(d, m.Size)
		return nil
	}
	for i := range p.Images {
		img := &p.Images[i]
		sizes := map[digest.Digest]int64{}
		if err := visit(img.Digest, func(d digest.Digest, n int64) { sizes[d] = n }); err != nil {
			return fmt.Errorf("image %s: %w", img.Source, err)
		}
		for _, n := range sizes {
			img.Size += n
		}
		if n := foreign[img.Digest]; n > 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("%s: %s not to be redistributed and left at the vendor's", img.Source, count(n, "layer is", "layers are")))
		}
	}
	slices.SortFunc(p.Manifests, compareManifests)
	p.Blobs = slices.Grow(p.Blobs, len(blobs))
	for _, d := range slices.Sorted(maps.Keys(blobs)) {
		p.Blobs = append(p.Blobs, Blob{Digest: d, Size: blobs[d]})
	}
	p.Totals = p.count()
	return nil
}

// count is "1 image" or "2 images".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// isRegistry reports whether a source is a reference rather than oci:// or
// dir://.
func isRegistry(source string) bool {
	return !strings.HasPrefix(source, ociScheme) && !strings.HasPrefix(source, dirScheme)
}

// parseSource takes a source apart; what is not in a registry has no reference.
func parseSource(source string) (reference.Reference, error) {
	if !isRegistry(source) {
		return reference.Reference{}, nil
	}
	return reference.Parse(source)
}
