package crdsafety

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// compareVersions compares the fields of two versions. The version is their name in violations. same
// says that they are the same version of two definitions: then fields without any rule may not be
// removed either.
func compareVersions(version string, old, next map[string]node, same bool) []Violation {
	var all []Violation
	for _, field := range slices.Sorted(maps.Keys(old)) {
		was := old[field]
		is, ok := next[field]
		if !ok {
			if same || was.restricts() {
				all = append(all, Violation{Rule: RemovedField, Version: version, Field: field})
			}
			continue
		}
		for _, v := range compareNodes(was, is) {
			v.Version, v.Field = version, field
			all = append(all, v)
		}
	}
	return all
}

// restricts reports whether a schema has keywords besides a description.
func (n node) restricts() bool {
	return slices.ContainsFunc(keywords(), func(key string) bool { return n.text(key) != "" })
}

// compareNodes compares two schemas without the fields within them.
func compareNodes(old, next node) []Violation {
	var all []Violation
	for _, key := range keywords() {
		was, is := old.text(key), next.text(key)
		if was == is {
			continue
		}
		v := Violation{Rule: Rule(key), Old: was, New: is}
		refused := true
		switch key {
		case "type", "nullable", "default", "pattern", keyOneOf:
		case "required":
			added := without(list(next, key), list(old, key))
			v.Old, v.New, refused = "", strings.Join(added, ", "), len(added) > 0
		case "enum":
			refused = was == "" || len(without(list(old, key), list(next, key))) > 0
		case "minimum", "minLength", "minItems", "minProperties":
			refused = tightened(was, is, func(old, next float64) bool { return next > old })
		case "maximum", "maxLength", "maxItems", "maxProperties":
			refused = tightened(was, is, func(old, next float64) bool { return next < old })
		default:
			v.Rule, v.Keyword = OtherChange, key
		}
		if refused {
			all = append(all, v)
		}
	}
	return all
}

// tightened reports whether a limit was added, or changed for the worse.
func tightened(was, is string, worse func(old, next float64) bool) bool {
	if was == "" || is == "" {
		return was == ""
	}
	old, errOld := strconv.ParseFloat(was, 64)
	next, errNext := strconv.ParseFloat(is, 64)
	return errOld != nil || errNext != nil || worse(old, next)
}

// list returns the elements of a keyword that is a set: strings as they are, others as JSON.
func list(n node, key string) []string {
	values, _ := n[key].([]any)
	all := texts(values)
	if key == "required" {
		for i, text := range all {
			var name string
			if json.Unmarshal([]byte(text), &name) == nil {
				all[i] = name
			}
		}
	}
	return all
}

// without returns the elements of a set that are not in another.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(others, s) })
}
