package contents

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// catalogReads is how many catalogs are read at a time: a large one needs a lot of memory.
const catalogReads = 2

// A Package is a package of a catalog.
type Package struct {
	Catalog string `json:"catalog"`
	// Place is the mirror or archive that has the catalog; "" for a catalog by itself.
	Place          string   `json:"place,omitempty"`
	Name           string   `json:"name"`
	DisplayName    string   `json:"displayName,omitempty"`
	DefaultChannel string   `json:"defaultChannel"`
	Deprecated     string   `json:"deprecated,omitempty"` // the message of its publisher
	Channels       []string `json:"channels"`
	Versions       []string `json:"versions"` // newest first
	// Head is the head of the default channel; absent if there is none.
	Head *listing.CatalogBundle `json:"head,omitempty"`
	// OLMv1 is the bundle that OLM v1 installs for a ClusterExtension without channels and a version.
	OLMv1 PreferredBundle `json:"olmV1"`
	// Images are those of all bundles, and Stored is about all of them.
	Images []string `json:"images"`
	Stored
}

// A PreferredBundle is the bundle that OLM v1 prefers, and whether it installs it.
type PreferredBundle struct {
	Bundle string `json:"bundle,omitempty"`
	listing.Installable
}

// A Channel is a channel of a package.
type Channel struct {
	Place string `json:"place,omitempty"`
	listing.CatalogChannel
	// HeadBundle is the bundle with the name Head; absent if the catalog does not have it.
	HeadBundle *listing.CatalogBundle `json:"headBundle,omitempty"`
	Stored
}

// A Bundle is a bundle of a package.
type Bundle struct {
	Place string `json:"place,omitempty"`
	listing.CatalogBundle
	Stored
}

// Packages lists packages by name and display name.
func Packages(ctx context.Context, o Options) (*List, error) {
	list := &List{Version: 1, Packages: []Package{}}
	err := o.eachPackage(ctx, "packages", func(in *opened, c *openCatalog, p *listing.CatalogPackage, matches *matcher) error {
		if !slices.ContainsFunc(p.Bundles, matches.owns) || !matches.names(p.Name, p.DisplayName) {
			return nil
		}
		out := Package{
			Catalog: p.Catalog, Place: c.place, Name: p.Name, DisplayName: p.DisplayName, DefaultChannel: p.DefaultChannel, Deprecated: p.Deprecated,
			Channels: []string{}, Versions: []string{}, Head: p.DefaultHead(), OLMv1: PreferredBundle{Bundle: p.V1, Installable: listing.Installable{Install: listing.Unknown}}, Images: []string{},
		}
		for _, ch := range p.Channels {
			out.Channels = append(out.Channels, ch.Name)
		}
		for _, b := range p.Bundles {
			out.Versions = with(out.Versions, b.Version)
		}
		var err error
		out.Images, out.Stored, err = in.storedBundles(ctx, c, "package "+p.Name, p.Bundles)
		at := len(list.Packages)
		list.Packages = append(list.Packages, out)
		in.answer(c, out.Head, func() {})
		in.answer(c, p.Bundle(p.V1), func() { list.Packages[at].OLMv1.Installable = p.Bundle(p.V1).OLMv1 })
		return err
	})
	return list.unless(err)
}

// Channels lists channels by name, and by the name of their package.
func Channels(ctx context.Context, o Options) (*List, error) {
	list := &List{Version: 1, Channels: []Channel{}}
	err := o.eachPackage(ctx, "channels", func(in *opened, c *openCatalog, p *listing.CatalogPackage, matches *matcher) error {
		for _, ch := range p.Channels {
			bundles := slices.DeleteFunc(slices.Clone(p.Bundles), func(b listing.CatalogBundle) bool { return !slices.Contains(ch.Bundles, b.Name) })
			if !slices.ContainsFunc(bundles, matches.owns) || !matches.names(ch.Name, p.Name) {
				continue
			}
			out := Channel{Place: c.place, CatalogChannel: ch, HeadBundle: p.Bundle(ch.Head)}
			var err error
			if _, out.Stored, err = in.storedBundles(ctx, c, "channel "+ch.Name+" of "+p.Name, bundles); err != nil {
				return err
			}
			in.answer(c, out.HeadBundle, func() {})
			list.Channels = append(list.Channels, out)
		}
		return nil
	})
	return list.unless(err)
}

// Bundles lists bundles by name and version, and by the name of their package.
func Bundles(ctx context.Context, o Options) (*List, error) {
	list := &List{Version: 1, Bundles: []Bundle{}}
	err := o.eachPackage(ctx, "bundles", func(in *opened, c *openCatalog, p *listing.CatalogPackage, matches *matcher) error {
		for i := range p.Bundles {
			b := p.Bundles[i]
			if !matches.owns(b) || !matches.names(b.Name, b.Version, p.Name) {
				continue
			}
			out := Bundle{Place: c.place, CatalogBundle: b}
			at := len(list.Bundles)
			in.answer(c, &p.Bundles[i], func() { list.Bundles[at].BundleFacts = p.Bundles[i].BundleFacts })
			var err error
			if _, out.Stored, err = in.storedBundles(ctx, c, b.Name, []listing.CatalogBundle{b}); err != nil {
				return err
			}
			list.Bundles = append(list.Bundles, out)
		}
		return nil
	})
	return list.unless(err)
}

