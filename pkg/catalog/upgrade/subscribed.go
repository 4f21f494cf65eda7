package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// follows reports whether an operator's Subscription names the CatalogSource of a catalog. Without
// a namespace, the name alone decides.
func follows(o installed.Operator, k Catalog) bool {
	if o.Generation != graph.Classic || o.Catalog == "" || k.CatalogSource == "" {
		return false
	}
	namespace, name, _ := strings.Cut(o.Catalog, "/")
	own, called, _ := strings.Cut(k.CatalogSource, "/")
	return name == called && (namespace == "" || namespace == own)
}

// subscribed returns the catalogs that may update an operator: the one that its Subscription names,
// or all if it names none of the mirror.
func subscribed(o installed.Operator, catalogs []Catalog) []Catalog {
	its := elements.Filter(catalogs, func(k Catalog) bool { return follows(o, k) })
	if len(its) > 0 {
		return its
	}
	return catalogs
}

// sourceNote returns a note on a Subscription that names no catalog of the mirror, else "". best is
// the name of the catalog with the best path.
func sourceNote(o installed.Operator, catalogs []Catalog, best string) string {
	at := slices.IndexFunc(catalogs, func(k Catalog) bool { return k.Name == best })
	if o.Generation != graph.Classic || o.Catalog == "" || catalogs[at].CatalogSource == "" || follows(o, catalogs[at]) {
		return ""
	}
	return fmt.Sprintf("the source of its Subscription, %s, is not a CatalogSource of this mirror; change it to %s to get the update", o.Catalog, catalogs[at].CatalogSource)
}

// notMirrored explains that no catalog that may update an operator has its package. The mirror is
// incomplete if the operator was installed from it: its Subscription names a catalog of the mirror,
// or, if these names are unknown, a catalog of the configuration has the package and the mirror
// does not. Clusters may have operators of other catalogs, too.
func notMirrored(o installed.Operator, catalogs []Catalog) (Outcome, string, []Fix) {
	its := subscribed(o, catalogs)
	own := slices.ContainsFunc(its, func(k Catalog) bool { return follows(o, k) })
	var fixes []Fix
	why, known := "", 0
	for _, k := range its {
		if k.Source == nil {
			continue
		}
		known++
		if find(k.Source, o.Package) != nil || slices.Contains(k.Source.Names, o.Package) {
			why = fmt.Sprintf("package %s is not mirrored, so it gets no updates", o.Package)
			fixes = []Fix{{
				Catalog: k.Name, Package: o.Package,
				Message: fmt.Sprintf("add package %s to catalog %s in the configuration, and %s to its installed", o.Package, k.Name, installedEntry(o)),
			}}
			break
		}
	}
	named := o.Generation == graph.Classic && o.Catalog != "" && slices.ContainsFunc(catalogs, func(k Catalog) bool { return k.CatalogSource != "" })
	switch {
	case own:
		for _, k := range catalogs {
			if k.Kept.Package(o.Package) != nil {
				fixes = append(fixes, Fix{Catalog: k.Name, Package: o.Package, Message: fmt.Sprintf(
					"set the source of its Subscription to %s, which has the package", k.CatalogSource)})
			}
		}
		why = cmp.Or(why, fmt.Sprintf("the mirror's copy of its catalog %s does not have package %s, so it gets no updates", o.Catalog, o.Package))
		return NotMirrored, why, fixes
	case named:
		return OtherSource, fmt.Sprintf("the source of its Subscription, %s, is not a CatalogSource of this mirror, and the mirror does not have package %s", o.Catalog, o.Package), fixes
	case why != "":
		return NotMirrored, why, fixes
	case known < len(its) || known == 0:
		return OtherSource, fmt.Sprintf("the mirror does not have package %s; if it was installed from this mirror, it gets no more updates", o.Package), nil
	}
	return OtherSource, fmt.Sprintf("no catalog of the configuration has package %s, so it gets no updates from the mirror", o.Package), nil
}
