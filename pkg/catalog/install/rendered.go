package install

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/rbac"
)

// A thing is an object that OLM v1 applies: its resource, with the group, and its name.
type thing struct {
	group, resource string
	namespace       string // "" if objects of its kind have none
	name            string
}

// A rendering is what OLM v1 applies of a bundle.
type rendering struct {
	things []thing
	// grants are the roles.
	grants []grant
	// bound are roles that bindings name and the bundle does not have. Their rules are unknown.
	bound []thing
	// aggregates says that a ClusterRole collects the rules of others.
	aggregates bool
}

// A kind is a kind of objects that bundles can have besides their CSV and CRDs.
type kind struct {
	resource   string
	namespaced bool
}

// kinds returns the kinds that OLM installs from bundles (operator-registry,
// pkg/lib/bundle/supported_resources.go; operator-lifecycle-manager documents the newer ones in
// "Packaging additional objects alongside an Operator").
func kinds() map[string]kind {
	return map[string]kind{
		"ClusterRole":           {"clusterroles", false},
		"ClusterRoleBinding":    {"clusterrolebindings", false},
		"ConfigMap":             {"configmaps", true},
		"ConsoleCLIDownload":    {"consoleclidownloads", false},
		"ConsoleLink":           {"consolelinks", false},
		consolePlugin:           {"consoleplugins", false},
		"ConsoleQuickStart":     {"consolequickstarts", false},
		"ConsoleYAMLSample":     {"consoleyamlsamples", false},
		"NetworkPolicy":         {"networkpolicies", true},
		podMonitor:              {"podmonitors", true},
		"PodDisruptionBudget":   {"poddisruptionbudgets", true},
		"PriorityClass":         {"priorityclasses", false},
		"PrometheusRule":        {"prometheusrules", true},
		"Role":                  {"roles", true},
		"RoleBinding":           {"rolebindings", true},
		"Secret":                {"secrets", true},
		"Service":               {"services", true},
		"ServiceAccount":        {"serviceaccounts", true},
		"ServiceMonitor":        {"servicemonitors", true},
		"VerticalPodAutoscaler": {"verticalpodautoscalers", false}, // OLM sets no namespace
	}
}

// Kinds that only newer OLM installs: operator-registry lists ConsolePlugin since April 2025 and PodMonitor
// since September 2025.
const (
	consolePlugin = "ConsolePlugin"
	podMonitor    = "PodMonitor"
)

const (
	defaultAccount = "default" // exists in every namespace

	extensionsGroup = "apiextensions.k8s.io"
	admissionGroup  = "admissionregistration.k8s.io"
	certGroup       = "cert-manager.io"
)

// everywhere are the watched namespaces of an operator that watches all: they are one, without a name.
func everywhere(watched []string) bool { return len(watched) == 1 && watched[0] == "" }

// rendered lists what OLM v1 applies of a bundle in the namespace, for an operator that watches the
// namespaces. If certManager is set, OLM uses cert-manager for the certificates of webhooks.
func (b *Bundle) rendered(namespace string, watched []string, certManager bool) (*rendering, error) {
	r := &rendering{}
	install := b.csv.Spec.Install.Spec
	clusterWide := install.ClusterPermissions
	if everywhere(watched) {
		// Permissions become cluster-wide, with a rule that lets the operator find namespaces.
		for _, p := range install.Permissions {
			p.Rules = append(slices.Clone(p.Rules), rbac.Rule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"namespaces"}})
			clusterWide = append(slices.Clone(clusterWide), p)
		}
	} else {
		for _, in := range watched {
			if err := r.roles(b.csv.Metadata.Name, in, "role", install.Permissions); err != nil {
				return nil, err
			}
		}
	}
	if err := r.roles(b.csv.Metadata.Name, rbac.Cluster, "clusterrole", clusterWide); err != nil {
		return nil, err
	}
	for _, p := range slices.Concat(install.Permissions, install.ClusterPermissions) {
		if p.ServiceAccountName != "" && p.ServiceAccountName != defaultAccount {
			r.add("", "serviceaccounts", namespace, p.ServiceAccountName)
		}
	}
	for _, c := range b.crds {
		r.add(extensionsGroup, "customresourcedefinitions", "", c.Metadata.Name)
	}
	for _, d := range install.Deployments {
		r.add("apps", "deployments", namespace, d.Name)
	}
	r.webhooks(b.csv.Spec.Webhooks, namespace, certManager)
	return r, r.others(b, namespace)
}

func (r *rendering) add(group, resource, namespace, name string) {
	if t := (thing{group, resource, namespace, name}); !slices.Contains(r.things, t) {
		r.things = append(r.things, t)
	}
}

