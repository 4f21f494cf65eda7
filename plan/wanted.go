package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// ociScheme and dirScheme begin the names of content that is not in a registry.
const (
	ociScheme = "oci://"
	dirScheme = "dir://"
)

// A wish is one image that somebody asked for, before it is known what it is.
type wish struct {
	source string              // normalised reference, or oci://DIR
	ref    reference.Reference // zero for oci:// and dir://
	digest digest.Digest       // what is wanted, where that is known
	kind   ImageKind
	// catalog is the name of the catalog that a CatalogImage is of.
	catalog string
	// pos is the entry of the configuration that names the image itself; the
	// zero value where a catalog does.
	pos imageset.Position
	// repo and tag are what the configuration sets; "" leaves the names to be
	// made from the source.
	repo, tag string
	// tags are set, with repo, where the image has its place as part of a release,
	// which does not depend on where it comes from.
	tags    []string
	because []Because
	// all asks for every child of an index, else only platforms are wanted.
	all       bool
	platforms []imageset.Platform
}

// wishes collects what is asked for, once per source and target.
type wishes struct {
	byKey map[wishKey]*wish
	empty int // references that are ""
	short map[string]bool
}

// asked says who asked for the image, and where.
func (w *wish) asked() string {
	if w.pos != (imageset.Position{}) {
		return w.pos.String() + ": " + w.source
	}
	if len(w.because) == 0 || w.because[0].Bundle == "" {
		return w.source
	}
	return w.source + ", wanted by " + w.because[0].Bundle
}

type wishKey struct{ source, repo, tag string }

func newWishes() *wishes {
	return &wishes{byKey: map[wishKey]*wish{}, short: map[string]bool{}}
}

// rank orders kinds by how much they say of an image; the highest is kept where
// an image is asked for in several roles.
func (k ImageKind) rank() int {
	return slices.Index([]ImageKind{AdditionalImage, RelatedImage, BundleImage, CatalogImage, SignatureImage, BootImage, ComponentImage, ReleaseImage, GraphImage}, k)
}

func (ws *wishes) add(w wish) {
	key := wishKey{w.source, w.repo, w.tag}
	w.all = len(w.platforms) == 0
	have := ws.byKey[key]
	if have == nil {
		w.detach()
		key.source = w.source
		ws.byKey[key] = &w
		return
	}
	if w.kind.rank() > have.kind.rank() {
		have.kind = w.kind
	}
	have.pos = cmp.Or(have.pos, w.pos)
	have.because = slices.Concat(have.because, w.because)
	have.tags = append(have.tags, w.tags...)
	have.all = have.all || w.all
	have.platforms = slices.Concat(have.platforms, w.platforms) // the lists are shared
}

// detach takes the parts of the reference out of the source, so that there is one
// text and none of the catalog's is held.
func (w *wish) detach() {
	if w.ref.Path == "" {
		return
	}
	if ref, err := reference.Parse(w.source); err == nil && ref == w.ref {
		w.ref = ref
		if w.digest == ref.Digest {
			w.digest = ref.Digest
		}
	}
}

// addText asks for the image that a catalog names. An empty reference is
// counted; one that does not parse is an error, though a validated catalog has
// none.
func (ws *wishes) addText(text string, w wish) error {
	if text == "" {
		ws.empty++
		return nil
	}
	ref, err := reference.Parse(text)
	if err != nil {
		return err
	}
	if reference.IsShort(text) {
		ws.short[text] = true
	}
	if ref.Identifier() == "" {
		ref.Tag = "latest"
	}
	w.ref, w.source, w.digest = ref, ref.String(), ref.Digest
	ws.add(w)
	return nil
}

// addBundle asks for a bundle's own image (which relatedImages need not list)
// and everything that the bundle relates.
func (ws *wishes) addBundle(from string, b *catalog.Bundle, platforms []imageset.Platform) error {
	because := Because{Catalog: from, Package: b.Package, Bundle: b.Name}
	if b.Image != "" {
		if err := ws.addText(b.Image, wish{kind: BundleImage, because: []Because{because}, platforms: platforms}); err != nil {
			return err
		}
	}
	for _, r := range b.RelatedImages {
		because.Name = r.Name
		w := wish{kind: RelatedImage, because: []Because{because}, platforms: platforms}
		if r.Image == b.Image {
			w.kind = BundleImage
		}
		if err := ws.addText(r.Image, w); err != nil {
			return err
		}
	}
	return nil
}

// sorted returns the wishes in a fixed order, their reasons and tags sorted and
// without duplicates.
func (ws *wishes) sorted() []*wish {
	var all []*wish
	for _, w := range ws.byKey {
		slices.SortFunc(w.because, compareBecause)
		w.because = slices.Compact(w.because)
		slices.Sort(w.tags)
		w.tags = slices.Compact(w.tags)
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *wish) int {
		return cmp.Or(strings.Compare(a.source, b.source), strings.Compare(a.repo, b.repo), strings.Compare(a.tag, b.tag))
	})
	return all
}

func compareBecause(a, b Because) int {
	return cmp.Or(
		strings.Compare(a.List, b.List),
		strings.Compare(a.Catalog, b.Catalog),
		strings.Compare(a.Package, b.Package),
		strings.Compare(a.Bundle, b.Bundle),
		strings.Compare(a.Release, b.Release),
		strings.Compare(a.Name, b.Name))
}

// block takes out what mirror.blockedImages matches.
func (ws *wishes) block(patterns []imageset.Blocked) []Blocked {
	var blocked []Blocked
	for key, w := range ws.byKey {
		target := w.repo
		if target == "" {
			target = w.ref.Path
		}
		if pattern, ok := blockedBy(patterns, strings.TrimPrefix(w.source, ociScheme), target); ok {
			slices.SortFunc(w.because, compareBecause)
			blocked = append(blocked, Blocked{Source: w.source, Pattern: pattern, Because: slices.Compact(w.because)})
			delete(ws.byKey, key)
		}
	}
	slices.SortFunc(blocked, func(a, b Blocked) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Pattern, b.Pattern), slices.CompareFunc(a.Because, b.Because, compareBecause))
	})
	return blocked
}

// blockedBy is the pattern of blockedImages that leaves out an image, if one does.
// Patterns are tried on the reference as the source has it and on the repository
// it would get, both without a transport, as oc mirror does.
func blockedBy(patterns []imageset.Blocked, source, target string) (string, bool) {
	for _, p := range patterns {
		if p.Pattern.MatchString(source) || p.Pattern.MatchString(target) {
			return p.Name, true
		}
	}
	return "", false
}