// A matcher selects what is listed, and notes the names that it did not select.
type matcher struct {
	words, pkg, apis wordPattern
	packages         []string // all that the catalogs have
	seen             []string // the first name of everything else
	found            int
}

func (o *Options) matcher() *matcher {
	return &matcher{words: newWordPattern(false, o.Words...), pkg: newWordPattern(true, o.Package), apis: newWordPattern(true, o.APIs...)}
}

// names reports whether something with these names is listed; the first one is its own. It is the last check: what it accepts
// is counted.
func (m *matcher) names(names ...string) bool {
	m.seen = append(m.seen, names[0])
	if !m.words.match(names...) {
		return false
	}
	m.found++
	return true
}

// noteNone prints a note if nothing of a kind was found, with similar names.
func (m *matcher) noteNone(e *env.Env, object string) {
	if m.found > 0 {
		return
	}
	names, words := slices.Concat(m.seen, m.packages), slices.Concat(m.pkg.words, m.words.words, m.apis.words)
	if len(names) == 0 || len(words) == 0 {
		e.Noticef("there are no %s", object)
		return
	}
	parts := slices.Clone(names) // words match parts, too
	for _, name := range names {
		parts = append(parts, strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...)
	}
	for _, word := range words {
		text := strings.Trim(word, "*?")
		same := func(name string) bool { return strings.EqualFold(name, text) }
		if slices.ContainsFunc(names, same) {
			continue // another word is why
		}
		if near := suggest.Phrase(text, slices.DeleteFunc(slices.Clone(parts), same)); near != "" {
			e.Noticef("no %s match %q; %s", object, word, near)
			return
		}
	}
	e.Noticef("no %s match %s", object, strings.Join(words, " "))
}

// owns reports whether a bundle owns one of the APIs, if any were asked for.
func (m *matcher) owns(b listing.CatalogBundle) bool {
	return len(m.apis.words) == 0 || slices.ContainsFunc(b.APIs, func(a listing.API) bool { return m.apis.match(a.Kind, a.String()) })
}

// eachPackage calls do for the packages of all catalogs, in their order. object is what is listed.
func (o *Options) eachPackage(ctx context.Context, object string, do func(*opened, *openCatalog, *listing.CatalogPackage, *matcher) error) error {
	in, err := o.open(ctx, object, false)
	if err != nil {
		return err
	}
	defer in.Close()
	matches := o.matcher()
	all, err := in.read(ctx, matches)
	if err != nil {
		return err
	}
	for i := range in.catalogs {
		for k := range all[i] {
			if err := do(in, &in.catalogs[i], &all[i][k], matches); err != nil {
				return err
			}
		}
	}
	matches.noteNone(in.env, object)
	return in.readBundles(ctx)
}

// read reads the packages of all catalogs that may match.
func (in *opened) read(ctx context.Context, matches *matcher) ([][]listing.CatalogPackage, error) {
	all := make([][]listing.CatalogPackage, len(in.catalogs))
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(catalogReads)
	for i, c := range in.catalogs {
		g.Go(func() (err error) {
			var names []string
			all[i], names, err = listing.ReadFacts(ctx, c.name, c.read, func(pkg string) bool { return matches.pkg.match(pkg) })
			mu.Lock()
			defer mu.Unlock()
			matches.packages = append(matches.packages, names...)
			return err
		})
	}
	return all, g.Wait()
}

// storedBundles returns the images of bundles of a catalog, and what is known of them together. object names them.
func (in *opened) storedBundles(ctx context.Context, c *openCatalog, object string, bundles []listing.CatalogBundle) (refs []string, out Stored, err error) {
	refs = []string{}
	var images []*plan.Image
	for i := range bundles {
		b := &bundles[i]
		refs = append(refs, b.Images...)
		if c.stock != nil {
			images = append(images, c.stock.bundles[bundleKey{c.of.Name(), b.Package, b.Name}]...)
		}
	}
	seen := map[string]bool{}
	refs = slices.DeleteFunc(refs, func(ref string) bool {
		again := seen[ref]
		seen[ref] = true
		return again
	})
	out, err = in.stored(ctx, c.stock, images, refs, object)
	return refs, out, err
}

// stored returns what is known of images: of a plan, or by their references.
func (in *opened) stored(ctx context.Context, s *placedStock, images []*plan.Image, refs []string, object string) (out Stored, err error) {
	switch {
	case s != nil:
		out = s.of(images...)
	case in.sizes:
		out.Size, err = in.sizeOf(ctx, object, refs)
	}
	if in.at != nil {
		out.At = in.at.of(refs)
	}
	return out, err
}
