package listing

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/install"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// An API is an API that a bundle owns: a kind of custom resource in one version.
type API struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// String returns "Kind.group/version".
func (a API) String() string { return a.Kind + "." + a.Group + "/" + a.Version }

// An Answer says whether OLM v1 installs a bundle.
type Answer string

// The answers.
const (
	Yes      Answer = "yes"      // nothing is against it
	No       Answer = "no"       // every version of OLM v1 refuses it
	Depends  Answer = "depends"  // on the version of OLM v1, its feature gates or the ClusterExtension
	Probably Answer = "probably" // yes if it has no webhooks, which the catalog does not show; else Depends
	Unknown  Answer = "unknown"  // the catalog does not have the ClusterServiceVersion
)

// An Installable is the answer with its reasons; none if it is Yes.
type Installable struct {
	Install Answer `json:"install"`
	// Webhooks says whether the bundle defines webhooks: Yes, No or Unknown. Catalogs with olm.csv.metadata do not say it;
	// those with olm.bundle.object and the image of the bundle do.
	Webhooks Answer              `json:"webhooks"`
	Reasons  []extension.Refusal `json:"reasons,omitempty"`
}

// answered returns the answer for a bundle with these refusals. complete says whether webhooks were visible.
func answered(complete bool, refusals []extension.Refusal) Installable {
	i := Installable{Yes, No, refusals}
	switch {
	case slices.ContainsFunc(refusals, func(r extension.Refusal) bool { return r.Reason == extension.Webhook }):
		i.Webhooks = Yes
	case !complete:
		i.Webhooks = Unknown
		if !slices.ContainsFunc(refusals, func(r extension.Refusal) bool { return r.Certain() || r.Reason == extension.NoExcerpt }) {
			i.Reasons = append(slices.Clip(refusals), extension.HiddenWebhooks())
		}
	}
	for _, r := range i.Reasons {
		switch {
		case r.Certain():
			i.Install = No
		case i.Install == No:
		case r.Reason == extension.NoExcerpt:
			i.Install = Unknown
		case r.Reason != extension.UnknownWebhook:
			i.Install = Depends
		case i.Install == Yes:
			i.Install = Probably
		}
	}
	return i
}

// BundleFacts are what a catalog says about a bundle.
type BundleFacts struct {
	DisplayName string `json:"displayName,omitempty"`
	// InstallModes are the supported ones, such as AllNamespaces, sorted.
	InstallModes []string          `json:"installModes,omitempty"`
	OLMv1        Installable       `json:"olmV1"`
	APIs         []API             `json:"apis,omitempty"`
	Features     *excerpt.Features `json:"features,omitempty"`
}

