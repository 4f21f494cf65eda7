package listing

import (
	"context"
	"slices"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A CatalogListing lists packages of a catalog. Only the listing of one package has bundles and
// deprecations. Its JSON is what gantry catalog list --output json prints.
type CatalogListing struct {
	Version  int              `json:"version"`
	Catalog  string           `json:"catalog"`
	Packages []ListedOperator `json:"packages"`
}

// A ListedOperator is a package of a catalog.
type ListedOperator struct {
	Name string `json:"name"`
	// DisplayName is what the newest bundle is called for people; "" if the catalog does not say so, or if
	// bundles were not read.
	DisplayName    string            `json:"displayName,omitempty"`
	DefaultChannel string            `json:"defaultChannel"`
	Deprecated     string            `json:"deprecated,omitempty"` // the message of its publisher
	Channels       []OperatorChannel `json:"channels"`
}

// An OperatorChannel is a channel of a package.
type OperatorChannel struct {
	Name       string `json:"name"`
	Head       string `json:"head"`
	Version    string `json:"version"` // of the head
	Deprecated string `json:"deprecated,omitempty"`
	// Features are what the head declares; nil if it declares nothing, or if bundles were not read.
	Features *excerpt.Features `json:"features,omitempty"`
	Bundles  []OperatorBundle  `json:"bundles,omitempty"`
}

// An OperatorBundle is a bundle of a channel.
type OperatorBundle struct {
	Name       string            `json:"name"`
	Version    string            `json:"version"`
	Deprecated string            `json:"deprecated,omitempty"`
	Features   *excerpt.Features `json:"features,omitempty"`
}

// ListPackages lists the packages of a catalog, or the bundles of one of them.
func ListPackages(ctx context.Context, o PackagesOptions) (*CatalogListing, error) {
	var mu sync.Mutex
	known := map[*catalog.Bundle]declared{}
	packages, err := o.packages(ctx, func(b *catalog.Bundle) {
		d := declaredBy(b)
		mu.Lock()
		defer mu.Unlock()
		known[b] = d
	})
	if err != nil {
		return nil, err
	}
	read := declaredBy
	if len(known) > 0 { // the text of bundles is gone
		read = func(b *catalog.Bundle) declared { return known[b] }
	}
	return newCatalogListing(o.Catalog, packages, o.Package != "", o.Channel, read), nil
}

// declared is what a bundle says about itself.
type declared struct {
	features    *excerpt.Features
	displayName string
}

// declaredBy reads what a bundle, which may be nil, says about itself.
func declaredBy(b *catalog.Bundle) declared { return declared{FeaturesOf(b), excerpt.DisplayName(b)} }

// newCatalogListing lists packages of a catalog, with or without their bundles. If channel is not
// empty, other channels are left out. read returns what a bundle declares; it may be called with nil.
func newCatalogListing(catalogName string, packages []*catalog.Package, bundles bool, channel string, read func(*catalog.Bundle) declared) *CatalogListing {
	l := &CatalogListing{Version: 1, Catalog: catalogName, Packages: []ListedOperator{}}
	for _, p := range packages {
		listed := listPackage(p, bundles, read)
		if channel != "" {
			listed.Channels = slices.DeleteFunc(listed.Channels, func(c OperatorChannel) bool { return c.Name != channel })
		}
		l.Packages = append(l.Packages, listed)
	}
	return l
}

// listPackage lists a package, with or without its bundles, newest first.
func listPackage(p *catalog.Package, bundles bool, read func(*catalog.Bundle) declared) ListedOperator {
	deprecated := deprecationsOf(p)
	l := ListedOperator{Name: p.Name, DisplayName: read(newestBundle(p)).displayName, DefaultChannel: p.DefaultChannel, Deprecated: deprecated[catalog.SchemaPackage+"/"], Channels: []OperatorChannel{}}
	for _, c := range p.Channels {
		ch := OperatorChannel{Name: c.Name, Deprecated: deprecated[catalog.SchemaChannel+"/"+c.Name]}
		if heads := graph.Inspect(c.Entries).Heads; len(heads) > 0 {
			ch.Head = heads[0]
			ch.Version = versionOf(p, ch.Head)
			ch.Features = read(p.Bundle(ch.Head)).features
		}
		if bundles {
			entries := slices.Clone(c.Entries)
			elements.Sort(entries, func(x, y catalog.Entry) int { return compareBundles(p.Bundle(y.Name), p.Bundle(x.Name)) })
			for _, e := range entries {
				ch.Bundles = append(ch.Bundles, OperatorBundle{e.Name, versionOf(p, e.Name), deprecated[catalog.SchemaBundle+"/"+e.Name], read(p.Bundle(e.Name)).features})
			}
		}
		l.Channels = append(l.Channels, ch)
	}
	return l
}

// deprecationsOf returns the messages of what is deprecated in a package, by schema, a slash and the name.
func deprecationsOf(p *catalog.Package) map[string]string {
	all := map[string]string{}
	for _, d := range p.Deprecations {
		for _, e := range d.Entries {
			all[e.Schema+"/"+e.Name] = e.Message
		}
	}
	return all
}

// newestBundle returns the bundle with the highest version, or nil if there is none.
func newestBundle(p *catalog.Package) *catalog.Bundle {
	if len(p.Bundles) == 0 {
		return nil
	}
	return slices.MaxFunc(p.Bundles, compareBundles)
}

// FeaturesOf returns the features that a bundle declares, or nil if there are none or it cannot be read.
func FeaturesOf(b *catalog.Bundle) *excerpt.Features {
	if b == nil {
		return nil
	}
	f, err := excerpt.DeclaredFeatures(b)
	if err != nil || len(f.Supported)+len(f.Unsupported) == 0 {
		return nil
	}
	return &f
}

// compareBundles orders bundles by version and release. Those without come first.
func compareBundles(a, b *catalog.Bundle) int {
	switch hasA, hasB := a != nil && a.VersionErr == nil, b != nil && b.VersionErr == nil; {
	case hasA && hasB:
		return catalog.NewVersionRelease(a.Version, a.Release).Compare(catalog.NewVersionRelease(b.Version, b.Release))
	case hasA:
		return 1
	case hasB:
		return -1
	}
	return 0
}

// versionOf returns a bundle's version with its release, or "" if it has none.
func versionOf(p *catalog.Package, name string) string {
	b := p.Bundle(name)
	switch {
	case b == nil || b.VersionErr != nil:
		return ""
	case b.Release != "":
		return b.Version.String() + "-" + b.Release
	}
	return b.Version.String()
}
