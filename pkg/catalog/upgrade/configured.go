package upgrade

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// onlyConfigured returns the configured operators that no cluster reports, whichever generation of
// OLM they are listed for.
func onlyConfigured(configured, operators []installed.Operator, catalogs []Catalog) []installed.Operator {
	return slices.DeleteFunc(slices.Clone(configured), func(c installed.Operator) bool {
		return slices.ContainsFunc(operators, func(o installed.Operator) bool { return sameOperator(c, o, catalogs) })
	})
}

// otherGenerations returns the configured operators that are o in the generation of OLM that does
// not manage it. There are none if another cluster reports o in that generation.
func otherGenerations(o installed.Operator, operators, configured []installed.Operator, catalogs []Catalog) []installed.Operator {
	return slices.DeleteFunc(slices.Clone(configured), func(c installed.Operator) bool {
		return c.Generation == o.Generation || !sameOperator(c, o, catalogs) ||
			slices.ContainsFunc(operators, func(another installed.Operator) bool {
				return c.Generation == another.Generation && sameOperator(c, another, catalogs)
			})
	})
}

// sameOperator reports whether a configured operator is one that a cluster reports: the same
// package and bundle or, if the configuration has no bundle, version.
func sameOperator(configured, reported installed.Operator, catalogs []Catalog) bool {
	if configured.Package != reported.Package {
		return false
	}
	if configured.Bundle != "" {
		return configured.Bundle == reported.Bundle
	}
	if configured.Version == reported.Version {
		return true
	}
	v, err := semver.Parse(configured.Version)
	at, _, ok := position(reported, catalogs)
	return err == nil && ok && reported.Version == "" && v.EQ(at.Version)
}

// otherNote returns a note if the operator would have a problem in a generation of OLM that does not
// manage it, else "". other is the result for that generation.
func otherNote(other Result) string {
	problem := problem(other.Outcome)
	if problem == "" {
		return ""
	}
	why := other.Explanation
	if why == "" && len(other.Paths) > 0 {
		why = other.Paths[0].Explanation
	}
	return fmt.Sprintf("if %s managed it, it would %s: %s", other.Generation, problem, why)
}

// problem describes an outcome that requires action and may depend on the generation of OLM. It is
// "" for others.
func problem(o Outcome) string {
	switch o {
	case Stranded:
		return "be stranded"
	case Downgraded:
		return "be downgraded"
	case MissingDependency:
		return "not find all dependencies"
	case NeedsPinning:
		return "reach the head only if versions are pinned"
	}
	return ""
}

// generationNote returns a note for an operator with a problem that only a configuration lists. The
// configuration does not contain the generation of OLM.
func generationNote(o installed.Operator, outcome Outcome) string {
	if problem(outcome) == "" {
		return ""
	}
	other, object := graph.Classic, "Subscription"
	if o.Generation == graph.Classic {
		other, object = graph.V1, "ClusterExtension"
	}
	return fmt.Sprintf("the configuration does not contain the generation of OLM; if %s manages it, add its %s to the input", other, object)
}
