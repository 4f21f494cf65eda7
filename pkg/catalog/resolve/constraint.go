package resolve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxConstraint is the maximum size in bytes of the value of an olm.constraint, as in OLM
// (operator-framework/api, pkg/constraints).
const maxConstraint = 131072

// maxDepth is the maximum nesting of constraints. OLM has no limit.
const maxDepth = 64

// A constraintValue is the value of an olm.constraint. Only one member besides failureMessage
// counts: the first in this order. OLM accepts none, an old name of not, and ignores it.
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

// constraint reads the value of an olm.constraint. As in OLM, an unknown member is an error.
func (r *round) constraint(value []byte) (predicate, error) {
	if len(value) > maxConstraint {
		return nil, fmt.Errorf("it has %d bytes; the limit of OLM is %d", len(value), maxConstraint)
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
		return withMessage{p, c.FailureMessage}, nil
	}
	return p, nil
}

func (r *round) build(c constraintValue, depth int) (predicate, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	switch {
	case c.GVK != nil:
		return providesAPI(*c.GVK), nil
	case c.Package != nil:
		return c.Package.predicate()
	case c.All != nil:
		parts, err := r.parts(c.All, depth)
		return allOf(parts), err
	case c.Any != nil:
		parts, err := r.parts(c.Any, depth)
		return anyOf(parts), err
	case c.Not != nil:
		parts, err := r.parts(c.Not, depth)
		return noneOf(parts), err
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

// allOf, anyOf and noneOf apply to one bundle: allOf(gvk A, gvk B) matches a bundle that provides
// both APIs, not two bundles that provide one each.
type (
	allOf  []predicate
	anyOf  []predicate
	noneOf []predicate // none of them
)

func (a allOf) matches(b *bundle) bool {
	return !slices.ContainsFunc(a, func(p predicate) bool { return !p.matches(b) })
}

func (a anyOf) matches(b *bundle) bool {
	return slices.ContainsFunc(a, func(p predicate) bool { return p.matches(b) })
}

func (n noneOf) matches(b *bundle) bool { return !anyOf(n).matches(b) }

func (a allOf) String() string { return phrase(a, "and") }

func (a anyOf) String() string { return phrase(a, "or") }

func (n noneOf) String() string {
	if len(n) == 1 {
		return "is not one that " + phrase(n, "nor")
	}
	return "neither " + phrase(n, "nor")
}

// phrase joins the first four of several predicates.
func phrase(parts []predicate, word string) string {
	const most = 4
	if len(parts) == 0 {
		return "matches an empty list"
	}
	var said []string
	for _, p := range parts[:min(most, len(parts))] {
		switch p.(type) {
		case allOf, anyOf, noneOf:
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

// withMessage is a predicate with the failureMessage of its publisher.
type withMessage struct {
	predicate
	message string
}

func (e withMessage) String() string {
	return fmt.Sprintf("%s (message of the publisher: %s)", e.predicate, printable(e.message))
}

// enumerate joins words: "a", "a and b", "a, b and c".
func enumerate(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
}
