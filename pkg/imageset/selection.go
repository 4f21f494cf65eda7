package imageset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// These checks reject contradictions in mirror.operators[]. A package or its channels have a range,
// never both. Listed bundles are the whole selection of a package, so they exclude ranges, channels
// and `full`.

func checkOperator(r *reader, path string, o *Operator) {
	o.Platforms = checkPlatforms(r, path, o.Platforms)
	checkPlatformsMode(r, path, o.PlatformsMode, o.Platforms)
	checkIdentifier(r, join(path, "catalog"), o.Catalog)
	readHeadsOnly(r, path, o)
	readFull(r, path, o)
	o.Packages = distinct(r, join(path, "packages"), o.Packages, packageObject, "merge the two entries",
		func(p *Package) (string, Position) { return p.Name, p.Pos })
	readTargetName(r, path, o)
}

// checkInstalledPackages reports an installed operator whose package is not selected, because
// nothing would be kept for it. It is not called if an entry has dependencies set, which may select
// packages that are not listed. For that reason ParseOperator does not call it for the selections
// in plans either.
func checkInstalledPackages(r *reader, path string, o *Operator) {
	names := elements.Map(o.Packages, func(p Package) string { return p.Name })
	for i, in := range o.Installed {
		if len(names) == 0 || in.Package == "" || slices.Contains(names, in.Package) || slices.Contains(names, "") {
			continue
		}
		hint := cmp.Or(suggest.Phrase(in.Package, names), "add it to packages, or remove it from installed")
		r.fault(fmt.Sprintf("%s[%d].package", join(path, "installed"), i), quote(in.Package)+" is not among the selected packages", hint)
	}
}

func checkInstalled(r *reader, path string, i *Installed) {
	_, wrong := r.at[join(path, "version")] // reported already
	if i.Bundle == "" && i.Version == "" && !wrong {
		r.fault(path, "neither bundle nor version is set", "set bundle to the name of the ClusterServiceVersion")
	}
}

// rangeField returns the path of the first end of the range that is set, or "".
func rangeField(path string, v Range) string {
	switch {
	case v.Min != "":
		return join(path, "minVersion")
	case v.Max != "":
		return join(path, "maxVersion")
	}
	return ""
}

func checkPackage(r *reader, path string, p *Package) {
	checkRange(r, path, p.Range)
	outer := rangeField(path, p.Range)
	for i, c := range p.Channels {
		inner := rangeField(fmt.Sprintf("%s.channels[%d]", path, i), c.Range)
		if outer != "" && inner != "" {
			r.fault(inner, fmt.Sprintf("a version range cannot be set on both a channel and its package%s", atLine(r.at[outer].Line)),
				"remove one of them, or set a range on each channel")
		}
	}
	if len(p.Bundles) > 0 {
		at := join(path, "bundles")
		if outer != "" {
			r.fault(at, "bundles cannot be combined with a version range: only the listed bundles are kept", "remove one of the two")
		}
		if len(p.Channels) > 0 {
			r.fault(at, "bundles cannot be combined with channels: a bundle is kept in every channel that has it", "remove one of the two")
		}
	}
	checkDefaultChannel(r, path, p)
	p.Channels = distinct(r, join(path, "channels"), p.Channels, channelObject, "merge the two entries",
		func(c *Channel) (string, Position) { return c.Name, c.Pos })
	p.Bundles = distinct(r, join(path, "bundles"), p.Bundles, bundleObject, "remove one of the two",
		func(b *Bundle) (string, Position) { return b.Name, b.Pos })
}

// checkDefaultChannel reports a default channel that is not among the listed channels. The catalog
// then does not have that channel.
func checkDefaultChannel(r *reader, path string, p *Package) {
	names := elements.Map(p.Channels, func(c Channel) string { return c.Name })
	if p.DefaultChannel == "" || len(names) == 0 || slices.Contains(names, "") || slices.Contains(names, p.DefaultChannel) {
		return
	}
	hint := cmp.Or(suggest.Phrase(p.DefaultChannel, names), "add it to channels, or name one of them")
	r.unusable(join(path, "defaultChannel"), quote(p.DefaultChannel)+" is not among the listed channels, and no others are kept", hint)
}

func checkMirror(r *reader, path string, m *Mirror) {
	for _, name := range []string{"platform", "operators", "additionalImages"} {
		if p, ok := r.at[join(path, name)]; ok && isNull(p.value) {
			r.warn(join(path, name), "is empty and selects nothing", r.drop(join(path, name)))
		}
	}
	// After an error, the selection may be empty because of that error.
	if len(r.problems) == 0 && m.Platform != nil && m.Platform.selectsNothing() {
		r.warn(join(path, "platform"), "selects nothing to mirror: it has no channels, no release and no `graph: true`", r.drop(join(path, "platform")))
		m.Platform = nil
	}
	if len(r.problems) == 0 && m.Platform == nil && len(m.Operators)+len(m.AdditionalImages) == 0 && m.Helm.SelectsNothing() && len(m.Files) == 0 {
		r.unusable(path, "there is nothing to mirror", "add operators, additionalImages, helm, platform or files")
	}
	if len(r.problems) == 0 && m.Platform == nil && len(m.Samples) > 0 {
		r.warn(join(path, "samples"), "has no effect without platform releases, which contain the samples operator", r.drop(join(path, "samples")))
		m.Samples = nil
	}
	checkFiles(r, join(path, "files"), m.Files)
	operators, images := join(path, "operators"), join(path, "additionalImages")
	if !slices.ContainsFunc(m.Operators, func(o Operator) bool { return o.Dependencies }) {
		for i := range m.Operators {
			checkInstalledPackages(r, fmt.Sprintf("%s[%d]", operators, i), &m.Operators[i])
		}
	}
	checkTargets(r, operators, images, m)
}
