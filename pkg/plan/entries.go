package plan

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// checkFields returns an error if a field of the plan or of an entry has a value that no plan has.
// Read checks each entry when it was read.
func (p *Plan) checkFields() error {
	return cmp.Or(p.checkKind(), p.checkVersion(), p.checkName(), p.checkArchiveSize(), p.checkFormat(), p.GraphData.check(), p.checkPolicy(),
		checkAll(p.Catalogs, (*Catalog).check), checkAll(p.Releases, (*Release).check), checkAll(p.Updates, checkUpdate),
		checkAll(p.UpdateGraphs, (*UpdateGraph).check), checkAll(p.TagRules, (*TagRule).check), checkAll(p.Charts, (*Chart).check), checkAll(p.Files, (*File).check),
		checkAll(p.Images, (*Image).check), checkAll(p.Missing, (*Missing).check),
		checkAll(p.Blocked, (*Blocked).check), checkAll(p.Notes, checkNote), checkAll(p.Manifests, (*Manifest).check), checkAll(p.Blobs, (*Blob).check))
}

func checkAll[T any](list []T, check func(*T) error) error {
	for i := range list {
		if err := check(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxName is the maximum length of the name of a plan, in bytes.
const maxName = 255

// isName reports whether s can be the name of a plan. It names files in the workspace.
func isName(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	return s != "" && len(s) <= maxName && strings.IndexByte(letters, s[0]) >= 0 && strings.Trim(s, letters+".-") == ""
}

func (p *Plan) checkName() error {
	if !isName(p.Name) {
		return fmt.Errorf("its name %s is not the name of a configuration", quoted(p.Name))
	}
	return nil
}

// maxArchiveSize is the maximum of ArchiveSize, in GiB.
const maxArchiveSize = 1 << 30

func (p *Plan) checkArchiveSize() error {
	if p.ArchiveSize < 0 || p.ArchiveSize > maxArchiveSize {
		return fmt.Errorf("its archiveSize is %d", p.ArchiveSize)
	}
	return nil
}

// checkPolicy returns an error unless the signature policy is identified by a digest.
func (p *Plan) checkPolicy() error {
	if p.SignaturePolicy == "" {
		return nil
	}
	return checkDigest("the digest of the signature policy", p.SignaturePolicy)
}

// maxSigners is more signers than a policy can demand of an image.
const maxSigners = 64

func checkSigners(all []Signer) error {
	if len(all) > maxSigners {
		return fmt.Errorf("it has %d signers", len(all))
	}
	for _, s := range all {
		if err := checkTexts("the type of a signer", s.Type, "the name of a signer", s.Name); err != nil {
			return err
		}
	}
	return nil
}

func checkNote(note *string) error { return checkLines("a note", *note) }

func checkKind(k ImageKind) error {
	if k.Rank() < 0 {
		return fmt.Errorf("%s is not a kind of images", quoted(k))
	}
	return nil
}

func checkReasons(all []Reason) error {
	for i := range all {
		b := &all[i]
		if err := checkTexts("the catalog of a reason", b.Catalog, "the package of a reason", b.Package, "the bundle of a reason", b.Bundle,
			"the name of a reason", b.Name, "the list of a reason", b.List, "the rule of a reason", b.Rule, "the release of a reason", b.Release, "the chart of a reason", b.Chart); err != nil {
			return err
		}
	}
	return nil
}

// in adds to the first error which entry of the plan has the wrong field.
func in[S ~string](what string, name S, errs ...error) error {
	if err := cmp.Or(errs...); err != nil {
		return fmt.Errorf("%s %s: %w", what, nameOf(name), err)
	}
	return nil
}

func (img *Image) check() error {
	want := img.Digest
	switch img.Kind {
	case CatalogImage, GraphImage, ChartImage, FileImage, AdditionalImage: // they are built, or were before OnlyImages
		want = ""
	}
	if img.RewrittenFrom != "" {
		want = img.RewrittenFrom
	}
	if err := cmp.Or(img.checkSubject(), img.checkRewritten()); err != nil {
		return in("image", img.Source, err)
	}
	for _, tag := range img.Tags {
		if err := checkTarget(img.Repository, tag); err != nil {
			return in("image", img.Source, err)
		}
	}
	return in("image", img.Source, checkDigest("the digest", img.Digest), img.checkSource(want), checkKind(img.Kind),
		checkTexts("the catalog", img.Catalog, "the artifact type", img.ArtifactType, "the predicate type", img.PredicateType), checkReasons(img.Reasons), checkSigners(img.Signers), CheckSignatures(img.Signatures))
}

func (m *Missing) check() error {
	return in("missing image", m.Source, checkText("the source", m.Source), checkKind(m.Kind), checkLines("the reason", m.Message), checkReasons(m.Reasons))
}

func (b *Blocked) check() error {
	return in("blocked image", b.Source, checkTexts("the source", b.Source, "the pattern", b.Pattern), checkReasons(b.Reasons))
}

func (u *UpdateGraph) check() error {
	return in("update graph", u.URL, checkText("the URL", u.URL), checkDigest("the digest", u.SHA256))
}

func (g *GraphData) check() error {
	if g == nil {
		return nil
	}
	errs := []error{
		checkText("the source", g.Source), checkDigest("the digest of the data", g.SHA256), checkDigest("the digest", g.Digest),
		checkReference("the base", g.Base, ""), checkTarget(g.Repository, g.Tag),
	}
	for _, base := range g.MoreBases {
		errs = append(errs, checkReference("a base", base, ""))
	}
	return in("graph data", g.Source, errs...)
}

func (r *Release) check() error {
	errs := []error{
		checkTexts("the product", string(r.Product), "the URL", r.URL), checkDigest("the digest", r.Digest), checkReference("the source", r.Source, r.Digest),
		checkArch(r.Arch), checkTarget(r.Repository, r.Tag), checkVersion(r.Version),
	}
	for _, why := range r.Reasons {
		errs = append(errs, checkText("a reason", why.Reason), checkChannel(why.Channel))
	}
	for i := range r.Signatures {
		errs = append(errs, checkSignature(&r.Signatures[i]))
	}
	for _, t := range r.Tools {
		errs = append(errs, t.check())
	}
	for _, iso := range r.LiveISOs {
		errs = append(errs, checkArch(iso.Arch), fileartifact.CheckName(iso.File), checkText("the version of a boot image", iso.Build))
	}
	return in("release", r.Name(), errs...)
}

// maxToolName is the maximum length of the name of a file.
const maxToolName = 255

// check accepts tools that this version does not know. A name without folders is safe as the name of
// a file.
func (t *Tool) check() error {
	if t.File == "" || len(t.File) > maxToolName || strings.Trim(t.File, ".") == "" || strings.ContainsAny(t.File, `/\:`) {
		return fmt.Errorf("the tool %s has %s as the name of its file", nameOf(t.Name), quoted(t.File))
	}
	return checkTexts("the name of a tool", t.Name, "the platform of a tool", t.Platform, "the file of a tool", t.File)
}

func checkArch(a release.Arch) error {
	if _, err := release.ParseArch(string(a)); err != nil {
		return fmt.Errorf("%s is not an architecture", quoted(a))
	}
	return nil
}

// checkVersion returns an error unless v is the version of a release, which is a part of a tag.
func checkVersion(v string) error {
	if !reference.IsTag(v) || v[0] < '0' || v[0] > '9' {
		return fmt.Errorf("%s is not a version", quoted(v))
	}
	return nil
}

func checkChannel(name string) error {
	if name != "" && !release.IsChannel(name) {
		return fmt.Errorf("%s is not a channel", quoted(name))
	}
	return nil
}

func checkUpdate(u *UpdatePath) error {
	errs := []error{checkText("the product", u.Product), checkArch(u.Arch), checkChannel(u.Channel), checkVersion(u.From), checkVersion(u.To)}
	for _, h := range u.Hops {
		errs = append(errs, checkVersion(h.From), checkVersion(h.To))
		for _, r := range h.Risks {
			errs = append(errs, checkTexts("the name of a risk", r.Name, "the URL of a risk", r.URL), checkLines("a risk", r.Message))
			for _, rule := range r.Rules {
				errs = append(errs, checkText("the type of a rule", rule.Type), checkLines("a rule", rule.PromQL))
			}
		}
		for _, a := range h.Acks {
			errs = append(errs, checkText("the name of a gate", a.Name), checkLines("a gate", a.Message))
		}
		for _, b := range h.Blockers {
			errs = append(errs, checkTexts("the catalog of an operator", b.Catalog, "the package of an operator", b.Package, "a bundle", b.Bundle, "a version", b.Max))
		}
	}
	return in("update to", u.To, errs...)
}

func (m *Manifest) check() error {
	return in("manifest", m.Digest, checkDigest("the digest", m.Digest), m.checkContent())
}

func (b *Blob) check() error {
	return in("blob", b.Digest, checkDigest("the digest", b.Digest), CheckSize(b.Digest, b.Size))
}

func (c *Catalog) check() error {
	errs := []error{
		checkSource("the source", c.Source, ""), checkDigest("the digest", c.Digest), checkTarget(c.Repository, c.Tag), checkTexts("the target", c.Target, "the template name", c.TemplateName, "the catalog it is a variant of", c.VariantOf),
		checkObject("the selection", c.Selection), checkPlain("the template", c.Template, maxValue, true),
		checkPlain("the template of the ClusterCatalog", c.ClusterCatalogTemplate, maxValue, true),
		checkText("the name of the template of the ClusterCatalog", c.ClusterCatalogTemplateName),
	}
	if c.SourceDigest != "" {
		errs = append(errs, checkDigest("the digest of the source", c.SourceDigest))
	}
	if c.ConfigsDir != "" && (!path.IsAbs(c.ConfigsDir) || path.Clean(c.ConfigsDir) != c.ConfigsDir) {
		errs = append(errs, fmt.Errorf("%s is not the folder of a catalog", quoted(c.ConfigsDir)))
	}
	errs = append(errs, checkText("the folder", c.ConfigsDir), c.checkUnlisted(), c.checkFeatures())
	for _, p := range c.Packages {
		errs = append(errs, p.check())
	}
	for _, r := range c.Required {
		errs = append(errs, checkTexts("a package", r.Package, "a channel", r.Channel, "a bundle", r.Bundle, "a reason", r.For))
	}
	for _, y := range c.TooYoung {
		errs = append(errs, checkTexts("a package", y.Package, "a bundle", y.Bundle, "a day", y.Created))
	}
	for _, x := range c.Excluded {
		errs = append(errs, checkText("a package", x.Package))
		for _, source := range x.Images {
			errs = append(errs, checkText("an image", source))
		}
	}
	return in("catalog", c.Source, errs...)
}

func (p *Package) check() error {
	if err := checkTexts("the name of a package", p.Name, "a default channel", p.DefaultChannel); err != nil {
		return err
	}
	for _, c := range p.Channels {
		if err := checkTexts("the name of a channel", c.Name, "the head of a channel", c.Head); err != nil {
			return err
		}
		for _, b := range c.Bundles {
			if err := checkTexts("the name of a bundle", b.Name, "the version of a bundle", b.Version, "the reason of a bundle", b.Reason, "the reason of a bundle", b.For); err != nil {
				return err
			}
		}
	}
	return nil
}
