package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/draft"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// configFromPlans makes the configuration that selects the content of plans.
func configFromPlans(plans []*plan.Plan, o *DraftOptions) (*Draft, error) {
	if len(o.Catalogs) > 0 {
		return nil, env.InputHint("leave it out", "Options.Catalogs is for a mirror without a plan, and the plan names the catalogs")
	}
	d := &planDraft{pinned: o.Pinned, rules: map[string]bool{}, draft: &draft.Draft{Config: &imageset.Config{}, Comments: map[string]string{}}}
	for _, p := range plans {
		if err := d.add(p); err != nil {
			return nil, err
		}
	}
	m := &d.draft.Config.Mirror
	if m.Platform != nil {
		d.finishPlatform(m.Platform)
	}
	if len(m.Operators)+len(m.AdditionalImages) == 0 && m.Platform == nil && m.Helm.SelectsNothing() && len(m.Files) == 0 {
		return nil, advice.New(advice.Input, "name a mirror or an archive with content", "the plan selects nothing")
	}
	return writeDraft(d.draft)
}

// A planDraft collects the configuration of plans.
type planDraft struct {
	draft  *draft.Draft
	pinned bool
	rules  map[string]bool // the rules for tags that were added, by their text
}

func (d *planDraft) add(p *plan.Plan) error {
	cfg := d.draft.Config
	cfg.ArchiveSize = max(cfg.ArchiveSize, p.ArchiveSize)
	for _, c := range p.Catalogs {
		if err := d.catalog(c); err != nil {
			return err
		}
	}
	d.platform(p)
	if !d.pinned {
		if err := d.tagRules(p.TagRules); err != nil {
			return err
		}
	}
	for _, img := range p.Images {
		if slices.ContainsFunc(img.Reasons, func(r plan.Reason) bool {
			return r.List == "additionalImages" && (r.Rule == "" || d.pinned)
		}) {
			d.image(img)
		}
	}
	d.charts(p)
	d.files(p)
	for _, b := range p.Blocked {
		if !slices.ContainsFunc(cfg.Mirror.BlockedImages, func(have imageset.Blocked) bool { return have.Name == b.Pattern }) {
			cfg.Mirror.BlockedImages = append(cfg.Mirror.BlockedImages, imageset.Blocked{Name: b.Pattern})
		}
	}
	return nil
}

// catalog adds the entry that a catalog of a plan was made from, or one with its bundles.
func (d *planDraft) catalog(c plan.Catalog) error {
	op, err := imageset.ParseOperator(c.Selection)
	if err != nil {
		return fmt.Errorf("the selection of catalog %s in the plan: %w", c.Name(), err)
	}
	m := &d.draft.Config.Mirror
	if slices.ContainsFunc(m.Operators, func(have imageset.Operator) bool {
		return have.Catalog == op.Catalog && have.TargetCatalog == op.TargetCatalog && have.TargetTag == op.TargetTag
	}) {
		d.note("catalog %s is in several image sets: only the first selection is included", op.Catalog)
		return nil
	}
	at := fmt.Sprintf("mirror.operators[%d]", len(m.Operators))
	if d.pinned {
		d.draft.Comments[at] = "The mirrored catalog was made from " + c.SourceDigest.String()
		op.Full, op.Dependencies, op.Installed, op.Packages = false, false, nil, nil
		for _, p := range c.Packages {
			op.Packages = append(op.Packages, pinnedPackage(p))
		}
	}
	for _, x := range c.Excluded {
		d.note("package %s of catalog %s is not in the mirror", x.Package, c.Name())
	}
	m.Operators = append(m.Operators, op)
	return nil
}

// pinnedPackage selects the bundles of a package.
func pinnedPackage(p plan.Package) imageset.Package {
	out := imageset.Package{Name: p.Name}
	for _, c := range p.Channels {
		for _, b := range c.Bundles {
			if !slices.ContainsFunc(out.Bundles, func(have imageset.Bundle) bool { return have.Name == b.Name }) {
				out.Bundles = append(out.Bundles, imageset.Bundle{Name: b.Name})
			}
		}
	}
	return out
}

// note adds a sentence, once for all plans.
func (d *planDraft) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.draft.Notes, text) {
		d.draft.Notes = append(d.draft.Notes, text)
	}
}

// tagRules adds the entries that selected tags. They select again what the repositories have then.
func (d *planDraft) tagRules(rules []plan.TagRule) error {
	m := &d.draft.Config.Mirror
	for _, r := range rules {
		img, err := imageset.ParseImage(r.Selection)
		if err != nil {
			return fmt.Errorf("the rule for tags of %s in the plan: %w", r.Repository, err)
		}
		text := string(r.Selection)
		if !d.rules[text] {
			d.rules[text] = true
			m.AdditionalImages = append(m.AdditionalImages, img)
		}
	}
	return nil
}

