package deletion

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A Rest is what a plan has and a configuration does not select.
type Rest struct {
	// Choice is nil if the configuration selects everything.
	Choice *Choice
	// Absent is what the configuration names and the plan neither has nor lists as unavailable, each with its position.
	Absent []string
}

// RestOf compares a plan with an ImageSetConfiguration that may name less than the one that it was made from. An entry
// selects what it selects in a DeleteImageSetConfiguration; a package whose entry is the same in both selects all that the
// plan has of it. Packages that were added since others need them, samples, files and charts of local files are selected.
// Images that blockedImages matches are not, except those that it does not apply to either when a plan is made.
func RestOf(c *imageset.Config, p *plan.Plan) Rest {
	r := &remainder{mirror: &c.Mirror, plan: p, drop: newChoice()}
	r.catalogs()
	r.releases()
	r.images()
	r.charts()
	r.blocked()
	if !r.drops {
		r.drop = nil
	}
	return Rest{r.drop, r.absent}
}

// A remainder collects a Rest.
type remainder struct {
	mirror *imageset.Mirror
	plan   *plan.Plan
	drop   *Choice
	drops  bool
	absent []string
}

// remove adds a name to a part of the choice.
func (r *remainder) remove(part map[string]bool, name string) { part[name], r.drops = true, true }

// lack adds an entry of the configuration for which the plan has nothing.
func (r *remainder) lack(pos imageset.Position, format string, args ...any) {
	r.absent = append(r.absent, fmt.Sprintf("%s: %s", pos, fmt.Sprintf(format, args...)))
}

// isMissing reports whether the plan lists an image as unavailable.
func (r *remainder) isMissing(is func(m *plan.Missing) bool) bool {
	return slices.ContainsFunc(r.plan.Missing, func(m plan.Missing) bool { return is(&m) })
}

// entryOf returns the index of the entry that selects a catalog: the one with its target, or one without any; -1 if there is
// none. The folder of a local catalog may be elsewhere on this machine.
func (r *remainder) entryOf(at *plan.Catalog) int {
	found := r.entryFrom(at, func(op *imageset.Operator) bool { return isCatalog(at, op) })
	if found < 0 && strings.Contains(at.Source, "://") {
		found = r.entryFrom(at, func(op *imageset.Operator) bool {
			moved := *op
			moved.Catalog = at.Source
			isOther := slices.ContainsFunc(r.plan.Catalogs, func(c plan.Catalog) bool { return c.Source == op.Catalog })
			return !isOther && strings.Contains(op.Catalog, "://") && path.Base(op.Catalog) == path.Base(at.Source) && isCatalog(at, &moved)
		})
	}
	return found
}

// entryFrom is entryOf for the entries that a function accepts. A digest has to be the catalog's.
func (r *remainder) entryFrom(at *plan.Catalog, is func(*imageset.Operator) bool) int {
	found := -1
	for i := range r.mirror.Operators {
		op := &r.mirror.Operators[i]
		ref, err := reference.Parse(op.Catalog)
		switch other := err == nil && ref.Digest != "" && ref.Digest != at.SourceDigest; {
		case other, !is(op):
		case strings.TrimSuffix(op.TargetCatalog+":"+op.TargetTag, ":") == at.Target:
			return i
		case found < 0:
			found = i
		}
	}
	return found
}

func (r *remainder) catalogs() {
	entries, found := map[string]int{}, map[int]bool{}
	for i := range r.plan.Catalogs {
		if at := &r.plan.Catalogs[i]; at.VariantOf == "" {
			entries[at.Name()] = r.entryOf(at)
			found[entries[at.Name()]] = true
		}
	}
	for i := range r.plan.Catalogs {
		at := &r.plan.Catalogs[i]
		name := at.Name()
		if at.VariantOf != "" {
			name = at.VariantOf
		}
		entry, named := entries[name]
		if named && entry >= 0 {
			r.packages(at, &r.mirror.Operators[entry])
			continue
		}
		r.remove(r.drop.Catalogs, at.Name())
		for j := range at.Packages {
			r.removeBundles(at, &at.Packages[j], nil)
		}
	}
	for i := range r.mirror.Operators {
		op := &r.mirror.Operators[i]
		if !found[i] && !r.isMissing(func(m *plan.Missing) bool { return m.Kind == plan.CatalogImage && same(m.Source, op.Catalog) }) {
			r.lack(op.Pos, "the catalog %s", op.Catalog)
		}
	}
}

// packages removes what an entry does not select of a catalog.
func (r *remainder) packages(at *plan.Catalog, op *imageset.Operator) {
	if len(op.Packages) == 0 {
		return
	}
	made, err := imageset.ParseOperator(at.Selection)
	if err != nil {
		made = imageset.Operator{} // of a later version
	}
	for i := range at.Packages {
		p := &at.Packages[i]
		want, was := entryFor(op, p.Name), entryFor(&made, p.Name)
		if want == nil && was == nil && len(made.Packages) > 0 || want != nil && isSameEntry(want, was) {
			continue
		}
		if kept := r.removeBundles(at, p, want); want != nil && kept == 0 {
			r.lack(want.Pos, "what is selected of the package %s of %s", want.Name, op.Catalog)
		}
	}
	for i := range op.Packages {
		want := &op.Packages[i]
		has := slices.ContainsFunc(at.Packages, func(p plan.Package) bool { return p.Name == want.Name }) ||
			slices.ContainsFunc(at.Excluded, func(x plan.Excluded) bool { return x.Package == want.Name }) ||
			slices.ContainsFunc(at.TooYoung, func(y plan.YoungBundle) bool { return y.Package == want.Name })
		if !has {
			r.lack(want.Pos, "the package %s of %s", want.Name, op.Catalog)
		}
	}
}

