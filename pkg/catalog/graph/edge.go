package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// An EdgeKind tells why an entry is an update: "replaces", "skips" or "skipRange".
type EdgeKind string

// The kinds of edges. An entry with several edges from a bundle counts as the first of these.
const (
	Replaces  EdgeKind = "replaces"
	Skips     EdgeKind = "skips"
	SkipRange EdgeKind = "skipRange"
)

// Edge reports whether OLM offers the entry as an update to a cluster that runs the bundle with the
// name and version: the entry replaces it, skips it, or has a skipRange (github.com/blang/semver
// grammar) that covers the version. An invalid skipRange is not an edge; pkg/catalog/validate
// reports it.
func Edge(e catalog.Entry, name string, version semver.Version) bool {
	if names(e, name) != "" {
		return true
	}
	within, err := Range(e)
	return err == nil && within(version)
}

// names returns the kind of the edge by name (replaces or skips) from a bundle, "" if there is
// none.
func names(e catalog.Entry, name string) EdgeKind {
	switch {
	case name == "":
		return ""
	case e.Replaces == name:
		return Replaces
	case slices.Contains(e.Skips, name):
		return Skips
	}
	return ""
}

// Range parses an entry's skipRange. The range of an entry without one covers no version. The error
// is the one of blang/semver and contains the text.
func Range(e catalog.Entry) (semver.Range, error) {
	if e.SkipRange == "" {
		return func(semver.Version) bool { return false }, nil
	}
	return ParseRange(e.SkipRange)
}

// ParseRange parses a range of versions. The error is the one of blang/semver, or for an empty alternative, as in
// "1.0.0 || || 2.0.0", one of its own: such ranges of blang/semver panic when they are used. As there, a word of one
// character is no version.
func ParseRange(text string) (semver.Range, error) {
	within, err := semver.ParseRange(text)
	isEmpty := func(part string) bool {
		return !slices.ContainsFunc(strings.Fields(part), func(word string) bool { return len(word) > 1 })
	}
	if err == nil && slices.ContainsFunc(strings.Split(text, "||"), isEmpty) {
		return nil, fmt.Errorf("%q has an empty alternative", text)
	}
	return within, err
}
