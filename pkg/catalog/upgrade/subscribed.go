package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// follows reports whether an operator's Subscription names the CatalogSource of a
// catalog. One that says nothing of its namespace is taken at its name.
func follows(o installed.Operator, k Catalog) bool {
	if o.Generation != graph.Classic || o.Catalog == "" || k.CatalogSource == "" {
		return false
	}
	namespace, name, _ := strings.Cut(o.Catalog, "/")
	own, called, _ := strings.Cut(k.CatalogSource, "/")
	return name == called && (namespace == "" || namespace == own)
}

// subscribed are the catalogs that may update an operator: that of its
// Subscription, or all where it has none of the mirror's.
func subscribed(o installed.Operator, catalogs []Catalog) []Catalog {
	var its []Catalog
	for _, k := range catalogs {
		if follows(o, k) {
			its = append(its, k)
		}
	}
	if len(its) > 0 {
		return its
	}
	return catalogs
}

// moved is a note on a Subscription that names none of the mirror's catalogs, of
// which the best is called by its name.
func moved(o installed.Operator, catalogs []Catalog, best string) string {
	at := slices.IndexFunc(catalogs, func(k Catalog) bool { return k.Name == best })
	if o.Generation != graph.Classic || o.Catalog == "" || catalogs[at].CatalogSource == "" || follows(o, catalogs[at]) {
		return ""
	}
	return fmt.Sprintf("its Subscription has the source %s, which is none of this mirror's CatalogSources; the update comes once that is changed to %s", o.Catalog, catalogs[at].CatalogSource)
}

// absent says what it means that no catalog which may update an operator has its
// package. That is a fault of the mirror where the operator is one of its own: its
// Subscription names a catalog of the mirror, or, where the names are not known, a
// catalog of the configuration has the package and it was left out. Clusters have
// operators of other catalogs, too.
func absent(o installed.Operator, catalogs []Catalog) (Outcome, string, []Mend) {
	its := subscribed(o, catalogs)
	own := slices.ContainsFunc(its, func(k Catalog) bool { return follows(o, k) })
	var mends []Mend
	why, known := "", 0
	for _, k := range its {
		if k.Source == nil {
			continue
		}
		known++
		if find(k.Source, o.Package) != nil || slices.Contains(k.Source.Names, o.Package) {
			why = fmt.Sprintf("the mirror leaves out package %s, so that it gets no updates", o.Package)
			mends = []Mend{{
				Catalog: k.Name, Package: o.Package,
				Message: fmt.Sprintf("add package %s to catalog %s in the configuration, and %s to its installed", o.Package, k.Name, entry(o)),
			}}
			break
		}
	}
	named := o.Generation == graph.Classic && o.Catalog != "" && slices.ContainsFunc(catalogs, func(k Catalog) bool { return k.CatalogSource != "" })
	switch {
	case own:
		for _, k := range catalogs {
			if k.Kept.Package(o.Package) != nil {
				mends = append(mends, Mend{Catalog: k.Name, Package: o.Package, Message: fmt.Sprintf(
					"set the source of its Subscription to %s, which has the package", k.CatalogSource)})
			}
		}
		if why == "" {
			why = fmt.Sprintf("its catalog %s does not have package %s in the mirror, so that it gets no updates", o.Catalog, o.Package)
		}
		return NotMirrored, why, mends
	case named:
		return Elsewhere, fmt.Sprintf("its Subscription has the source %s, which is none of this mirror's CatalogSources, and the mirror does not have package %s", o.Catalog, o.Package), mends
	case why != "":
		return NotMirrored, why, mends
	case known < len(its) || known == 0:
		return Elsewhere, fmt.Sprintf("the mirror does not have package %s; if it came from this mirror, it gets no more updates", o.Package), nil
	}
	return Elsewhere, fmt.Sprintf("no catalog of the configuration has package %s, so that it gets no updates from the mirror", o.Package), nil
}