// entryFor returns the entry for a package, or nil.
func entryFor(op *imageset.Operator, name string) *imageset.Package {
	i := slices.IndexFunc(op.Packages, func(p imageset.Package) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &op.Packages[i]
}

// isSameEntry reports whether two entries for a package have the same text.
func isSameEntry(a, b *imageset.Package) bool {
	if b == nil {
		return false
	}
	text := func(p *imageset.Package) []byte {
		out, _ := imageset.Operator{Packages: []imageset.Package{*p}}.MarshalJSON() // it has no error
		return out
	}
	return bytes.Equal(text(a), text(b))
}

// removeBundles removes the bundles of a package that an entry does not select, all if it is nil. It returns how many it
// selects.
func (r *remainder) removeBundles(at *plan.Catalog, p *plan.Package, want *imageset.Package) (kept int) {
	for name := range bundlesOf(p) {
		if want != nil && channelsOf(p, name, want) > 0 {
			kept++
			continue
		}
		r.drop.Bundles[Bundle{at.Name(), p.Name, name}], r.drops = true, true
	}
	return kept
}

func (r *remainder) images() {
	matches := func(source string, img *imageset.Image) bool {
		if img.Tags == nil {
			return same(source, img.Name)
		}
		of, err := reference.Parse(source)
		return err == nil && same(of.Name(), img.Name)
	}
	found := make([]bool, len(r.mirror.AdditionalImages))
	for i := range r.plan.Images {
		img := &r.plan.Images[i]
		if !slices.ContainsFunc(img.Reasons, func(why plan.Reason) bool { return why.List == "additionalImages" }) {
			continue
		}
		wanted := false
		for j := range r.mirror.AdditionalImages {
			if matches(img.Source, &r.mirror.AdditionalImages[j]) {
				wanted, found[j] = true, true
			}
		}
		if !wanted {
			r.remove(r.drop.Images, img.Source)
		}
	}
	for j := range r.mirror.AdditionalImages {
		img := &r.mirror.AdditionalImages[j]
		_, blocks := r.blocks(img.Name, "")
		blocked := slices.ContainsFunc(r.plan.Blocked, func(b plan.Blocked) bool { return matches(b.Source, img) })
		if !found[j] && !blocked && !blocks && img.Tags == nil && !r.isMissing(func(m *plan.Missing) bool { return matches(m.Source, img) }) {
			r.lack(img.Pos, "the image %s", img.Name)
		}
	}
}

// blocked removes images that something still selects and blockedImages matches.
func (r *remainder) blocked() {
	for i := range r.plan.Images {
		img := &r.plan.Images[i]
		r.block(img, img.Repository)
	}
	for _, m := range r.plan.Missing {
		r.block(&plan.Image{Source: m.Source, Kind: m.Kind, Reasons: m.Reasons}, "")
	}
}

func (r *remainder) block(img *plan.Image, repository string) {
	pattern, ok := r.blocks(img.Source, repository)
	rest := elements.Filter(img.Reasons, func(why plan.Reason) bool { return !r.drop.Selects(img, &why) })
	if !ok || len(rest) == 0 || !canBeBlocked(img) {
		return
	}
	r.drop.Blocked[BlockedImage{img.Kind, img.Source}], r.drops = plan.Blocked{Source: img.Source, Pattern: pattern, Reasons: rest}, true
}

// canBeBlocked reports whether blockedImages applies to an image: not to those whose content the plan describes, nor to the
// signatures of releases.
func canBeBlocked(img *plan.Image) bool {
	switch img.Kind {
	case plan.CatalogImage, plan.ReleaseImage, plan.GraphImage, plan.ChartImage, plan.FileImage:
		return false
	case plan.SignatureImage:
		return !slices.ContainsFunc(img.Reasons, func(why plan.Reason) bool { return why.Release != "" })
	}
	return true
}

// blocks returns the pattern of blockedImages that matches an image.
func (r *remainder) blocks(source, repository string) (pattern string, ok bool) {
	return imageset.BlockedBy(r.mirror.BlockedImages, strings.TrimPrefix(source, "oci://"), repository)
}

func (r *remainder) charts() {
	s := &Selector{delete: r.mirror}
	kept := s.charts(r.plan)
	for i := range r.plan.Charts {
		c := &r.plan.Charts[i]
		hasLocal := r.mirror.Helm != nil && len(r.mirror.Helm.Local) > 0
		if isLocal := !strings.Contains(c.Origin, "://"); !kept[c.String()] && (!isLocal || !hasLocal) {
			r.remove(r.drop.Charts, c.String())
		}
	}
	if r.isMissing(func(m *plan.Missing) bool { return m.Kind == plan.ChartImage }) {
		return
	}
	for _, e := range s.entries {
		isLocal := r.mirror.Helm != nil && slices.ContainsFunc(r.mirror.Helm.Local, func(c imageset.Chart) bool { return c.Pos == e.pos })
		if !e.found && !isLocal {
			r.lack(e.pos, "%s", e.text)
		}
	}
}
