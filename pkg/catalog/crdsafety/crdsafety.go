// Package crdsafety compares CustomResourceDefinitions as OLM v1 does before an update.
//
// OLM v1 does not update an operator if a CustomResourceDefinition of the new bundle could break
// objects or clients of the old one (CRD upgrade safety). [Read] reads a definition from a manifest,
// and [Compare] returns a [Violation] for every change that OLM v1 refuses: of the scope, of stored
// versions, and of the schema of a version, field by field. A change that no rule allows is refused
// too. Changes of descriptions, additional enum values, and wider limits are allowed.
//
// If no webhook converts objects, every two served versions of the new definition are also compared
// with each other, and differences that the old definition does not have are refused.
//
// A cluster knows which versions were ever stored (status.storedVersions). Manifests only have the
// version in which objects are stored now. So the removal of another version is marked as possible.
//
// The rules are those of operator-controller (internal/operator-controller/rukpak/preflights/crdupgradesafety)
// and the library that it uses, in the configuration that it uses:
// https://github.com/operator-framework/operator-controller/blob/main/internal/operator-controller/rukpak/preflights/crdupgradesafety/crdupgradesafety.go
// https://github.com/kubernetes-sigs/crdify/tree/main/pkg/validations
//
// All functions are pure.
package crdsafety

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Rule is a rule of OLM v1 for updates of CustomResourceDefinitions. Rules about one keyword of a
// schema have its name: type, required, enum, default, nullable, pattern, oneOf, minimum, maximum,
// minLength, maxLength, minItems, maxItems, minProperties and maxProperties.
type Rule string

// The rules that are not about one keyword.
const (
	// Scope: the scope must stay Cluster or Namespaced.
	Scope Rule = "scope"
	// StoredVersion: a version in which objects may be stored must not be removed.
	StoredVersion Rule = "storedVersion"
	// RemovedField: a field must not be removed from a version.
	RemovedField Rule = "removedField"
	// OtherChange: no rule allows the change of a keyword, such as format or x-kubernetes-validations.
	OtherChange Rule = "otherChange"
)

// A Violation is a change that OLM v1 refuses.
type Violation struct {
	Rule Rule `json:"rule"`
	// Version is the version of the definition, or two as "v1alpha1 -> v1" if served versions differ
	// from each other; "" if the rule is not about a version.
	Version string `json:"version,omitempty"`
	// Field is the path of the field, such as spec.nodes[].name or spec.labels{}; "" for the object
	// itself.
	Field string `json:"field,omitempty"`
	// Keyword is the keyword of the schema for OtherChange, else "".
	Keyword string `json:"keyword,omitempty"`
	// Old and New are the values of the keyword as JSON; "" if there was or is none.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Possible says that it depends on the status of the definition in the cluster.
	Possible bool `json:"may,omitempty"`
}

// String returns a clause such as "v1: spec.size: maximum was changed from 10 to 5".
func (v Violation) String() string {
	text := v.what()
	for _, where := range []string{v.Field, v.Version} {
		if where != "" {
			text = where + ": " + text
		}
	}
	return text
}

func (v Violation) what() string {
	switch {
	case v.Rule == Scope:
		return fmt.Sprintf("the scope was changed from %s to %s", v.Old, v.New)
	case v.Rule == StoredVersion && v.Possible:
		return "the version was removed, which is refused if status.storedVersions lists it"
	case v.Rule == StoredVersion:
		return "the version in which objects are stored was removed"
	case v.Rule == RemovedField && v.between():
		return "the field is not in both served versions, and no webhook converts objects"
	case v.Rule == RemovedField:
		return "the field was removed"
	case v.Rule == "required":
		return "the field requires more fields: " + v.New
	}
	name := cmp.Or(v.Keyword, string(v.Rule))
	switch {
	case v.between():
		return fmt.Sprintf("%s differs between served versions (%s, %s), and no webhook converts objects", name, shown(v.Old), shown(v.New))
	case v.Old == "":
		return fmt.Sprintf("%s was added: %s", name, shown(v.New))
	case v.New == "":
		return fmt.Sprintf("%s was removed: %s", name, shown(v.Old))
	}
	return fmt.Sprintf("%s was changed from %s to %s", name, shown(v.Old), shown(v.New))
}

