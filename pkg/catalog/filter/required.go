package filter

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// Required is a bundle that others need, of a channel of a package of the
// catalog. The package and the channel need not be selected.
type Required struct {
	Package, Channel, Bundle string
	// For is who needs it, in words: "bundle foo.v1.2.3 of CATALOG".
	For string
}

// gap is the error of a requirement that the catalog has nothing for.
func (r Required) gap(what string) error {
	return fmt.Errorf("adding %s, which %s needs: %s", r.Bundle, r.For, what)
}

// bring adds the packages that are not among those wanted, and that others need.
func bring(c *catalog.Catalog, wanted []want, required []Required) ([]want, error) {
	for _, r := range required {
		if c.Package(r.Package) == nil {
			return nil, r.gap(fmt.Sprintf("package %q was not read", r.Package))
		}
		if !slices.ContainsFunc(wanted, func(w want) bool { return w.Name == r.Package }) {
			wanted = append(wanted, want{Package: imageset.Package{Name: r.Package}, brought: true})
		}
	}
	slices.SortStableFunc(wanted, func(a, b want) int { return cmp.Compare(a.Name, b.Name) })
	return wanted, nil
}

// require asks for what others need, in the channels that are to have it.
func (s *selection) require() error {
	for _, r := range s.required {
		at := slices.IndexFunc(s.works, func(w *work) bool { return w.Name == r.Channel })
		if at < 0 {
			ch := s.pkg.Channel(r.Channel)
			if ch == nil {
				return r.gap(fmt.Sprintf("there is no channel %q", r.Channel))
			}
			s.work(wantedChannel{Channel: ch}).brought = true
			at = len(s.works) - 1
		}
		w := s.works[at]
		i := slices.IndexFunc(w.Entries, func(e catalog.Entry) bool { return e.Name == r.Bundle })
		if i < 0 {
			return r.gap(fmt.Sprintf("channel %q does not have it", r.Channel))
		}
		if w.asked[i].Reason == "" {
			w.asked[i].Reason, w.asked[i].For = Dependency, r.For
		}
	}
	slices.SortStableFunc(s.works, func(a, b *work) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}
