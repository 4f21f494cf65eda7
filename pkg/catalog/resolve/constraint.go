package resolve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxConstraint is how long the value of an olm.constraint may be, as in OLM
// (operator-framework/api, pkg/constraints).
const maxConstraint = 131072

// maxDepth is how deep constraints may stand in each other. OLM has no limit.
const maxDepth = 64

// A constraintValue is what an olm.constraint says. One of its members but
// failureMessage counts: the first in this order. OLM knows none, an old name of
// not, and does nothing with it.
type constraintValue struct {
	FailureMessage string         `json:"failureMessage"`
	GVK            *api           `json:"gvk"`
	Package        *packageValue  `json:"package"`
	All            *compoundValue `json:"all"`
	Any            *compoundValue `json:"any"`
	Not            *compoundValue `json:"not"`
	Cel            *struct {
		Rule string `json:"rule"`
	} `json:"cel"`
	None *compoundValue `json:"none"`
}

type compoundValue struct {
	Constraints []constraintValue `json:"constraints"`
}

// constraint reads the value of an olm.constraint. A member that OLM does not
// know is an error, as it is there.
func (r *round) constraint(value []byte) (predicate, error) {
	if len(value) > maxConstraint {
		return nil, fmt.Errorf("it has %d bytes, and OLM reads at most %d", len(value), maxConstraint)
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.DisallowUnknownFields()
	var c constraintValue
	if err := decoder.Decode(&c); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	p, err := r.build(c, 0)
	if err != nil {
		return nil, err
	}
	if c.FailureMessage != "" && c.GVK == nil && c.Package == nil {
		return explained{p, c.FailureMessage}, nil
	}
	return p, nil
}

func (r *round) build(c constraintValue, depth int) (predicate, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	switch {
	case c.GVK != nil:
		return gives(*c.GVK), nil
	case c.Package != nil:
		return c.Package.predicate()
	case c.All != nil:
		parts, err := r.parts(c.All, depth)
		return all(parts), err
	case c.Any != nil:
		parts, err := r.parts(c.Any, depth)
		return some(parts), err
	case c.Not != nil:
		parts, err := r.parts(c.Not, depth)
		return not(parts), err
	case c.Cel != nil:
		return r.rule(c.Cel.Rule)
	}
	return nil, errors.New("it is empty")
}

func (r *round) parts(c *compoundValue, depth int) ([]predicate, error) {
	parts := make([]predicate, 0, len(c.Constraints))
	for _, part := range c.Constraints {
		p, err := r.build(part, depth+1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// all, some and not are about one bundle: all(gvk A, gvk B) is met by a bundle
// that gives both, not by two that give one each.
type (
	all  []predicate
	some []predicate
	not  []predicate // none of them
)

func (a all) meets(b *bundle) bool {
	for _, p := range a {
		if !p.meets(b) {
			return false
		}
	}
	return true
}

func (a some) meets(b *bundle) bool {
	for _, p := range a {
		if p.meets(b) {
			return true
		}
	}
	return false
}

func (n not) meets(b *bundle) bool { return !some(n).meets(b) }

func (a all) String() string { return phrase(a, "and") }

func (a some) String() string { return phrase(a, "or") }

func (n not) String() string {
	if len(n) == 1 {
		return "is not one that " + phrase(n, "nor")
	}
	return "neither " + phrase(n, "nor")
}

// phrase says the first few of several predicates.
func phrase(parts []predicate, word string) string {
	const most = 4
	if len(parts) == 0 {
		return "meets an empty list"
	}
	var said []string
	for _, p := range parts[:min(most, len(parts))] {
		switch p.(type) {
		case all, some, not:
			said = append(said, "("+p.String()+")")
		default:
			said = append(said, p.String())
		}
	}
	if more := len(parts) - most; more > 0 {
		said = append(said, fmt.Sprintf("%d more", more))
	}
	return enumerate(said, word)
}

// explained is a predicate with the message that its publisher has for people.
type explained struct {
	predicate
	message string
}

func (e explained) String() string {
	return fmt.Sprintf("%s (its publisher says: %s)", e.predicate, plain(e.message))
}
