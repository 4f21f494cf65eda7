package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/crdsafety"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// CRDSafety is what OLM v1's CRD upgrade safety would say about the updates between the bundles of a
// mirror.
type CRDSafety struct {
	// Updates is the number of updates that were compared.
	Updates int `json:"updates"`
	// Refused are the updates that OLM v1 refuses.
	Refused []ComparedUpdate `json:"refused,omitempty"`
	// Possible are updates that it may refuse: that depends on status.storedVersions in the cluster.
	Possible []ComparedUpdate `json:"possible,omitempty"`
	// Unread are the bundles whose CustomResourceDefinitions are unknown.
	Unread []UnreadBundle `json:"unread,omitempty"`
}

// A ComparedUpdate is an update with changes of CustomResourceDefinitions that OLM v1 refuses.
type ComparedUpdate struct {
	Catalog string `json:"catalog"`
	Package string `json:"package"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Definitions are the CustomResourceDefinitions with such changes, sorted by name.
	Definitions []ComparedDefinition `json:"definitions"`
	// Via is a bundle of the mirror between the two over which the update is not certainly refused, or
	// "".
	Via string `json:"via,omitempty"`
}

// A ComparedDefinition is a CustomResourceDefinition with changes that OLM v1 refuses.
type ComparedDefinition struct {
	Name       string                `json:"name"`
	Violations []crdsafety.Violation `json:"violations"`
}

// An UnreadBundle is a bundle whose CustomResourceDefinitions could not be read.
type UnreadBundle struct {
	Catalog string `json:"catalog"`
	Package string `json:"package"`
	Bundle  string `json:"bundle"`
	Error   string `json:"error"`
}

// definitionStreams is how many images of bundles are read at the same time.
const definitionStreams = 4

// checkDefinitions compares the CustomResourceDefinitions of the bundles between which OLM v1 updates:
// of the mirror, and of the installed ones that the source has.
func (c *operatorCheck) checkDefinitions(ctx context.Context, s *build.Selection, upgrades upgrade.Report) (*CRDSafety, error) {
	result := &CRDSafety{}
	for _, selected := range s.Catalogs {
		name := selected.Catalog.Name()
		for _, p := range selected.Result.Catalog.Packages {
			var original *catalog.Package
			if selected.Original != nil {
				original = selected.Original.Package(p.Name)
			}
			k := &comparedPackage{name: name, kept: p, source: original, hops: upgrade.Neighbors(p)}
			k.addInstalled(upgrades)
			if err := k.read(ctx, c.readers(name)); err != nil {
				return nil, err
			}
			k.compare(result)
		}
	}
	return result, nil
}

// A comparedPackage is a package whose updates are compared.
type comparedPackage struct {
	name         string // of its catalog
	kept, source *catalog.Package
	hops         []graph.Hop
	// definitions are the CustomResourceDefinitions of bundles by name; a bundle that could not be read
	// is in failed.
	definitions map[string]map[string]*crdsafety.CRD
	failed      map[string]error
}

// addInstalled adds the updates from installed bundles that the mirror does not have.
func (k *comparedPackage) addInstalled(upgrades upgrade.Report) {
	for _, o := range upgrades.Operators {
		if o.Package != k.kept.Name || o.Generation != graph.V1.String() {
			continue
		}
		for _, path := range o.Paths {
			if path.Catalog != k.name || len(path.Hops) == 0 {
				continue
			}
			first := graph.Hop{From: path.Hops[0].From, To: path.Hops[0].To}
			known := slices.ContainsFunc(k.hops, func(h graph.Hop) bool { return h.From == first.From && h.To == first.To })
			if !known && k.bundle(first.From) != nil {
				k.hops = append(k.hops, first)
			}
		}
	}
}

// bundle returns a bundle of the mirror, else of the source, else nil.
func (k *comparedPackage) bundle(name string) *catalog.Bundle {
	if b := k.kept.Bundle(name); b != nil || k.source == nil {
		return b
	}
	return k.source.Bundle(name)
}

// read reads the CustomResourceDefinitions of the bundles at both ends of the updates.
func (k *comparedPackage) read(ctx context.Context, read bundleReader) error {
	names := map[string]bool{}
	for _, h := range k.hops {
		names[h.From], names[h.To] = true, true
	}
	k.definitions, k.failed = map[string]map[string]*crdsafety.CRD{}, map[string]error{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(definitionStreams)
	for name := range names {
		b := k.bundle(name)
		g.Go(func() error {
			found, err := definitionsOf(ctx, b, read)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			mu.Lock()
			defer mu.Unlock()
			k.definitions[name] = found
			if err != nil {
				k.failed[name] = err
			}
			return nil
		})
	}
	return g.Wait()
}

// compare adds the result of every update of the package.
func (k *comparedPackage) compare(result *CRDSafety) {
	for _, name := range slices.Sorted(maps.Keys(k.failed)) {
		result.Unread = append(result.Unread, UnreadBundle{k.name, k.kept.Name, name, env.ErrorText(k.failed[name])})
	}
	for _, h := range k.hops {
		if k.failed[h.From] != nil || k.failed[h.To] != nil {
			continue
		}
		result.Updates++
		found, certain := k.violations(h.From, h.To)
		update := ComparedUpdate{Catalog: k.name, Package: k.kept.Name, From: h.From, To: h.To, Definitions: found}
		switch {
		case certain:
			update.Via = k.detour(h)
			result.Refused = append(result.Refused, update)
		case len(found) > 0:
			result.Possible = append(result.Possible, update)
		}
	}
}

// violations returns the changes of an update that OLM v1 refuses, and whether it certainly does.
func (k *comparedPackage) violations(from, to string) (all []ComparedDefinition, certain bool) {
	for _, name := range slices.Sorted(maps.Keys(k.definitions[to])) {
		old := k.definitions[from][name]
		if old == nil {
			continue // a new definition breaks nothing
		}
		found := crdsafety.Compare(old, k.definitions[to][name])
		if len(found) > 0 {
			all = append(all, ComparedDefinition{name, found})
		}
		certain = certain || slices.ContainsFunc(found, func(v crdsafety.Violation) bool { return !v.Possible })
	}
	return all, certain
}

// detour returns a bundle that may be installed between those of a refused update, or "".
func (k *comparedPackage) detour(h graph.Hop) string {
	for _, via := range upgrade.Detours(k.kept, k.bundle(h.From), h.To) {
		if k.definitions[via] == nil || k.failed[via] != nil || k.removes(h, via) {
			continue
		}
		_, first := k.violations(h.From, via)
		_, second := k.violations(via, h.To)
		if !first && !second {
			return via
		}
	}
	return ""
}

// removes reports whether a bundle between those of an update would remove a definition that both have,
// and with it all objects.
func (k *comparedPackage) removes(h graph.Hop, via string) bool {
	for name := range k.definitions[h.From] {
		if k.definitions[h.To][name] != nil && k.definitions[via][name] == nil {
			return true
		}
	}
	return false
}

// A bundleReader reads the image of a bundle.
type bundleReader func(ctx context.Context, image string) (*catalog.Bundle, error)

// definitionsOf returns the CustomResourceDefinitions of a bundle by name: those in the catalog, else
// those in its image. A bundle that provides no API has none, so its image is not read.
func definitionsOf(ctx context.Context, b *catalog.Bundle, read bundleReader) (map[string]*crdsafety.CRD, error) {
	x, err := excerpt.Of(b)
	if err != nil {
		return nil, err
	}
	provides := slices.ContainsFunc(b.Properties, func(p catalog.Property) bool { return p.Type == "olm.gvk" })
	if !x.Complete && len(x.CRDs) == 0 && provides {
		if b.Image == "" {
			return nil, errors.New("the catalog does not have its manifests, and it has no image")
		}
		if b, err = read(ctx, b.Image); err != nil {
			return nil, err
		}
	}
	manifests, err := excerpt.Manifests(b, "CustomResourceDefinition")
	if err != nil {
		return nil, err
	}
	found := map[string]*crdsafety.CRD{}
	for _, text := range manifests {
		d, err := crdsafety.Read(text)
		if err != nil {
			return nil, err
		}
		found[d.Name] = d
	}
	manifests, err = excerpt.Manifests(b, "ClusterServiceVersion")
	if err != nil {
		return nil, err
	}
	for _, text := range manifests {
		if err := setConversion(found, text); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// setConversion sets which definitions a webhook converts. OLM v1 compares definitions as it installs them,
// and takes their conversion from the conversion webhooks of the ClusterServiceVersion
// (operator-controller, rukpak/render/registryv1/generators).
func setConversion(definitions map[string]*crdsafety.CRD, csv []byte) error {
	var o struct {
		Spec struct {
			Webhooks []struct {
				Type string   `json:"type"`
				CRDs []string `json:"conversionCRDs"`
			} `json:"webhookdefinitions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(csv, &o); err != nil {
		return fmt.Errorf("reading its ClusterServiceVersion: %w", err)
	}
	for _, w := range o.Spec.Webhooks {
		if w.Type != "ConversionWebhook" {
			continue
		}
		for _, name := range w.CRDs {
			if d := definitions[name]; d != nil {
				d.Webhook = true
			}
		}
	}
	return nil
}

