package explain

import (
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/snapshot"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// addFeatures adds the features that the explained bundles declare. Plans do not have them: they are read
// from the parsed catalogs in the cache of the workspace, and stay unknown without these.
func addFeatures(e *env.Env, found *plan.Explanation, p *plan.Plan, folder string) {
	stored := state.OpenSnapshots(workspace.CacheDir(e, folder))
	add := func(bundles []plan.ExplainedBundle) {
		for i := range bundles {
			b := &bundles[i]
			for _, c := range p.Catalogs {
				if b.Features == nil && c.Name() == b.Catalog {
					var known bool
					b.Features, known = storedFeatures(stored, c.SourceDigest, b.Package, b.Name)
					b.FeaturesUnknown = !known
				}
			}
		}
	}
	add(found.Bundles)
	for i := range found.Images {
		add(found.Images[i].Bundles)
	}
}

// storedFeatures returns what a bundle of a parsed catalog declares, or nil if that is nothing, and
// whether it is known. A catalog without digest, a folder, is not in the cache.
func storedFeatures(stored state.Snapshots, root digest.Digest, pkg, bundle string) (declared *plan.DeclaredFeatures, known bool) {
	if root == "" {
		return nil, false
	}
	f, err := stored.Snapshot(root)
	if err != nil {
		return nil, false
	}
	defer f.Close() // only read from
	info, err := f.Stat()
	r, ok := f.(io.ReaderAt)
	if err != nil || !ok {
		return nil, false
	}
	s, err := snapshot.Open(r, info.Size(), root)
	if err != nil {
		return nil, false
	}
	c, err := s.Catalog(catalog.Options{Keep: func(name string) bool { return name == pkg }})
	if err != nil || c.Package(pkg) == nil {
		return nil, false
	}
	found := listing.FeaturesOf(c.Package(pkg).Bundle(bundle))
	if found == nil {
		return nil, true
	}
	return &plan.DeclaredFeatures{Package: pkg, Bundle: bundle, Supported: found.Supported, Unsupported: found.Unsupported}, true
}