// factsOf reads what a bundle says about itself.
func factsOf(b *catalog.Bundle) BundleFacts {
	x, _ := excerpt.Of(b) // of an error, OLMv1 has the reason
	f := BundleFacts{DisplayName: excerpt.DisplayName(b), OLMv1: answered(x.Complete, extension.Refusals(b)), Features: FeaturesOf(b), InstallModes: x.InstallModes}
	for _, p := range b.Properties {
		var a API
		if p.Type == "olm.gvk" && json.Unmarshal(p.Value, &a) == nil {
			f.APIs = append(f.APIs, a)
		}
	}
	elements.Sort(f.APIs, func(a, b API) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	f.APIs = slices.Compact(f.APIs)
	return f
}

// NeedsImage reports whether the image of a bundle says more about OLM v1 than its catalog.
func (f *BundleFacts) NeedsImage() bool { return f.OLMv1.Webhooks == Unknown && f.OLMv1.Install != No }

// UseImage answers again, from what the image of the bundle has. Like OLM v1, it takes dependencies from the catalog, and
// all else from the manifests.
func (f *BundleFacts) UseImage(b *catalog.Bundle) error {
	x, err := excerpt.Of(b)
	if err != nil {
		return err
	}
	manifests, err := install.Read(b)
	if err != nil {
		return err
	}
	isDependency := func(r extension.Refusal) bool { return r.Reason == extension.Dependency }
	reasons := slices.DeleteFunc(slices.Clone(f.OLMv1.Reasons), func(r extension.Refusal) bool { return !isDependency(r) })
	reasons = append(reasons, slices.DeleteFunc(extension.Refusals(b), isDependency)...)
	if fault := manifests.Fault(); fault != "" {
		reasons = append(reasons, extension.Refusal{Reason: extension.InvalidBundle, Message: "is invalid: " + fault})
	}
	f.OLMv1, f.InstallModes = answered(true, slices.Clip(reasons)), x.InstallModes
	return nil
}

// A CatalogBundle is a bundle of a catalog.
type CatalogBundle struct {
	Catalog string `json:"catalog"`
	Package string `json:"package"`
	Name    string `json:"name"`
	Version string `json:"version"` // with its release, if any
	// Channels are those that have the bundle, and HeadOf those that it is the head of.
	Channels   []string `json:"channels"`
	HeadOf     []string `json:"headOf,omitempty"`
	Deprecated string   `json:"deprecated,omitempty"` // the message of its publisher
	BundleFacts
	// Images are the image of the bundle and those that it lists, without duplicates.
	Images []string `json:"images"`
}

// A CatalogChannel is a channel of a package.
type CatalogChannel struct {
	Catalog    string `json:"catalog"`
	Package    string `json:"package"`
	Name       string `json:"name"`
	Default    bool   `json:"default,omitempty"`
	Deprecated string `json:"deprecated,omitempty"`
	Head       string `json:"head"` // the name of a bundle, "" if the channel has none
	// Bundles are the names of its bundles, newest first, and Versions their versions.
	Bundles  []string `json:"bundles"`
	Versions []string `json:"versions"`
}

// A CatalogPackage is a package of a catalog, with its bundles, newest first.
type CatalogPackage struct {
	Catalog        string
	Name           string
	DisplayName    string
	DefaultChannel string
	Deprecated     string
	Channels       []CatalogChannel
	Bundles        []CatalogBundle
	// V1 is the name of the bundle that OLM v1 prefers without a channel and a version; "" if there is none.
	V1 string
}

// Bundle returns the bundle with a name, or nil.
func (p *CatalogPackage) Bundle(name string) *CatalogBundle {
	if i := slices.IndexFunc(p.Bundles, func(b CatalogBundle) bool { return b.Name == name }); i >= 0 {
		return &p.Bundles[i]
	}
	return nil
}

// DefaultHead returns the head of the default channel, or nil.
func (p *CatalogPackage) DefaultHead() *CatalogBundle {
	for i := range p.Channels {
		if p.Channels[i].Default {
			return p.Bundle(p.Channels[i].Head)
		}
	}
	return nil
}

// A ReadFunc reads a catalog.
type ReadFunc func(context.Context, catalog.Options) (*catalog.Catalog, error)

// ReadFacts reads the packages of the catalog with a name that keep selects, and returns the names of all. The text of
// bundles is not kept.
func ReadFacts(ctx context.Context, name string, read ReadFunc, keep func(pkg string) bool) (all []CatalogPackage, names []string, err error) {
	var mu sync.Mutex
	known := map[*catalog.Bundle]BundleFacts{}
	c, err := read(ctx, catalog.Options{Keep: keep, DropText: func(b *catalog.Bundle) {
		f := factsOf(b)
		mu.Lock()
		defer mu.Unlock()
		known[b] = f
	}})
	if err != nil {
		return nil, nil, err
	}
	for _, p := range c.Packages {
		all = append(all, catalogPackage(name, p, func(b *catalog.Bundle) BundleFacts { return known[b] }))
	}
	return all, c.Names, nil
}

// catalogPackage describes a package. facts returns what a bundle says about itself.
func catalogPackage(name string, p *catalog.Package, facts func(*catalog.Bundle) BundleFacts) CatalogPackage {
	listed := listPackage(p, true, func(*catalog.Bundle) declared { return declared{} })
	out := CatalogPackage{Catalog: name, Name: p.Name, DisplayName: facts(newestBundle(p)).DisplayName, DefaultChannel: p.DefaultChannel, Deprecated: listed.Deprecated}
	in, headOf := map[string][]string{}, map[string][]string{}
	for _, c := range listed.Channels {
		ch := CatalogChannel{Catalog: name, Package: p.Name, Name: c.Name, Default: c.Name == p.DefaultChannel, Deprecated: c.Deprecated, Head: c.Head, Bundles: []string{}, Versions: []string{}}
		for _, b := range c.Bundles {
			in[b.Name] = append(in[b.Name], c.Name)
			ch.Bundles, ch.Versions = append(ch.Bundles, b.Name), append(ch.Versions, b.Version)
		}
		headOf[c.Head] = append(headOf[c.Head], c.Name)
		out.Channels = append(out.Channels, ch)
	}
	deprecated := deprecationsOf(p)
	bundles := slices.Clone(p.Bundles)
	elements.Sort(bundles, func(a, b *catalog.Bundle) int { return compareBundles(b, a) })
	for _, b := range bundles {
		out.Bundles = append(out.Bundles, CatalogBundle{
			Catalog: name, Package: p.Name, Name: b.Name, Version: versionOf(p, b.Name), Channels: in[b.Name], HeadOf: headOf[b.Name],
			Deprecated: deprecated[catalog.SchemaBundle+"/"+b.Name], BundleFacts: facts(b), Images: imagesOf(b),
		})
	}
	if b := extension.Preferred(p); b != nil {
		out.V1 = b.Name
	}
	return out
}

// imagesOf returns the references of a bundle.
func imagesOf(b *catalog.Bundle) []string {
	all := []string{}
	add := func(ref string) {
		if ref != "" && !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	}
	add(b.Image)
	for _, r := range b.RelatedImages {
		add(r.Image)
	}
	return all
}
