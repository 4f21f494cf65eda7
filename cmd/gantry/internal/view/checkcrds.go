package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/crdsafety"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
)

// writeCRDSafety writes which updates OLM v1 refuses because of CustomResourceDefinitions.
func writeCRDSafety(b *strings.Builder, s *check.CRDSafety) {
	if s == nil {
		return
	}
	for _, u := range s.Refused {
		writeComparedUpdate(b, "REFUSED by OLM v1", u)
		writeRefusalRemedy(b, u)
	}
	for _, u := range s.Possible {
		writeComparedUpdate(b, "may be refused by OLM v1", u)
		names := definitionsBreaking(u, crdsafety.StoredVersion)
		writeIf(b, len(names) > 0, "  to fix it: if status.storedVersions of %s lists a removed version: store all objects in a version that %s has, and remove the others from that list\n", firstOf(names), u.To)
	}
	for _, u := range s.Unread {
		fmt.Fprintf(b, "%s (%s): its CustomResourceDefinitions are UNKNOWN\n  %s\n", u.Bundle, u.Catalog, u.Error)
	}
	fmt.Fprintf(b, "CRD upgrade safety: %s compared, %d refused, %d possibly refused\n", Number(s.Updates, "update", "updates"), len(s.Refused), len(s.Possible))
}

// writeRefusalRemedy writes how to make an update that OLM v1 refuses. The API server refuses another scope and the
// removal of a stored version itself, so that turning the checks of OLM v1 off does not help there
// (apiextensions-apiserver, validation of CustomResourceDefinitions).
func writeRefusalRemedy(b *strings.Builder, u check.ComparedUpdate) {
	scope, stored := definitionsBreaking(u, crdsafety.Scope), definitionsBreaking(u, crdsafety.StoredVersion)
	const off = "check the custom resources of the cluster, then set spec.install.preflight.crdUpgradeSafety.enforcement of the ClusterExtension to None for this update"
	switch {
	case u.Via != "":
		fmt.Fprintf(b, "  to fix it: pin spec.source.catalog.version of the ClusterExtension to the version of %s first\n", u.Via)
		return
	case len(scope) > 0:
		fmt.Fprintf(b, "  to fix it: the API server refuses a changed scope, too: save the custom resources, uninstall the operator, delete %s, install %s, and create the resources again\n", firstOf(scope), u.To)
		return // a new installation is not compared with anything
	case len(stored) > 0:
		names := firstOf(stored)
		fmt.Fprintf(b, "  to fix it: the API server refuses to remove stored versions, too: store all objects of %s in a version that %s has, and remove the others from its status.storedVersions; or save the objects, uninstall the operator, delete %s, and install %s\n", names, u.To, names, u.To)
	default:
		fmt.Fprintf(b, "  to fix it: %s\n", off)
		return
	}
	other := func(v crdsafety.Violation) bool { return v.Rule != crdsafety.StoredVersion }
	writeIf(b, slices.ContainsFunc(u.Definitions, func(d check.ComparedDefinition) bool { return slices.ContainsFunc(d.Violations, other) }), "  for the other changes: %s\n", off)
}

// definitionsBreaking returns the names of the definitions that break a rule.
func definitionsBreaking(u check.ComparedUpdate, rule crdsafety.Rule) (names []string) {
	for _, d := range u.Definitions {
		if slices.ContainsFunc(d.Violations, func(v crdsafety.Violation) bool { return v.Rule == rule }) {
			names = append(names, d.Name)
		}
	}
	return names
}

// mostViolations is the number of changes that are shown of a definition.
const mostViolations = 5

func writeComparedUpdate(b *strings.Builder, word string, u check.ComparedUpdate) {
	fmt.Fprintf(b, "%s -> %s (package %s of %s): %s\n", u.From, u.To, u.Package, u.Catalog, word)
	for _, d := range u.Definitions {
		for i, v := range d.Violations {
			if i == mostViolations && len(d.Violations) > mostViolations+1 {
				fmt.Fprintf(b, "  %s: %d more changes; -o json lists all\n", d.Name, len(d.Violations)-i)
				break
			}
			fmt.Fprintf(b, "  %s: %s (rule %s)\n", d.Name, v, v.Rule)
		}
	}
}
