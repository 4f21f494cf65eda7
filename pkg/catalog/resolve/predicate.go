package resolve

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A predicate is what one bundle must be to meet a need.
type predicate interface {
	meets(b *bundle) bool
	// String is the predicate as the end of "an operator that", for people.
	String() string
}

// predicate reads a property. It is nil for one of a type that asks for nothing.
func (r *round) predicate(p catalog.Property) (predicate, error) {
	switch p.Type {
	case "olm.gvk.required":
		var a api
		if err := json.Unmarshal(p.Value, &a); err != nil {
			return nil, err
		}
		return gives(a), nil
	case "olm.package.required":
		var value packageValue
		if err := json.Unmarshal(p.Value, &value); err != nil {
			return nil, err
		}
		return value.predicate()
	case "olm.label.required":
		var value struct {
			Label string `json:"label"`
		}
		if err := json.Unmarshal(p.Value, &value); err != nil {
			return nil, err
		}
		return labelled(value.Label), nil
	case "olm.constraint":
		return r.constraint(p.Value)
	}
	return nil, nil
}

// gives is met by a bundle that gives the API.
type gives api

func (g gives) meets(b *bundle) bool { return b.gives(api(g)) }
func (g gives) String() string       { return "provides " + api(g).String() }

// labelled is met by a bundle with the label.
type labelled string

func (l labelled) meets(b *bundle) bool {
	_, found := slices.BinarySearch(b.labels, string(l))
	return found
}
func (l labelled) String() string { return "has the label " + plain(string(l)) }

// A packageValue names a package and a range of its versions
// (github.com/blang/semver grammar).
type packageValue struct {
	PackageName  string `json:"packageName"`
	VersionRange string `json:"versionRange"`
}

// maxRange is how long the text of a range may be.
const maxRange = 4 << 10

func (v packageValue) predicate() (predicate, error) {
	if len(v.VersionRange) > maxRange {
		return nil, fmt.Errorf("its version range has %d bytes, and Gantry reads at most %d", len(v.VersionRange), maxRange)
	}
	within, err := semver.ParseRange(v.VersionRange)
	if err != nil {
		return nil, fmt.Errorf("version range %q: %w", plain(v.VersionRange), err)
	}
	return versions{name: v.PackageName, text: v.VersionRange, within: within}, nil
}

// versions is met by a bundle of the package whose version lies in the range.
type versions struct {
	name   string
	text   string
	within semver.Range
}

func (v versions) meets(b *bundle) bool {
	return b.Package == v.name && b.VersionErr == nil && v.within(b.Version)
}

func (v versions) String() string { return "is " + v.noun() }

func (v versions) noun() string {
	return fmt.Sprintf("package %s in the version range %s", plain(v.name), plain(v.text))
}