// roles adds the roles, of a kind and in a namespace, that OLM v1 makes of permissions.
func (r *rendering) roles(csv, namespace, resource string, all []permissions) error {
	for _, p := range all {
		account := p.ServiceAccountName
		if account == "" {
			account = defaultAccount
		}
		name, err := uniqueName(csv+"-"+account, p)
		if err != nil {
			return err
		}
		r.add(rbac.APIGroup, resource+"s", namespace, name)
		r.add(rbac.APIGroup, resource+"bindings", namespace, name)
		if err := r.grant(csv, thing{rbac.APIGroup, resource + "s", namespace, name}, p.Rules); err != nil {
			return err
		}
		r.grants[len(r.grants)-1].boundIn = []string{namespace}
	}
	return nil
}

// grant adds the rules of a role of the bundle. Rules that no account can grant are an error.
func (r *rendering) grant(bundle string, role thing, rules []rbac.Rule) error {
	g, namespace := grant{role: role}, role.namespace
	for _, rule := range rules {
		switch {
		case namespace != rbac.Cluster && len(rule.NonResourceURLs) > 0:
			return advice.New(advice.Input, "leave Options.Namespace out if the operator can watch all namespaces, or mirror another version",
				"bundle %s has permissions for the URL %s in namespace %s: clusters refuse a Role with URLs, only a ClusterRole can have them", bundle, rule.NonResourceURLs[0], namespace)
		case slices.Contains(rule.ResourceNames, ""):
			return advice.New(advice.Input, "mirror another version", "bundle %s has permissions for %s with an empty name, which no object has", bundle, strings.Join(rule.Resources, ", "))
		}
		g.permissions = append(g.permissions, rule.Permissions()...)
	}
	r.grants = append(r.grants, g)
	return nil
}

// webhooks adds the configurations of webhooks, and a Service for each deployment that has some.
func (r *rendering) webhooks(all []webhook, namespace string, certManager bool) {
	for _, w := range all {
		name := strings.TrimSuffix(w.GenerateName, "-")
		switch w.Type {
		case validatingWebhook:
			r.add(admissionGroup, "validatingwebhookconfigurations", "", name)
		case mutatingWebhook:
			r.add(admissionGroup, "mutatingwebhookconfigurations", "", name)
		}
		service := joined(strings.ReplaceAll(w.DeploymentName, ".", "-"), "service")
		r.add("", "services", namespace, service)
		if certManager {
			certificate := joined(service, "cert")
			r.add(certGroup, "certificates", namespace, certificate)
			r.add(certGroup, "issuers", namespace, joined(certificate, "selfsigned-issuer"))
		}
	}
}

// others adds the other objects of the bundle. OLM puts those with a namespace into its own.
func (r *rendering) others(b *Bundle, namespace string) error {
	known := kinds()
	own := func(kind, name string) bool {
		return slices.ContainsFunc(b.others, func(o object) bool { return o.Kind == kind && o.Metadata.Name == name })
	}
	for _, o := range b.others {
		k, ok := known[o.Kind]
		if !ok {
			return advice.New(advice.Input, "install it without OLM, or mirror another version", "bundle %s has a %s (%s), a kind that OLM does not install", b.Name, o.Kind, o.Metadata.Name)
		}
		group, _, hasGroup := strings.Cut(o.APIVersion, "/")
		if !hasGroup {
			group = ""
		}
		in := o.Metadata.Namespace
		if k.namespaced {
			in = namespace
		}
		r.add(group, k.resource, in, o.Metadata.Name)
		switch o.Kind {
		case "Role", "ClusterRole":
			if !k.namespaced {
				in = rbac.Cluster
			}
			if err := r.grant(b.Name, thing{rbac.APIGroup, k.resource, in, o.Metadata.Name}, o.Rules); err != nil {
				return err
			}
			g := &r.grants[len(r.grants)-1]
			g.boundIn = b.boundIn(&o, namespace)
			if o.AggregationRule != nil && len(o.AggregationRule.Selectors) > 0 {
				g.aggregates, r.aggregates = true, true
			}
		case "RoleBinding", "ClusterRoleBinding":
			if !own(o.RoleRef.Kind, o.RoleRef.Name) {
				r.bound = append(r.bound, thing{rbac.APIGroup, strings.ToLower(o.RoleRef.Kind) + "s", in, o.RoleRef.Name})
			}
		}
	}
	return nil
}

// maxObjectName is the length to which operator-controller cuts names that it generates.
const maxObjectName = 63

// joined joins the parts of a name as operator-controller does (rukpak/util, ObjectNameForBaseAndSuffix):
// a name may have one character more than the limit.
func joined(base, suffix string) string {
	if len(base)+len(suffix) > maxObjectName {
		base = base[:maxObjectName-len(suffix)-1]
	}
	return base + "-" + suffix
}

// uniqueName returns the name of a role that operator-controller makes of permissions: the base and the
// SHA-224 of their JSON, with a line feed at its end, to the base 36 (shared/util/hash, DeepHashObject).
func uniqueName(base string, p permissions) (string, error) {
	h := sha256.New224()
	if err := json.NewEncoder(h).Encode(p); err != nil {
		return "", fmt.Errorf("naming a role of %s: %w", base, err)
	}
	return joined(base, new(big.Int).SetBytes(h.Sum(nil)).Text(36)), nil
}
