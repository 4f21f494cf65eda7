package installed

import (
	"cmp"
	"fmt"
	"strings"
)

// A Condition is what keeps an operator or the platform from being updated: the condition Upgradeable
// is False, or the ClusterVersion has overrides.
type Condition struct {
	// Kind is OperatorCondition, ClusterOperator or ClusterVersion.
	Kind string
	// Namespace and Name are those of the object. The name of an OperatorCondition is the name of the
	// ClusterServiceVersion.
	Namespace, Name string
	// Reason is a sentence or word from the object.
	Reason string
	// Origin names the object in messages, as in Operator.
	Origin string
}

// The kinds of objects with such conditions, besides ClusterVersion.
const (
	kindOperatorCondition = "OperatorCondition"
	kindClusterOperator   = "ClusterOperator"
)

// reasonOverrides is the reason of a ClusterVersion that is not upgradeable because of its overrides
// (https://github.com/openshift/cluster-version-operator/blob/main/pkg/cvo/upgradeable.go).
const reasonOverrides = "ClusterVersionOverridesSet"

// A statusCondition is an element of status.conditions.
type statusCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// upgradeable returns the condition Upgradeable, or nil.
func upgradeable(conditions []statusCondition) *statusCondition {
	for i := range conditions {
		if conditions[i].Type == "Upgradeable" {
			return &conditions[i]
		}
	}
	return nil
}

// refuses reports whether a condition refuses updates.
func (c *statusCondition) refuses() bool { return c != nil && c.Status == "False" }

// text returns reason and message.
func (c *statusCondition) text() string {
	return strings.Trim(c.Reason+": "+c.Message, ": \n")
}

// takeCondition adds the conditions of an object that keep something from being updated. Overrides of an
// OperatorCondition take precedence over what the operator reports
// (https://olm.operatorframework.io/docs/advanced-tasks/communicating-operator-conditions-to-olm/).
func (f *file) takeCondition(o object) error {
	var spec struct {
		Overrides []struct {
			// of an OperatorCondition
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
			// of a ClusterVersion
			Kind      string `json:"kind"`
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			Unmanaged bool   `json:"unmanaged"`
		} `json:"overrides"`
	}
	var status struct {
		Conditions []statusCondition `json:"conditions"`
	}
	if err := cmp.Or(unmarshal(o, "spec", o.Spec, &spec), unmarshal(o, "status", o.Status, &status)); err != nil {
		return err
	}
	add := func(reason string) {
		f.conditions = append(f.conditions, Condition{
			Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Reason: reason,
			Origin: fmt.Sprintf("%s: %s %s", f.name, o.Kind, o.title()),
		})
	}
	found := upgradeable(status.Conditions)
	overridden := false
	for _, x := range spec.Overrides {
		switch {
		case o.Kind == kindOperatorCondition && x.Type == "Upgradeable":
			found = &statusCondition{x.Type, x.Status, x.Reason, x.Message}
		case o.Kind == kindClusterVersion && x.Unmanaged:
			overridden = true
			add("spec.overrides excludes " + x.Kind + " " + strings.TrimPrefix(x.Namespace+"/"+x.Name, "/") + " from updates")
		}
	}
	if found.refuses() && (found.Reason != reasonOverrides || !overridden) {
		add(cmp.Or(found.text(), "without a reason"))
	}
	return nil
}
