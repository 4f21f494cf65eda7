package filter

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// Required is a bundle that others need, from a channel of a package of the catalog. The package
// and the channel need not be selected.
type Required struct {
	Package, Channel, Bundle string
	// For names what needs it: "bundle foo.v1.2.3 of CATALOG".
	For string
}

// unavailable returns the error of a requirement that the catalog cannot satisfy.
func (r Required) unavailable(what string) error {
	return fmt.Errorf("adding %s, which %s needs: %s", r.Bundle, r.For, what)
}

// addRequired adds requests for packages that are not selected and that others need.
func addRequired(c *catalog.Catalog, requests []request, required []Required) ([]request, error) {
	for _, r := range required {
		if c.Package(r.Package) == nil {
			return nil, r.unavailable(fmt.Sprintf("package %q was not read", r.Package))
		}
		if !slices.ContainsFunc(requests, func(w request) bool { return w.Name == r.Package }) {
			requests = append(requests, request{Package: imageset.Package{Name: r.Package}, dependency: true})
		}
	}
	elements.Sort(requests, func(a, b request) int { return cmp.Compare(a.Name, b.Name) })
	return requests, nil
}

// addDependencies requests the required bundles in their channels.
func (s *selection) addDependencies() error {
	for _, r := range s.required {
		at := slices.IndexFunc(s.drafts, func(w *draft) bool { return w.Name == r.Channel })
		if at < 0 {
			ch := s.pkg.Channel(r.Channel)
			if ch == nil {
				return r.unavailable(fmt.Sprintf("there is no channel %q", r.Channel))
			}
			s.draft(requestedChannel{Channel: ch}).dependency = true
			at = len(s.drafts) - 1
		}
		w := s.drafts[at]
		i := slices.IndexFunc(w.Entries, func(e catalog.Entry) bool { return e.Name == r.Bundle })
		if i < 0 {
			return r.unavailable(fmt.Sprintf("channel %q does not have it", r.Channel))
		}
		if w.requested[i].Reason == "" {
			w.requested[i].Reason, w.requested[i].For = Dependency, r.For
		}
	}
	elements.Sort(s.drafts, func(a, b *draft) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}
