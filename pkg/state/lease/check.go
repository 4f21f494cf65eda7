package lease

import (
	"context"
	"slices"
	"strings"
)

// Check returns a *HeldError if a run has a lease of the registry. It writes nothing, so another run may begin
// right after it. ended reports whether a run has certainly ended without releasing its lease.
func Check(ctx context.Context, registry Registry, ended func(Record) bool) error {
	tags, err := registry.Tags(ctx)
	if err != nil {
		return err
	}
	slices.Sort(tags)
	l := &Lease{registry: registry}
	for _, tag := range tags {
		if tag != TagCurrent && (!strings.HasPrefix(tag, shardPrefix) || strings.HasSuffix(tag, nextSuffix)) {
			continue
		}
		r, err := l.read(ctx, tag)
		if err != nil {
			return err
		}
		if r != nil && !r.Released && !ended(*r) && registry.Now().Sub(r.Renewed) <= staleAfter {
			return &HeldError{By: *r}
		}
	}
	return nil
}