// image adds an additional image, with its name in the mirror if the configuration changed that.
func (d *planDraft) image(img plan.Image) {
	m := &d.draft.Config.Mirror
	add := func(out imageset.Image) {
		if !slices.ContainsFunc(m.AdditionalImages, func(have imageset.Image) bool {
			return have.Name == out.Name && have.TargetRepo == out.TargetRepo && have.TargetTag == out.TargetTag
		}) {
			m.AdditionalImages = append(m.AdditionalImages, out)
		}
	}
	ref, err := reference.Parse(img.Source)
	if err != nil { // a folder
		add(imageset.Image{Name: img.Source, TargetRepo: img.Repository, TargetTag: firstTag(img.Tags)})
		return
	}
	out := imageset.Image{Name: img.Source}
	if d.pinned {
		out.Name = ref.WithTag("").WithDigest(img.Digest).String()
		if tag := firstTag(img.Tags); !plan.IsDigestTag(tag, img.Digest) {
			out.TargetTag = tag
		}
	} else if tag := firstTag(img.Tags); ref.Tag != "" && tag != ref.Tag {
		out.TargetTag = tag
	}
	if img.Repository != ref.Path {
		out.TargetRepo = img.Repository
	}
	add(out)
}

func firstTag(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return tags[0]
}

// platform adds the releases of a plan.
func (d *planDraft) platform(p *plan.Plan) {
	if len(p.Releases) == 0 && p.GraphData == nil {
		return
	}
	m := &d.draft.Config.Mirror
	m.Platform = cmp.Or(m.Platform, &imageset.Releases{})
	out := m.Platform
	out.Graph = out.Graph || p.GraphData != nil
	out.KubeVirtContainer = out.KubeVirtContainer || slices.ContainsFunc(p.Images, func(img plan.Image) bool { return img.Kind == plan.BootImage })
	for _, img := range p.Images {
		for _, why := range img.Reasons {
			if why.List != plan.ToolsList {
				continue
			}
			out.Tools = cmp.Or(out.Tools, &imageset.Tools{})
			if !slices.Contains(out.Tools.BootImages, why.Name) {
				out.Tools.BootImages = append(out.Tools.BootImages, why.Name)
			}
		}
	}
	for _, r := range p.Releases {
		if !slices.Contains(out.Architectures, r.Arch) {
			out.Architectures = append(out.Architectures, r.Arch)
		}
		out.Tools = draftTools(out.Tools, &r)
		for _, why := range r.Reasons {
			if why.Channel == "" {
				if out.Release != "" && out.Release != r.Source {
					d.note("release %s is not included: a configuration names one release", out.Release)
				}
				out.Release = r.Source
				continue
			}
			d.channel(out, r, why)
		}
	}
}

// draftTools adds the tools of a release to those of a configuration.
func draftTools(out *imageset.Tools, r *plan.Release) *imageset.Tools {
	for _, t := range r.Tools {
		out = cmp.Or(out, &imageset.Tools{})
		if !slices.Contains(out.Names, t.Name) {
			out.Names = append(out.Names, t.Name)
		}
		if !slices.Contains(out.Platforms, t.Platform) {
			out.Platforms = append(out.Platforms, t.Platform)
		}
	}
	return out
}

// finishPlatform makes the collected releases a valid selection.
func (d *planDraft) finishPlatform(out *imageset.Releases) {
	for i := range out.Channels {
		d.finish(&out.Channels[i])
	}
	if out.Release != "" && len(out.Channels) > 0 {
		d.note("release %s is not included: a configuration has either a release or channels", out.Release)
		out.Release = ""
	}
	if out.Release != "" || slices.Equal(out.Architectures, []release.Arch{release.DefaultArch}) {
		out.Architectures = nil
	}
}

// channel adds a release of a channel. Until finishPlatform, the range has all of its releases, and Full,
// ShortestPath and From say why they were selected.
func (d *planDraft) channel(out *imageset.Releases, r plan.Release, why plan.ReleaseReason) {
	product := r.Product
	if product == release.OCP {
		product = "" // the default
	}
	i := slices.IndexFunc(out.Channels, func(c imageset.ReleaseChannel) bool { return c.Name == why.Channel && c.Product == product })
	if i < 0 {
		i = len(out.Channels)
		out.Channels = append(out.Channels, imageset.ReleaseChannel{Name: why.Channel, Product: product})
	}
	c := &out.Channels[i]
	c.Range = draft.Widen(c.Range, r.Version)
	switch why.Reason {
	case "full":
		c.Full = true
	case "from":
		if v := (imageset.InstalledVersion{Version: r.Version}); !slices.Contains(c.From, v) {
			c.From = append(c.From, v)
		}
	case "path", "head":
		c.ShortestPath = true
	}
}

// finish makes the collected releases of a channel a valid selection.
func (d *planDraft) finish(c *imageset.ReleaseChannel) {
	switch {
	case len(c.From) > 0:
		c.Range.Min, c.Full, c.ShortestPath = "", false, false
	case c.Full:
		c.ShortestPath = false
	}
	if !d.pinned {
		c.Range.Max = ""
		if c.Full {
			c.Range = imageset.Range{}
		}
	}
	if d.pinned && c.Range.Min == c.Range.Max {
		c.ShortestPath = false
	}
	if strings.TrimSpace(c.Range.Min+c.Range.Max) == "" {
		c.ShortestPath = false
	}
}
