package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Sources that are not in a registry begin with ociScheme or dirScheme.
const (
	ociScheme = "oci://"
	dirScheme = "dir://"
)

// isRegistry reports whether a source is an image reference, not oci:// or dir://.
func isRegistry(source string) bool {
	return !strings.HasPrefix(source, ociScheme) && !strings.HasPrefix(source, dirScheme)
}

// parseSource parses a source. The reference is zero if the source is not in a registry.
func parseSource(source string) (reference.Reference, error) {
	if !isRegistry(source) {
		return reference.Reference{}, nil
	}
	return reference.Parse(source)
}

// An imageRequest is one image that the configuration, a catalog or a release names, before it is looked up.
type imageRequest struct {
	source string        // normalized reference, or oci://DIR
	digest digest.Digest // of the requested manifest; "" if the source decides
	kind   plan.ImageKind
	// catalog is the name of the catalog that a CatalogImage belongs to.
	catalog string
	// position is the entry of the configuration that names the image; it is zero if a catalog
	// names it.
	position imageset.Position
	// repo and tag are set by the configuration; if empty, they are derived from the source.
	repo, tag string
	// tags are set, with repo, for images of releases. Their names do not depend on the source.
	tags    []string
	reasons []plan.Reason
	// all requests every child of an index; otherwise only those for platforms.
	all       bool
	platforms []imageset.Platform
	// rewrite asks for a smaller index with the platforms. pins are why that is impossible: what names
	// the digest of the index and cannot be changed.
	rewrite bool
	pins    []string
	// named is what names the digest and cannot be changed, or "".
	named string
}

// requestedBy returns the source, with the entry of the configuration or the bundle that names it.
func (w *imageRequest) requestedBy() string {
	if w.position != (imageset.Position{}) {
		return w.position.String() + ": " + w.source
	}
	if len(w.reasons) == 0 || w.reasons[0].Bundle == "" {
		return w.source
	}
	return w.source + ", required by " + w.reasons[0].Bundle
}

// imageRequests are the images that a plan needs, besides its catalog images.
type imageRequests struct {
	all     []*imageRequest // sorted by source, repository and tag
	blocked []plan.Blocked
	notes   []string
}

// A requestSet has one request for each source and target.
type requestSet struct {
	byKey       map[requestKey]*imageRequest
	empty       int             // number of empty references
	unqualified map[string]bool // references without a registry
}

type requestKey struct{ source, repo, tag string }

func newRequestSet() *requestSet {
	return &requestSet{byKey: map[requestKey]*imageRequest{}, unqualified: map[string]bool{}}
}

// add adds a request, or merges it with an earlier one for the same source and target.
func (s *requestSet) add(w imageRequest) {
	key := requestKey{w.source, w.repo, w.tag}
	w.all = len(w.platforms) == 0
	w.pins, w.named = w.pinned(), w.namedBy()
	have := s.byKey[key]
	if have == nil {
		s.byKey[key] = &w
		return
	}
	if w.kind.Rank() > have.kind.Rank() {
		have.kind = w.kind
	}
	have.position = cmp.Or(have.position, w.position)
	have.reasons = slices.Concat(have.reasons, w.reasons)
	have.tags = append(have.tags, w.tags...)
	have.all = have.all || w.all
	have.platforms = slices.Concat(have.platforms, w.platforms) // the lists are shared
	have.rewrite = have.rewrite || w.rewrite
	have.pins = append(have.pins, w.pins...)
	have.named = cmp.Or(have.named, w.named)
}

// ref returns the reference of the source. It is zero for sources that are not in a registry.
func (w *imageRequest) ref() reference.Reference {
	ref, _ := parseSource(w.source) // zero, if it is another address
	return ref
}

// addReference requests the image that a catalog or release names. It counts empty references. A
// reference that does not parse is an error, although a validated catalog has none.
func (s *requestSet) addReference(text string, w imageRequest) error {
	if text == "" {
		s.empty++
		return nil
	}
	ref, err := reference.Parse(text)
	if err != nil {
		return err
	}
	if reference.IsShort(text) {
		s.unqualified[text] = true
	}
	if ref.Identifier() == "" {
		ref.Tag = "latest"
	}
	w.source = ref.String() // and none of the catalog's text
	w.digest = digest.Digest(w.source[len(w.source)-len(ref.Digest):])
	s.add(w)
	return nil
}

