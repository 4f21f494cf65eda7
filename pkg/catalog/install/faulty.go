package install

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault returns why the bundle is invalid for every OLM v1 (rukpak/render/registryv1/validators), or "".
func (b *Bundle) Fault() string {
	deployments := map[string]bool{}
	for _, d := range b.csv.Spec.Install.Spec.Deployments {
		if deployments[d.Name] || !isSubdomain(d.Name) {
			return fmt.Sprintf("its deployments need different names of lower case letters, digits, dashes and dots, and one has the name %q", d.Name)
		}
		deployments[d.Name] = true
	}
	return cmp.Or(b.faultyCRDs(), b.faultyWebhooks(deployments), b.faultyConversion())
}

// faultyCRDs returns why OLM v1 refuses the CustomResourceDefinitions of the bundle, or "".
func (b *Bundle) faultyCRDs() string {
	has := map[string]bool{}
	for _, c := range b.crds {
		if has[c.Metadata.Name] {
			return fmt.Sprintf("it has the CustomResourceDefinition %s twice", c.Metadata.Name)
		}
		has[c.Metadata.Name] = true
	}
	for _, owned := range b.csv.Spec.CRDs.Owned {
		if !has[owned.Name] {
			return fmt.Sprintf("it owns the CustomResourceDefinition %s, which it does not have", owned.Name)
		}
	}
	return ""
}

// faultyWebhooks returns why OLM v1 refuses the webhooks of the bundle, which has the deployments, or "".
func (b *Bundle) faultyWebhooks(deployments map[string]bool) string {
	type key struct{ kind, name string }
	used := map[key]bool{}
	for _, w := range b.csv.Spec.Webhooks {
		of := key{w.Type, w.GenerateName}
		switch {
		case !slices.Contains([]string{validatingWebhook, mutatingWebhook, conversionWebhook}, w.Type):
			return fmt.Sprintf("the webhook %s has the unknown type %q", w.GenerateName, w.Type)
		case !isSubdomain(w.GenerateName):
			return fmt.Sprintf("the name of the webhook %q cannot be a name in a cluster", w.GenerateName)
		case used[of]:
			return fmt.Sprintf("it has the webhook %s of type %s twice", w.GenerateName, w.Type)
		case !deployments[w.DeploymentName]:
			return fmt.Sprintf("the webhook %s needs a deployment %s, which it does not have", w.GenerateName, w.DeploymentName)
		}
		used[of] = true
		if w.Type == conversionWebhook {
			continue // its rules are not used
		}
		if what := w.forbidden(); what != "" {
			return fmt.Sprintf("the webhook %s has a rule for %s, which OLM does not allow", w.GenerateName, what)
		}
	}
	return ""
}

// forbidden returns what the rules of a webhook name and OLM v1 does not allow, or "": all groups, OLM
// itself, and the configurations of webhooks.
func (w *webhook) forbidden() string {
	for _, rule := range w.Rules {
		for _, group := range rule.APIGroups {
			switch group {
			case "*", olmGroup:
				return fmt.Sprintf("the API group %q", group)
			case admissionGroup:
				for _, resource := range rule.Resources {
					configuration := strings.TrimSuffix(strings.ToLower(resource), "s")
					if slices.Contains([]string{"*", "mutatingwebhookconfiguration", "validatingwebhookconfiguration"}, configuration) {
						return fmt.Sprintf("%s of %s", resource, group)
					}
				}
			}
		}
	}
	return ""
}

// faultyConversion returns why OLM v1 refuses the conversion webhooks of the bundle, or "".
func (b *Bundle) faultyConversion() string {
	by := map[string]string{} // webhooks by CustomResourceDefinition
	for _, w := range b.csv.Spec.Webhooks {
		if w.Type != conversionWebhook {
			continue
		}
		if !slices.Equal(b.modes(), []string{allNamespaces}) {
			return fmt.Sprintf("it has a conversion webhook (%s), which needs %s as the only install mode, and supports %s", w.GenerateName, allNamespaces, strings.Join(b.modes(), ", "))
		}
		for _, name := range w.ConversionCRDs {
			owned := false
			for _, o := range b.csv.Spec.CRDs.Owned {
				owned = owned || o.Name == name
			}
			if !owned {
				return fmt.Sprintf("the webhook %s converts the CustomResourceDefinition %s, which it does not own", w.GenerateName, name)
			}
			if other, twice := by[name]; twice {
				return fmt.Sprintf("the CustomResourceDefinition %s has several conversion webhooks (%s and %s)", name, other, w.GenerateName)
			}
			by[name] = w.GenerateName
		}
	}
	for _, c := range b.crds {
		if w, converted := by[c.Metadata.Name]; converted && c.Spec.PreserveUnknownFields {
			return fmt.Sprintf("the webhook %s converts the CustomResourceDefinition %s, which preserves unknown fields", w, c.Metadata.Name)
		}
	}
	return ""
}
