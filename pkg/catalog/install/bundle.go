// Package install writes the objects that install an operator in a cluster, from its bundle.
//
// [Read] takes a bundle with its manifests: a ClusterServiceVersion, CustomResourceDefinitions and
// other objects. For OLM v1, [V1] returns a ClusterExtension that is pinned to the bundle, and a
// ServiceAccount with the fewest permissions with which operator-controller can install and run it.
// For OLM classic, [Classic] returns an OperatorGroup and a Subscription. Both return the Namespace, too.
//
// Operator-controller installs with the rights of the ServiceAccount. It renders a bundle to objects,
// and before it applies them, the account must be able to manage each of them by name, to watch objects
// of their kinds, and to grant what the roles among them contain: in Kubernetes, an account grants only
// what it has. [rendered] lists these objects with the names that operator-controller will generate, and
// [needs] the permissions. Package rbac writes them as rules.
//
// The rules are those of operator-controller v1 (rukpak/render, rukpak/bundle, authorization) and, for
// classic, of operator-lifecycle-manager (install modes, OperatorGroups, SubscriptionConfig). The same
// bundle and options give the same objects. The package does no I/O.
package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/rbac"
)

// A Bundle is what is known of a bundle from its manifests.
type Bundle struct {
	Package, Name string
	Version       string // a semantic version

	csv      csv
	crds     []crd
	others   []object
	refusals []extension.Refusal
}

// csv has the members of a ClusterServiceVersion that say how it is installed
// (operators.coreos.com/v1alpha1).
type csv struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		InstallModes []struct {
			Type      string `json:"type"`
			Supported bool   `json:"supported"`
		} `json:"installModes"`
		Install struct {
			Strategy string `json:"strategy"`
			Spec     struct {
				Deployments []struct {
					Name string `json:"name"`
				} `json:"deployments"`
				Permissions        []permissions `json:"permissions"`
				ClusterPermissions []permissions `json:"clusterPermissions"`
			} `json:"spec"`
		} `json:"install"`
		Webhooks []webhook `json:"webhookdefinitions"`
		CRDs     struct {
			Owned []struct {
				Name string `json:"name"`
			} `json:"owned"`
		} `json:"customresourcedefinitions"`
	} `json:"spec"`
}

// permissions are rules for a ServiceAccount. Names of roles contain a hash of their JSON, so that the
// members and their order must be those of OLM.
type permissions struct {
	ServiceAccountName string      `json:"serviceAccountName"`
	Rules              []rbac.Rule `json:"rules"`
}

type webhook struct {
	Type           string `json:"type"`
	GenerateName   string `json:"generateName"`
	DeploymentName string `json:"deploymentName"`
	Rules          []struct {
		APIGroups []string `json:"apiGroups"`
		Resources []string `json:"resources"`
	} `json:"rules"`
	ConversionCRDs []string `json:"conversionCRDs"`
}

// The types of webhooks.
const (
	validatingWebhook = "ValidatingAdmissionWebhook"
	mutatingWebhook   = "MutatingAdmissionWebhook"
	conversionWebhook = "ConversionWebhook"
)

// object has the members of other objects that matter for permissions.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Rules           []rbac.Rule `json:"rules"`
	AggregationRule *struct {
		Selectors []json.RawMessage `json:"clusterRoleSelectors"`
	} `json:"aggregationRule"`
	RoleRef struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"roleRef"`
}

type crd struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Plural string `json:"plural"`
		} `json:"names"`
		PreserveUnknownFields bool `json:"preserveUnknownFields"`
	} `json:"spec"`
}

// ErrNoManifests means that a bundle has no ClusterServiceVersion with an install strategy: its
// manifests are in its image alone, or it is no bundle.
var ErrNoManifests = errors.New("there is no ClusterServiceVersion with an install strategy")

// Read reads the manifests of a bundle.
func Read(b *catalog.Bundle) (*Bundle, error) {
	manifests, err := excerpt.Manifests(b, "")
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	read := &Bundle{Package: b.Package, Name: b.Name, Version: b.Version.String(), refusals: extension.Refusals(b)}
	found := false
	for i, text := range manifests {
		into := func(v any) error {
			if err := json.Unmarshal(text, v); err != nil {
				return advice.New(advice.Input, "", "reading manifest %d of bundle %s: %w", i+1, b.Name, err)
			}
			return nil
		}
		var head struct {
			Kind string `json:"kind"`
		}
		if err := into(&head); err != nil {
			return nil, err
		}
		switch head.Kind {
		case "ClusterServiceVersion":
			if found {
				return nil, advice.New(advice.Input, "", "bundle %s has several ClusterServiceVersions", b.Name)
			}
			found = true
			err = into(&read.csv)
		case "CustomResourceDefinition":
			var c crd
			err = into(&c)
			read.crds = append(read.crds, c)
		default:
			var o object
			err = into(&o)
			read.others = append(read.others, o)
		}
		if err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, fmt.Errorf("bundle %s: %w", b.Name, ErrNoManifests)
	}
	return read, nil
}

// supports reports whether the operator supports an install mode.
func (b *Bundle) supports(mode string) bool { return slices.Contains(b.modes(), mode) }

// The install modes.
const (
	allNamespaces   = "AllNamespaces"
	ownNamespace    = "OwnNamespace"
	singleNamespace = "SingleNamespace"
	multiNamespace  = "MultiNamespace"
)

// modes returns the install modes that OLM knows and the operator supports, in a fixed order.
func (b *Bundle) modes() []string {
	var list []string
	for _, known := range []string{allNamespaces, ownNamespace, singleNamespace, multiNamespace} {
		for _, mode := range b.csv.Spec.InstallModes {
			if mode.Supported && mode.Type == known && !slices.Contains(list, known) {
				list = append(list, known)
			}
		}
	}
	return list
}

// unknownModes returns the other install modes that the operator declares as supported.
func (b *Bundle) unknownModes() []string {
	var list []string
	for _, mode := range b.csv.Spec.InstallModes {
		if mode.Supported && !b.supports(mode.Type) && !slices.Contains(list, mode.Type) {
			list = append(list, mode.Type)
		}
	}
	return list
}
