package resolve

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A predicate decides whether a bundle satisfies a dependency.
type predicate interface {
	matches(b *bundle) bool
	// String completes the phrase "an operator that ...".
	String() string
}

// predicate reads a property. It returns nil if the type of the property declares no dependency.
func (r *round) predicate(p catalog.Property) (predicate, error) {
	switch p.Type {
	case "olm.gvk.required":
		var a api
		if err := json.Unmarshal(p.Value, &a); err != nil {
			return nil, err
		}
		return providesAPI(a), nil
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
		return hasLabel(value.Label), nil
	case "olm.constraint":
		return r.constraint(p.Value)
	}
	return nil, nil
}

// providesAPI matches bundles that provide the API.
type providesAPI api

func (g providesAPI) matches(b *bundle) bool { return b.provides(api(g)) }
func (g providesAPI) String() string         { return "provides " + api(g).String() }

// hasLabel matches bundles with the label.
type hasLabel string

func (l hasLabel) matches(b *bundle) bool {
	_, found := slices.BinarySearch(b.labels, string(l))
	return found
}
func (l hasLabel) String() string { return "has the label " + printable(string(l)) }

// A packageValue names a package and a version range (github.com/blang/semver grammar).
type packageValue struct {
	PackageName  string `json:"packageName"`
	VersionRange string `json:"versionRange"`
}

// maxRange is the maximum size of a version range in bytes.
const maxRange = 4 << 10

func (v packageValue) predicate() (predicate, error) {
	if len(v.VersionRange) > maxRange {
		return nil, fmt.Errorf("its version range has %d bytes; the limit is %d", len(v.VersionRange), maxRange)
	}
	within, err := graph.ParseRange(v.VersionRange)
	if err != nil {
		return nil, fmt.Errorf("version range %q: %w", printable(v.VersionRange), err)
	}
	return inPackage{name: v.PackageName, text: v.VersionRange, within: within}, nil
}

// inPackage matches bundles of a package with a version in the range.
type inPackage struct {
	name   string
	text   string
	within semver.Range
}

func (v inPackage) matches(b *bundle) bool {
	return b.Package == v.name && b.VersionErr == nil && v.within(b.Version)
}

func (v inPackage) String() string { return "is " + v.phrase() }

func (v inPackage) phrase() string {
	return fmt.Sprintf("package %s in the version range %s", printable(v.name), printable(v.text))
}
