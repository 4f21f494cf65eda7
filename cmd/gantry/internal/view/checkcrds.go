package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry"
)

// writeCRDSafety writes which updates OLM v1 refuses because of CustomResourceDefinitions.
func writeCRDSafety(b *strings.Builder, s *gantry.CRDSafety) {
	if s == nil {
		return
	}
	for _, u := range s.Refused {
		writeComparedUpdate(b, "REFUSED by OLM v1", u)
		if u.Via != "" {
			fmt.Fprintf(b, "  to fix it: pin spec.source.catalog.version of the ClusterExtension to the version of %s first\n", u.Via)
		} else {
			fmt.Fprintf(b, "  to fix it: check the custom resources of the cluster, then set spec.install.preflight.crdUpgradeSafety.enforcement of the ClusterExtension to None for this update\n")
		}
	}
	for _, u := range s.Possible {
		writeComparedUpdate(b, "may be refused by OLM v1", u)
	}
	for _, u := range s.Unread {
		fmt.Fprintf(b, "%s (%s): its CustomResourceDefinitions are UNKNOWN\n  %s\n", u.Bundle, u.Catalog, u.Error)
	}
	fmt.Fprintf(b, "CRD upgrade safety: %s compared, %d refused, %d possibly refused\n", Number(s.Updates, "update", "updates"), len(s.Refused), len(s.Possible))
}

// mostViolations is the number of changes that are shown of a definition.
const mostViolations = 5

func writeComparedUpdate(b *strings.Builder, word string, u gantry.ComparedUpdate) {
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