// between reports whether a violation is about two served versions.
func (v Violation) between() bool { return strings.Contains(v.Version, arrow) }

// shown returns a value of moderate length.
func shown(value string) string {
	const most = 120
	switch {
	case value == "":
		return "none"
	case len(value) > most:
		return strings.ToValidUTF8(value[:most], "") + "..."
	}
	return value
}

// arrow separates two versions in Violation.Version.
const arrow = " -> "

// Compare returns what OLM v1 refuses if a definition is replaced by another of the same name, sorted
// by version and field.
func Compare(old, next *CRD) []Violation {
	var all []Violation
	if old.Scope != next.Scope {
		all = append(all, Violation{Rule: Scope, Old: old.Scope, New: next.Scope})
	}
	all = append(all, removedVersions(old, next)...)
	for i := range old.Versions {
		was := &old.Versions[i]
		if is := next.version(was.Name); is != nil {
			all = append(all, compareVersions(was.Name, was.fields, is.fields, true)...)
		}
	}
	all = append(all, servedVersions(old, next)...)
	all = topmost(all)
	elements.Sort(all, func(a, b Violation) int {
		return cmp.Or(strings.Compare(a.Version, b.Version), strings.Compare(a.Field, b.Field), strings.Compare(string(a.Rule), string(b.Rule)), strings.Compare(a.Keyword, b.Keyword))
	})
	return all
}

// removedVersions returns the versions that a definition no longer has.
func removedVersions(old, next *CRD) []Violation {
	stored := old.StoredVersions
	if len(stored) == 0 {
		for _, v := range old.Versions {
			if v.Storage {
				stored = append(stored, v.Name)
			}
		}
	}
	var all []Violation
	for _, v := range old.Versions {
		switch certain := slices.Contains(stored, v.Name); {
		case next.version(v.Name) != nil:
		case certain:
			all = append(all, Violation{Rule: StoredVersion, Version: v.Name})
		case len(old.StoredVersions) == 0:
			all = append(all, Violation{Rule: StoredVersion, Version: v.Name, Possible: true})
		}
	}
	return all
}

// servedVersions returns the differences between served versions that the old definition does not have.
func servedVersions(old, next *CRD) []Violation {
	if next.Webhook {
		return nil
	}
	known := map[Violation]bool{}
	for _, v := range betweenServed(old) {
		known[v] = true
	}
	return slices.DeleteFunc(betweenServed(next), func(v Violation) bool { return known[v] })
}

// betweenServed compares every served version with all later ones.
func betweenServed(c *CRD) []Violation {
	var served []*Version
	for i := range c.Versions {
		if c.Versions[i].Served {
			served = append(served, &c.Versions[i])
		}
	}
	elements.Sort(served, func(a, b *Version) int { return compareNames(a.Name, b.Name) })
	var all []Violation
	for i, a := range served {
		for _, b := range served[i+1:] {
			all = append(all, compareVersions(a.Name+arrow+b.Name, a.fields, b.fields, false)...)
		}
	}
	return all
}

// topmost removes violations that others imply: a field within a removed field, and a keyword whose
// subschema has violations of its own.
func topmost(all []Violation) []Violation {
	type place struct{ version, field string }
	removed, broken := map[place]bool{}, map[place]bool{}
	for _, v := range all {
		at := place{v.Version, v.Field}
		broken[at] = true
		if v.Rule == RemovedField {
			removed[at] = true
		}
	}
	within := map[place]bool{} // fields that contain others with violations
	for at := range broken {
		for parent := parentOf(at.field); parent != at.field; at.field, parent = parent, parentOf(parent) {
			within[place{at.version, parent}] = true
		}
	}
	return slices.DeleteFunc(all, func(v Violation) bool {
		if v.Rule == RemovedField && v.Field != "" {
			for f := v.Field; f != ""; {
				f = parentOf(f)
				if removed[place{v.Version, f}] {
					return true
				}
			}
		}
		return v.Rule == OtherChange && v.Keyword == keyAdditional && (broken[place{v.Version, v.Field + "{}"}] || within[place{v.Version, v.Field + "{}"}])
	})
}

// parentOf returns the path of the field that contains a field, "" for the object itself.
func parentOf(field string) string {
	end := strings.LastIndexAny(field, ".[{")
	return field[:max(end, 0)]
}
