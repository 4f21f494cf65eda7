package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// lint checks metrics that have samples by the rules of promtool check metrics: help texts, names, units and suffixes.
// It returns a line for each problem.
func lint(all ...Metric) (problems []string) {
	seen := map[string]bool{}
	for _, m := range all {
		if len(m.Samples) == 0 {
			continue
		}
		bad := func(format string, args ...any) {
			problems = append(problems, m.Name+": "+fmt.Sprintf(format, args...))
		}
		if seen[m.Name] {
			bad("is there twice")
		}
		seen[m.Name] = true
		if m.Help == "" {
			bad("no help text")
		}
		lintName(m, bad)
		for _, s := range m.Samples {
			lintLabels(s, bad)
		}
	}
	return problems
}

// otherUnits are units and abbreviations that metrics must not have: they have base units.
var otherUnits = []string{
	"milliseconds", "microseconds", "nanoseconds", "minutes", "hours", "days", "weeks", "ms", "sec", "secs", "min", "mins", "kilobytes", "megabytes", "gigabytes",
	"kib", "mib", "gib", "kb", "mb", "gb", "bits", "percent", "pct", "kilometers", "fahrenheit",
}

func lintName(m Metric, bad func(string, ...any)) {
	words := strings.Split(m.Name, "_")
	if !isName(m.Name) || m.Name != strings.ToLower(m.Name) {
		bad("a name has lower case letters, digits and _")
	}
	for _, w := range words {
		switch {
		case w == "":
			bad("an empty word in the name")
		case slices.Contains(otherUnits, w):
			bad("%s is no base unit", w)
		case slices.Contains([]string{"gauge", "counter", "summary", "histogram", "metric", "metrics"}, w):
			bad("the name contains the type %s", w)
		}
	}
	last := words[len(words)-1]
	switch {
	case m.Type != Gauge && m.Type != Counter:
		bad("unknown type %q", m.Type)
	case m.Type == Counter != (last == "total"):
		bad("counters, and only they, end in _total")
	case slices.Contains([]string{"count", "sum", "bucket", "info"}, last):
		bad("_%s is for histograms, summaries and information", last)
	}
	if words[0] != "gantry" {
		bad("the name begins with gantry_")
	}
}

func lintLabels(s Sample, bad func(string, ...any)) {
	if len(s.Labels)%2 != 0 {
		bad("a label has no value")
		return
	}
	seen := map[string]bool{}
	for pair := range slices.Chunk(s.Labels, 2) {
		name := pair[0]
		if !isName(name) || name != strings.ToLower(name) || strings.HasPrefix(name, "__") || slices.Contains([]string{"le", "quantile", "job", "instance"}, name) || seen[name] {
			bad("the label %q is reserved, twice there or has other characters than lower case letters, digits and _", name)
		}
		seen[name] = true
	}
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
