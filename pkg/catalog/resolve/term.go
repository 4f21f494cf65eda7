package resolve

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// An api is a kind of resource that one operator provides and others require.
type api struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func (a api) String() string {
	if a.Group == "" {
		return printable(a.Version) + " " + printable(a.Kind)
	}
	return printable(a.Group) + "/" + printable(a.Version) + " " + printable(a.Kind)
}

func compareAPIs(a, b api) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
}

// A valueCache holds the values of properties, so that each is parsed once: the versions of an
// operator mostly provide the same.
type valueCache struct {
	apis   map[string]api
	labels map[string]string
}

// provided returns what a bundle provides. As in OLM, values that cannot be parsed are ignored.
func (t *valueCache) provided(b *catalog.Bundle) (apis []api, labels []string, deprecated bool) {
	for _, p := range b.Properties {
		switch p.Type {
		case "olm.gvk":
			a, known := t.apis[string(p.Value)]
			if !known {
				if json.Unmarshal(p.Value, &a) != nil {
					continue
				}
				t.apis[string(p.Value)] = a
			}
			apis = append(apis, a)
		case "olm.label":
			l, known := t.labels[string(p.Value)]
			if !known {
				var value struct {
					Label string `json:"label"`
				}
				if json.Unmarshal(p.Value, &value) != nil {
					continue
				}
				l = value.Label
				t.labels[string(p.Value)] = l
			}
			labels = append(labels, l)
		case "olm.deprecated":
			deprecated = true
		}
	}
	elements.Sort(apis, compareAPIs)
	slices.Sort(labels)
	return slices.Compact(apis), slices.Compact(labels), deprecated
}

// provides reports whether the bundle provides an API.
func (b *bundle) provides(a api) bool {
	_, found := slices.BinarySearchFunc(b.apis, a, compareAPIs)
	return found
}

// conflicts reports whether OLM would not install the two bundles in one namespace: it installs
// only one bundle of a package, and only one provider of an API.
func (b *bundle) conflicts(other *bundle) bool {
	if b == other {
		return false
	}
	if b.Package == other.Package {
		return true
	}
	for i, j := 0, 0; i < len(b.apis) && j < len(other.apis); {
		switch c := compareAPIs(b.apis[i], other.apis[j]); {
		case c == 0:
			return true
		case c < 0:
			i++
		default:
			j++
		}
	}
	return false
}
