package install

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// Annotations of a ClusterServiceVersion about its namespace. The console of OpenShift follows them.
const (
	suggestedNamespace = "operatorframework.io/suggested-namespace"
	suggestedTemplate  = "operatorframework.io/suggested-namespace-template" // a Namespace as JSON
	clusterMonitoring  = "operatorframework.io/cluster-monitoring"
	monitoringLabel    = "openshift.io/cluster-monitoring"
)

// namespace returns the Namespace in which the operator is installed: the given name, or else the one that
// the publisher suggests, or else the name of the package; with the labels that the publisher suggests.
func (b *Bundle) namespace(given string) (name string, manifest Object, err error) {
	metadata := Object{}
	labels := map[string]any{}
	annotations := b.csv.Metadata.Annotations
	suggested := annotations[suggestedNamespace]
	if text := annotations[suggestedTemplate]; text != "" {
		var template struct {
			Metadata struct {
				Name        string            `json:"name"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal([]byte(text), &template); err != nil {
			return "", nil, advice.New(advice.Input, "", "bundle %s: reading the annotation %s: %w", b.Name, suggestedTemplate, err)
		}
		if template.Metadata.Name != "" {
			suggested = template.Metadata.Name
		}
		for key, value := range template.Metadata.Labels {
			labels[key] = value
		}
		if len(template.Metadata.Annotations) > 0 {
			metadata["annotations"] = template.Metadata.Annotations
		}
	}
	if annotations[clusterMonitoring] == "true" {
		labels[monitoringLabel] = "true"
	}
	for _, name = range []string{given, suggested, b.Package} {
		if name != "" {
			break
		}
	}
	if err := checkLabel("the namespace", name); err != nil {
		return "", nil, advice.Wrap(advice.Input, err, "set Options.InstallNamespace")
	}
	metadata["name"] = name
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	return name, Object{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, nil
}

// watched returns the namespaces that the operator watches: the given ones, or [""] for all if it supports
// that, or else its own. several says whether it may watch more than one.
func (b *Bundle) watched(own string, given []string, several bool) ([]string, error) {
	refuse := func(hint, format string, args ...any) error {
		modes := "it supports none"
		if list := b.modes(); len(list) > 0 {
			modes = "it supports " + strings.Join(list, ", ")
		}
		return advice.New(advice.Input, hint, "%s: %s", fmt.Sprintf(format, args...), modes)
	}
	given = slices.Clone(given)
	slices.Sort(given)
	given = slices.Compact(given)
	for _, name := range given {
		if err := checkLabel("the watched namespace", name); err != nil {
			return nil, advice.Wrap(advice.Input, err, "correct Options.Namespace")
		}
	}
	switch {
	case len(b.modes()) == 0:
		return nil, refuse("", "bundle %s has no install mode that OLM knows", b.Name)
	case len(given) == 0 && b.supports(allNamespaces):
		return []string{""}, nil
	case len(given) == 0 && b.supports(ownNamespace):
		return []string{own}, nil
	case len(given) == 0:
		return nil, refuse("name them with Options.Namespace", "operator %s has to be given the namespaces that it watches", b.Name)
	case len(given) > 1 && !several:
		return nil, refuse("give one, or none for all", "OLM v1 lets an operator watch one namespace or all")
	case len(given) > 1 && !b.supports(multiNamespace):
		return nil, refuse("", "operator %s cannot watch several namespaces", b.Name)
	case slices.Contains(given, own) && !b.supports(ownNamespace):
		return nil, refuse("", "operator %s cannot watch its own namespace %s", b.Name, own)
	case len(given) == 1 && given[0] != own && !b.supports(singleNamespace):
		return nil, refuse("set Options.InstallNamespace to the same namespace", "operator %s cannot watch the single namespace %s", b.Name, given[0])
	}
	return given, nil
}

// The limits of names in Kubernetes.
const (
	maxLabel     = 63
	maxSubdomain = 253
)

// checkLabel returns an error if a name is not a label of DNS (RFC 1123), as names of namespaces have to be.
func checkLabel(what, name string) error {
	if len(name) > maxLabel || !isLabel(name) {
		return fmt.Errorf("%s %q: use at most %d lower case letters, digits and dashes, with no dash at the ends", what, name, maxLabel)
	}
	return nil
}

func isLabel(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return s != "" && s[0] != '-' && s[len(s)-1] != '-'
}

// isSubdomain reports whether a name is a subdomain of DNS, as other names have to be.
func isSubdomain(s string) bool {
	return len(s) <= maxSubdomain && !slices.ContainsFunc(strings.Split(s, "."), func(part string) bool { return !isLabel(part) })
}
