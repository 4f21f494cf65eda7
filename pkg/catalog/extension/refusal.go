package extension

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Reasons why OLM v1 refuses a bundle, or why that is unknown. They are those of operator-controller 1.0 to 1.11
// (resolve/validation.go, applier/provider.go, features/features.go; before 1.6 rukpak/convert), and of OpenShift, whose
// feature gates set those of operator-controller.
const (
	// Dependency: the bundle declares a dependency. Every version of OLM v1 refuses it.
	Dependency Reason = "dependency"
	// InstallMode: the bundle does not support AllNamespaces, but OwnNamespace or SingleNamespace. OLM v1 refuses it unless the
	// feature gate SingleOwnNamespaceInstallSupport (since 1.2, on by default in 1.8 alone; NewOLMOwnSingleNamespace in
	// OpenShift) and a watchNamespace in the ClusterExtension let it watch a single namespace.
	InstallMode Reason = "install-mode"
	// NoInstallMode: the bundle supports none of these modes. Every version refuses it.
	NoInstallMode Reason = "no-install-mode"
	// Webhook: the bundle defines webhooks. OLM v1 refuses it before 1.6 and before OpenShift 4.21, unless a feature gate (since
	// 1.3; NewOLMWebhookProviderOpenshiftServiceCA in OpenShift) is enabled.
	Webhook Reason = "webhook"
	// UnknownWebhook: the bundle may define webhooks. Catalogs with olm.csv.metadata do not show them; Refusals leaves it out.
	UnknownWebhook Reason = "unknown-webhook"
	// APIService: the bundle provides an extension API server. Every version refuses it.
	APIService Reason = "api-service"
	// InvalidBundle: the bundle has a fault that every version refuses. Only its image shows it; Refusals leaves it out.
	InvalidBundle Reason = "invalid-bundle"
	// NoImage: the manifests of the bundle are only in the catalog.
	NoImage Reason = "no-image"
	// NoExcerpt: the catalog does not contain the ClusterServiceVersion. OLM v1 does not need it,
	// but consoles do, and the reasons above cannot be determined without it.
	NoExcerpt Reason = "no-excerpt"
)

// A Refusal is one reason why OLM v1 does not install a bundle.
type Refusal struct {
	Reason Reason `json:"reason"`
	// Message is a predicate without its subject, the bundle: "declares ...". It mentions if the
	// refusal depends on the version of OLM v1.
	Message string `json:"message"`
}

// Certain reports whether every version of OLM v1 refuses a bundle for this reason, regardless of
// its configuration.
func (r Refusal) Certain() bool {
	return slices.Contains([]Reason{Dependency, NoInstallMode, APIService, InvalidBundle, NoImage}, r.Reason)
}

// The properties that declare dependencies for OLM v1, which ignores olm.label.required.
func dependencies() []string {
	return []string{"olm.package.required", "olm.gvk.required", "olm.constraint"}
}

// dependency returns the type of the first property of a bundle that declares a dependency, or "".
func dependency(b *catalog.Bundle) string {
	for _, p := range b.Properties {
		if slices.Contains(dependencies(), p.Type) {
			return p.Type
		}
	}
	return ""
}

// HiddenWebhooks is the refusal for a bundle whose catalog has the ClusterServiceVersion without its webhooks.
func HiddenWebhooks() Refusal {
	return Refusal{UnknownWebhook, "may define webhooks, which the catalog does not show; OLM v1 refuses them before OpenShift 4.21 (operator-controller 1.6)"}
}

// Refusals returns the reasons why OLM v1 refuses a bundle, as far as the catalog shows them. An
// empty result is no guarantee: webhooks are visible only in old catalogs, which contain the whole
// ClusterServiceVersion (olm.bundle.object). HiddenWebhooks is for the others.
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
		add(NoExcerpt, "has an invalid ClusterServiceVersion or manifest in the catalog (%v), so it is unknown whether OLM v1 accepts it", err)
		return all
	case !x.CSV:
		add(NoExcerpt, "has no ClusterServiceVersion in the catalog (neither olm.csv.metadata nor in olm.bundle.object): consoles do not show it, and it is unknown whether OLM v1 accepts it")
		return all
	}
	switch {
	case slices.Contains(x.InstallModes, "AllNamespaces"):
	case single(x.InstallModes):
		add(InstallMode, "does not support the install mode AllNamespaces (only %s); OLM v1 refuses it unless the feature gate NewOLMOwnSingleNamespace is enabled and the ClusterExtension sets a watchNamespace", strings.Join(x.InstallModes, ", "))
	default:
		add(NoInstallMode, "does not support the install mode AllNamespaces (%s); OLM v1 refuses it", orNone(x.InstallModes))
	}
	if len(x.Webhooks) > 0 {
		add(Webhook, "defines %s; OLM v1 refuses it before OpenShift 4.21 (operator-controller 1.6), unless the feature gate NewOLMWebhookProviderOpenshiftServiceCA is enabled", plural("webhook", x.Webhooks))
	}
	if len(x.APIServices) > 0 {
		add(APIService, "provides extension API servers (%s), which OLM v1 refuses", strings.Join(x.APIServices, ", "))
	}
	return all
}

// single reports whether install modes let an operator watch a single namespace.
func single(modes []string) bool {
	return slices.Contains(modes, "OwnNamespace") || slices.Contains(modes, "SingleNamespace")
}

// watchesSingle reports whether a bundle supports such a mode, as far as the catalog shows it.
func watchesSingle(b *catalog.Bundle) bool {
	x, err := excerpt.Of(b)
	return err == nil && single(x.InstallModes)
}

func orNone(modes []string) string {
	if len(modes) == 0 {
		return "it declares none"
	}
	return "only " + strings.Join(modes, ", ")
}

// A Finding is one reason to refuse bundles of a package.
type Finding struct {
	Reason Reason `json:"reason"`
	// Bundles are the affected bundles, the one that OLM v1 prefers first. All says that these are
	// all bundles of the package.
	Bundles []string
	All     bool
	// Message is a sentence about the first bundle, with the number of affected bundles.
	Message string
}

// Review returns what OLM v1 refuses of a package, for the notes of a plan: one finding per reason,
// described for the affected bundle that OLM v1 prefers.
func Review(p *catalog.Package) []Finding {
	deprecated := deprecations(p)
	bundles := slices.Clone(p.Bundles)
	elements.Sort(bundles, func(a, b *catalog.Bundle) int { return compareBundles(a, b, deprecated) })
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
			f.Message += fmt.Sprintf(" (the same applies to all %d bundles)", len(bundles))
		case others > 0:
			f.Message += fmt.Sprintf(" (the same applies to %d of %d bundles)", len(f.Bundles), len(bundles))
		}
	}
	return all
}
