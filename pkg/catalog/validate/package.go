package validate

import (
	"regexp"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// dnsLabel is the syntax of a package name (RFC 1123, lower case).
var dnsLabel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`) })

// pkg checks a package and everything in it.
func (r *report) pkg(p *catalog.Package) {
	if len(p.Metas) == 0 {
		r.unowned(p)
		return
	}
	first := p.Metas[0]
	switch {
	case p.Name == "":
		for _, m := range p.Metas {
			r.add(PackageName, m, "an olm.package has no name")
		}
		r.unowned(p)
		return
	case !dnsLabel().MatchString(p.Name):
		r.add(PackageName, first, "package %q: the name must have at most 63 lower-case letters, digits and inner dashes", p.Name)
	}
	for _, m := range p.Metas[1:] {
		r.add(PackageDuplicate, m, "package %q is a duplicate; the first is at %s:%d", p.Name, first.File, first.Line)
	}

	channels := r.channels(p)
	r.bundles(p)
	r.deprecations(p, channels)

	switch {
	case len(p.Channels) == 0:
		r.add(PackageChannels, first, "package %q has no channel", p.Name)
	case p.DefaultChannel == "":
		r.add(DefaultChannel, first, "package %q has no default channel", p.Name)
	case !channels[p.DefaultChannel]:
		r.add(DefaultChannel, first, "package %q: the default channel %q is not one of its channels", p.Name, p.DefaultChannel)
	}
}

// unowned reports the objects whose package has no olm.package.
func (r *report) unowned(p *catalog.Package) {
	for _, c := range p.Channels {
		r.addUnowned(c.Meta, "channel", c.Name, p.Name)
	}
	for _, b := range p.Bundles {
		r.addUnowned(b.Meta, "bundle", b.Name, p.Name)
	}
	for _, d := range p.Deprecations {
		r.addUnowned(d.Meta, "deprecations", "", p.Name)
	}
}

func (r *report) addUnowned(m *catalog.Meta, kind, name, pkg string) {
	what := kind
	if name != "" {
		what += " \"" + name + "\""
	}
	if pkg == "" {
		r.add(PackageUnknown, m, "%s names no package", what)
		return
	}
	r.add(PackageUnknown, m, "%s names package %q, which has no olm.package", what, pkg)
}
