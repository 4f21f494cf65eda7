package extension

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
)

// Why OLM v1 refuses a bundle, or what cannot be told of it.
const (
	// Dependency: it declares one. Every version of OLM v1 refuses that.
	Dependency Reason = "dependency"
	// InstallMode: it does not support AllNamespaces. OLM v1 refuses that, unless
	// a feature gate and a watchNamespace in the ClusterExtension let it watch one
	// namespace.
	InstallMode Reason = "install-mode"
	// Webhook: it defines webhooks. OLM v1 refuses that where the feature gate is
	// off, as it was until some time after OpenShift 4.18.
	Webhook Reason = "webhook"
	// APIService: it brings an extension API server; refused likewise.
	APIService Reason = "api-service"
	// NoImage: its manifests are in the catalog alone.
	NoImage Reason = "no-image"
	// NoExcerpt: the catalog tells nothing of its ClusterServiceVersion. OLM v1
	// does not need that; consoles do, and the reasons above cannot be told.
	NoExcerpt Reason = "no-excerpt"
)

// A Refusal is one reason why OLM v1 does not install a bundle.
type Refusal struct {
	Reason Reason `json:"reason"`
	// Message is the rest of a sentence that begins with the bundle: "declares
	// ...". It says where the refusal depends on the version of OLM v1.
	Message string `json:"message"`
}

// Certain reports whether every version of OLM v1 refuses a bundle for that,
// however it is configured.
func (r Refusal) Certain() bool { return r.Reason == Dependency || r.Reason == NoImage }

// The properties that declare dependencies, as OLM v1 sees it; it does not look
// at olm.label.required.
func dependencies() []string {
	return []string{"olm.package.required", "olm.gvk.required", "olm.constraint"}
}

// dependency is the type of the first property of a bundle that declares one, or
// "".
func dependency(b *catalog.Bundle) string {
	for _, p := range b.Properties {
		if slices.Contains(dependencies(), p.Type) {
			return p.Type
		}
	}
	return ""
}

// Refusals says why OLM v1 does not install a bundle, as far as its catalog
// tells; none is no promise. Whether a bundle has webhooks stands only in old
// catalogs, which have the whole ClusterServiceVersion (olm.bundle.object).
func Refusals(b *catalog.Bundle) []Refusal {
	var all []Refusal
	add := func(reason Reason, format string, args ...any) {
		all = append(all, Refusal{reason, fmt.Sprintf(format, args...)})
	}
	if property := dependency(b); property != "" {
		add(Dependency, "declares a dependency (%s), which OLM v1 does not support", property)
	}
	if b.Image == "" {
		add(NoImage, "has no image, and OLM v1 installs from images")
	}
	x, err := excerpt.Of(b)
	switch {
	case err != nil:
		add(NoExcerpt, "has a ClusterServiceVersion or manifest in the catalog that cannot be read (%v), so that it cannot be told whether OLM v1 takes it", err)
		return all
	case !x.CSV:
		add(NoExcerpt, "has no ClusterServiceVersion in the catalog (neither olm.csv.metadata nor in olm.bundle.object): consoles do not show it, and whether OLM v1 takes it cannot be told")
		return all
	}
	switch {
	case slices.Contains(x.InstallModes, "AllNamespaces"):
	case single(x.InstallModes):
		add(InstallMode, "does not support the install mode AllNamespaces (only %s); OLM v1 refuses it, unless the cluster has the feature gate NewOLMOwnSingleNamespace on and the ClusterExtension sets a watchNamespace", strings.Join(x.InstallModes, ", "))
	default:
		add(InstallMode, "does not support the install mode AllNamespaces (%s); OLM v1 refuses it", orNone(x.InstallModes))
	}
	if len(x.Webhooks) > 0 {
		add(Webhook, "defines %s; OLM v1 refuses it, unless the cluster has the feature gate NewOLMWebhookProviderOpenshiftServiceCA on, as newer OpenShift versions do", plural("webhook", x.Webhooks))
	}
	if len(x.APIServices) > 0 {
		add(APIService, "brings extension API servers (%s), which OLM v1 refuses in all but its newest versions", strings.Join(x.APIServices, ", "))
	}
	return all
}

// single reports whether install modes let an operator watch a single namespace.
func single(modes []string) bool {
	return slices.Contains(modes, "OwnNamespace") || slices.Contains(modes, "SingleNamespace")
}

// watchesSingle reports that of a bundle, as far as its catalog tells.
func watchesSingle(b *catalog.Bundle) bool {
	x, err := excerpt.Of(b)
	return err == nil && single(x.InstallModes)
}

func orNone(modes []string) string {
	if len(modes) == 0 {
		return "it names none"
	}
	return "only " + strings.Join(modes, ", ")
}

// A Finding is one reason to refuse bundles of a package.
type Finding struct {
	Reason Reason `json:"reason"`
	// Bundles are those that it holds for, the one that OLM v1 prefers first. All
	// says that these are all of the package.
	Bundles []string
	All     bool
	// Message is a sentence about the first of them, with how many others there
	// are.
	Message string
}

// Review says what OLM v1 refuses of a package, one finding for a reason, by the
// bundle that it prefers, for a plan's notes.
func Review(p *catalog.Package) []Finding {
	deprecated := deprecations(p)
	bundles := slices.Clone(p.Bundles)
	slices.SortStableFunc(bundles, func(a, b *catalog.Bundle) int { return compareBundles(a, b, deprecated) })
	var all []Finding
	for _, b := range bundles {
		for _, refusal := range Refusals(b) {
			at := slices.IndexFunc(all, func(f Finding) bool { return f.Reason == refusal.Reason })
			if at < 0 {
				at = len(all)
				all = append(all, Finding{Reason: refusal.Reason, Message: fmt.Sprintf("package %s: bundle %s %s", p.Name, b.Name, refusal.Message)})
			}
			all[at].Bundles = append(all[at].Bundles, b.Name)
		}
	}
	for i := range all {
		f := &all[i]
		f.All = len(f.Bundles) == len(bundles)
		switch others := len(f.Bundles) - 1; {
		case f.All && others > 0:
			f.Message += fmt.Sprintf(" (so it is for all %d bundles)", len(bundles))
		case others > 0:
			f.Message += fmt.Sprintf(" (so it is for %d of %d bundles)", len(f.Bundles), len(bundles))
		}
	}
	return all
}