// addImages requests the images of additionalImages.
func (s *requestSet) addImages(images []listedImage) error {
	var reasons []plan.Reason // most images have the same
	for _, img := range images {
		if reason := (plan.Reason{List: "additionalImages", Rule: img.rule}); len(reasons) == 0 || reasons[0] != reason {
			reasons = []plan.Reason{reason}
		}
		w := imageRequest{
			kind: plan.AdditionalImage, repo: img.TargetRepo, tag: img.TargetTag,
			reasons: reasons, platforms: img.Platforms, rewrite: img.PlatformsMode == imageset.PlatformsRewrite, position: img.Pos,
		}
		if strings.HasPrefix(img.Name, ociScheme) {
			w.source = img.Name
			s.add(w)
			continue
		}
		if err := s.addReference(img.Name, w); err != nil {
			return fmt.Errorf("%s: %w", img.Pos, err)
		}
	}
	return nil
}

// addBundle requests a bundle's own image, which relatedImages need not list, and the related images of the bundle.
func (s *requestSet) addBundle(catalogName string, b *catalog.Bundle, platforms []imageset.Platform, rewrite bool) error {
	reason := plan.Reason{Catalog: catalogName, Package: b.Package, Bundle: b.Name}
	if b.Image != "" {
		if err := s.addReference(b.Image, imageRequest{kind: plan.BundleImage, reasons: []plan.Reason{reason}, platforms: platforms, rewrite: rewrite}); err != nil {
			return err
		}
	}
	for _, r := range b.RelatedImages {
		reason.Name = r.Name
		w := imageRequest{kind: plan.RelatedImage, reasons: []plan.Reason{reason}, platforms: platforms, rewrite: rewrite}
		if r.Image == b.Image {
			w.kind = plan.BundleImage
		}
		if err := s.addReference(r.Image, w); err != nil {
			return err
		}
	}
	return nil
}

// sorted returns the requests in a fixed order, with their reasons and tags sorted and without duplicates.
func (s *requestSet) sorted() []*imageRequest {
	var all []*imageRequest
	for _, w := range s.byKey {
		elements.Sort(w.reasons, plan.CompareReasons)
		w.reasons = slices.Compact(w.reasons)
		slices.Sort(w.tags)
		w.tags = slices.Compact(w.tags)
		all = append(all, w)
	}
	elements.Sort(all, func(a, b *imageRequest) int {
		return cmp.Or(strings.Compare(a.source, b.source), strings.Compare(a.repo, b.repo), strings.Compare(a.tag, b.tag))
	})
	return all
}

// removeBlocked removes and returns the requests that mirror.blockedImages matches.
func (s *requestSet) removeBlocked(patterns []imageset.Blocked) []plan.Blocked {
	var blocked []plan.Blocked
	for key, w := range s.byKey {
		target := cmp.Or(w.repo, w.ref().Path)
		if pattern, ok := imageset.BlockedBy(patterns, strings.TrimPrefix(w.source, ociScheme), target); ok {
			elements.Sort(w.reasons, plan.CompareReasons)
			blocked = append(blocked, plan.Blocked{Source: w.source, Pattern: pattern, Reasons: slices.Compact(w.reasons)})
			delete(s.byKey, key)
		}
	}
	elements.Sort(blocked, compareBlocked)
	return blocked
}

func compareBlocked(a, b plan.Blocked) int {
	return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Pattern, b.Pattern), slices.CompareFunc(a.Reasons, b.Reasons, plan.CompareReasons))
}

// isReleaseImage reports whether clusters may require signatures of images of this kind.
func isReleaseImage(k plan.ImageKind) bool {
	return k == plan.ReleaseImage || k == plan.ComponentImage || k == plan.BootImage
}

// namedBy returns what names the digest of a requested image and cannot be changed, "" if only tags and the
// filtered catalog name it.
func (w *imageRequest) namedBy() string {
	switch {
	case w.digest == "" || w.kind == plan.BundleImage || w.kind == plan.CatalogImage:
		return ""
	case w.kind == plan.RelatedImage:
		return "the manifests in the image of a bundle"
	case slices.ContainsFunc(w.reasons, func(r plan.Reason) bool { return r.Chart != "" }):
		return "a chart"
	}
	return "the configuration"
}

// pinned returns why the digest of a requested image cannot change; nothing if only tags and the filtered catalog name it. A
// cluster unpacks the bundle that the catalog names, and runs what the manifests in the bundle name.
func (w *imageRequest) pinned() []string {
	switch {
	case w.all:
		return nil
	case !w.rewrite && isReleaseImage(w.kind):
		return []string{"a release names its digest"}
	case !w.rewrite:
		return []string{"another entry of the configuration keeps its digest"}
	case w.digest == "" || w.kind == plan.BundleImage:
		return nil
	case w.kind == plan.RelatedImage:
		return []string{"the manifests in the image of a bundle name its digest"}
	case slices.ContainsFunc(w.reasons, func(r plan.Reason) bool { return r.Chart != "" }):
		return []string{"a chart names its digest"}
	}
	return []string{"the configuration lists it by its digest"}
}
