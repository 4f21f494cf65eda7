package resolve

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// An api is a kind of resource that one operator gives and others need.
type api struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func (a api) String() string {
	if a.Group == "" {
		return plain(a.Version) + " " + plain(a.Kind)
	}
	return plain(a.Group) + "/" + plain(a.Version) + " " + plain(a.Kind)
}

func compareAPIs(a, b api) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
}

// terms are the values of properties, read once: the versions of an operator
// mostly give the same.
type terms struct {
	apis   map[string]api
	labels map[string]string
}

// given is what a bundle gives. Values that cannot be read give nothing, as in
// OLM.
func (t *terms) given(b *catalog.Bundle) (apis []api, labels []string, excluded bool) {
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
			excluded = true
		}
	}
	slices.SortFunc(apis, compareAPIs)
	slices.Sort(labels)
	return slices.Compact(apis), slices.Compact(labels), excluded
}

// gives reports whether the bundle gives an API.
func (b *bundle) gives(a api) bool {
	_, found := slices.BinarySearchFunc(b.apis, a, compareAPIs)
	return found
}

// excludes reports whether OLM would not install the two bundles in one
// namespace: there is one bundle of a package, and one that gives an API.
func (b *bundle) excludes(other *bundle) bool {
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