// readers returns the reader of the bundles of a catalog. For a catalog that a mirror serves, it reads
// them from the mirror: clusters do not have the sources. Their repository there begins with the same
// path as the catalog's repository, or with a part of it.
func (c *operatorCheck) readers(catalogName string) bundleReader {
	if c.archive != nil {
		return c.archivedBundles(catalogName)
	}
	images := c.sources.Plan().Images
	var mirror reference.Reference
	if len(c.options.Catalogs) > 0 {
		mirror, _ = reference.Parse(catalogName) // a folder or layout is no reference
	}
	return func(ctx context.Context, name string) (*catalog.Bundle, error) {
		for _, at := range mirrored(mirror, name) {
			if b, err := build.ReadBundle(ctx, images, at); err == nil || ctx.Err() != nil {
				return b, err
			}
		}
		b, err := build.ReadBundle(ctx, images, name)
		if err != nil {
			return nil, fmt.Errorf("reading its image %s: %w", name, err)
		}
		return b, nil
	}
}

// mirrored returns the names that an image may have in the mirror of a catalog, the longest prefix
// first. There are none without a mirror.
func mirrored(catalogRef reference.Reference, name string) []string {
	ref, err := reference.Parse(name)
	if err != nil || catalogRef.Host == "" || ref.Host == catalogRef.Host {
		return nil
	}
	own := ref.Path
	var all []string
	for prefix := catalogRef.Path; prefix != ""; {
		prefix = prefix[:max(strings.LastIndexByte(prefix, '/'), 0)]
		ref.Host, ref.Path = catalogRef.Host, strings.TrimPrefix(prefix+"/"+own, "/")
		all = append(all, ref.String())
	}
	return all
}
