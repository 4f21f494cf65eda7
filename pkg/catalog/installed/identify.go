package installed

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Identify fills in the package of operators that do not name it: if only one package of the catalogs, outlined
// packages included, has a bundle of their name, it is that one. It returns a copy and keeps the order and all
// other fields. Plans and checks both interpret the objects of clusters this way.
func Identify(operators []Operator, catalogs ...*catalog.Catalog) []Operator {
	operators = slices.Clone(operators)
	for i, o := range operators {
		if !o.isUnidentified() {
			continue
		}
		var packages []string
		for _, c := range catalogs {
			if c == nil {
				continue
			}
			for _, p := range slices.Concat(c.Packages, c.Outlines) {
				if p.Bundle(o.Bundle) != nil && !slices.Contains(packages, p.Name) {
					packages = append(packages, p.Name)
				}
			}
		}
		if len(packages) == 1 {
			operators[i] = o.In(packages[0])
			operators[i].Notes = append(slices.Clip(operators[i].Notes), fmt.Sprintf("its package was inferred: only package %s has a bundle of this name", packages[0]))
		}
	}
	return operators
}

// Unidentified reports whether Identify may find the package of an operator.
func Unidentified(operators []Operator) bool {
	return slices.ContainsFunc(operators, Operator.isUnidentified)
}

func (o Operator) isUnidentified() bool { return o.Package == "" && o.Bundle != "" }
