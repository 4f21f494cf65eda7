package registries

import (
	"slices"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/registrytest/profiletest"
)

// samples are the lines that make test runs.
var samples = []string{"distribution2", "Harbor", "Quay"}

// registries are the lines of the table.
func registries() (all []registry) {
	for _, r := range rt.Registries() {
		all = append(all, registry{name: r.Name, module: r.Module, ends: ends()[r.Name]})
	}
	for _, p := range profiletest.Profiles() {
		all = append(all, registry{name: p.Name, profile: &p, first: "team", ends: ends()[p.Name]})
	}
	all = append(all, registry{name: "`gantry archive serve`", served: true, ends: ends()["serve"]})
	for i := range all {
		all[i].sample = slices.Contains(samples, all[i].name)
	}
	return all
}

// ends are how steps end otherwise than at registries that follow the specification, by registry and step.
func ends() map[string]map[string]result {
	const (
		immutable = "permit changes of this tag at the registry, or set targetTag"
		quota     = "raise the quota at the registry"
		noDelete  = "refuses to delete content, so nothing was deleted"
		creates   = "the registry does not create repositories on push"
	)
	late := result{12, "are valid and permit this", "ends; works with a new password"}
	missing := map[string]result{
		"expiry": late,
		"create": {3, creates, "create repositories first"},
		"move":   {3, immutable, "immutable tags stay"},
	}
	old := map[string]result{
		"expiry": late,
		"create": {3, creates, "create repositories first"},
		"copy":   {3, "'Invalid JSON syntax' (HTTP 405 UNSUPPORTED)", "without referrers and records"},
		"again":  {3, "'Invalid JSON syntax' (HTTP 405 UNSUPPORTED)", "without referrers and records"},
		"resume": {3, "'Invalid JSON syntax' (HTTP 405 UNSUPPORTED)", "without referrers and records"},
		"move":   {3, immutable, "immutable tags stay"},
		"quota":  {3, "'Invalid JSON syntax' (HTTP 405 UNSUPPORTED)", "without referrers and records"},
		"prune":  {10, "has no records of image sets", "no records"},
		"verify": {10, "it has no record of an image set", "no records: with `-c`"},
	}
	readOnly := result{1, "this registry is read-only (HTTP 405 UNSUPPORTED); make it writable if it is read-only", "refused: it is read-only"}
	return map[string]map[string]result{
		"serve": {
			"create": readOnly, "sparse": readOnly, "move": readOnly, "quota": readOnly,
			"prune":  {10, "has no records of image sets", "no records"},
			"verify": {0, "was read and matches its digest", "works, with `-c`"},
		},
		"ociregistry": {"sparse": {}},
		"Quay": {
			"move":  {3, immutable, "immutable tags stay"},
			"quota": {3, quota, "says to raise the quota"},
		},
		"Harbor": {
			"create": {12, "create the project team at", "create projects first"},
			"move":   {3, immutable, "immutable tags stay"},
			"quota":  {3, quota, "says to raise the quota"},
		},
		"Artifactory": {
			"move":  {3, "permit the user to overwrite tags", "needs the permission to overwrite"},
			"prune": {3, noDelete, "refused: delete with its own tools"},
		},
		"Nexus":       {"expiry": {note: "–"}},
		"ECR":         missing,
		"ECR of 2022": old,
		"GHCR":        {"prune": {3, noDelete, "refused: delete with its own tools"}},
	}
}
