package extension

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Selector is a Kubernetes label selector. All its conditions must hold; without conditions it
// matches everything.
type Selector struct {
	MatchLabels      map[string]string
	MatchExpressions []Requirement
}

// A Requirement is one entry of matchExpressions.
type Requirement struct {
	Key string
	// Operator is In, NotIn, Exists or DoesNotExist. NotIn also holds if the label is missing.
	Operator string
	Values   []string
}

// matches reports whether the labels satisfy all conditions.
func (s Selector) matches(labels map[string]string) bool {
	for key, want := range s.MatchLabels {
		if have, ok := labels[key]; !ok || have != want {
			return false
		}
	}
	for _, r := range s.MatchExpressions {
		have, ok := labels[r.Key]
		var holds bool
		switch r.Operator {
		case "In":
			holds = ok && slices.Contains(r.Values, have)
		case "NotIn":
			holds = !ok || !slices.Contains(r.Values, have)
		case "Exists":
			holds = ok
		case "DoesNotExist":
			holds = !ok
		}
		if !holds {
			return false
		}
	}
	return true
}

// check returns why Kubernetes would refuse the requirement, or "".
func (r Requirement) check() string {
	if reason := checkLabelKey(r.Key); reason != "" {
		return reason
	}
	switch r.Operator {
	case "In", "NotIn":
		if len(r.Values) == 0 {
			return fmt.Sprintf("the operator %s requires values", r.Operator)
		}
	case "Exists", "DoesNotExist":
		if len(r.Values) > 0 {
			return fmt.Sprintf("the operator %s takes no values", r.Operator)
		}
	default:
		return fmt.Sprintf("%q is not an operator; use In, NotIn, Exists or DoesNotExist", r.Operator)
	}
	for _, v := range r.Values {
		if reason := checkLabelValue(v); reason != "" {
			return reason
		}
	}
	return ""
}

// checkLabelKey returns what is wrong with the key of a label, or "": PREFIX/NAME, where the prefix
// is an optional DNS subdomain.
func checkLabelKey(key string) string {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		name = prefix
	} else if !isSubdomain(prefix) {
		return fmt.Sprintf("%q is not a valid label key: the prefix before the slash is not a DNS name", key)
	}
	if name == "" || checkLabelValue(name) != "" {
		return fmt.Sprintf("%q is not a valid label key", key)
	}
	return ""
}

// checkLabelValue returns what is wrong with the value of a label, or "".
func checkLabelValue(value string) string {
	if len(value) > 63 || !regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`).MatchString(value) {
		return fmt.Sprintf("%q is not a valid label value", value)
	}
	return ""
}

// isSubdomain reports whether a name is a DNS-1123 subdomain.
func isSubdomain(name string) bool {
	return len(name) <= 253 && regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`).MatchString(name)
}

// isLabel reports whether a name is a DNS-1123 label.
func isLabel(name string) bool {
	return len(name) <= 63 && isSubdomain(name) && !strings.Contains(name, ".")
}
