package planpage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/picture"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestRealPages checks the pages of real packages, which are in a folder beside some copies of the project: all of them in
// full, and 600 with the heads of their channels, under other names where they repeat.
func TestRealPages(t *testing.T) {
	t.Parallel()
	var folders []string
	for _, name := range []string{"catalog.yaml", "catalog.json"} {
		found, err := filepath.Glob("../../../../shared/catalogs/*/" + name)
		fail.On(t, err)
		folders = append(folders, found...)
	}
	if len(folders) == 0 {
		t.Skip("there are no real catalogs")
	}
	for name, of := range map[string]struct {
		packages int
		full     bool
	}{"full": {len(folders), true}, "600": {600, false}} {
		s := &sampler{t: t, p: &plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: name}, graphs: map[string]diagram.Drawing{}, blobs: map[digest.Digest]bool{}}
		c := plan.Catalog{Source: operatorIndex, Repository: "operators/index", Tag: "v4.20", Built: true, ConfigsDir: "/configs"}
		known := make([]*realPackage, len(folders))
		for i := range of.packages {
			k := i % len(folders)
			if known[k] == nil {
				known[k] = readPackage(t, filepath.Dir(folders[k]), of.full)
			}
			c.Packages = append(c.Packages, s.realOperator(known[k], i/len(folders)))
		}
		o := s.finished(c)
		text := html(t, o)
		t.Logf("%s: %d packages, %d images, %d bytes, %d without a graph", name, of.packages, len(s.p.Images), len(text), strings.Count(text, "too large for this page"))
		if limit := 8 << 20; len(text) > limit {
			t.Errorf("the page %s has %d bytes", name, len(text))
		}
		if dir := os.Getenv("GANTRY_TEST_PAGES"); dir != "" {
			fail.On(t, os.WriteFile(filepath.Join(dir, "real-"+name+".html"), []byte(text), 0o600))
		}
	}
}

// A realPackage is a package with what is kept of it, and its update graph.
type realPackage struct {
	name, defaultChannel string
	channels             []filter.Channel
	kept                 *catalog.Package
	graph                diagram.Drawing
}

// readPackage reads the package of a folder: all of its bundles, or the heads of its channels.
func readPackage(t *testing.T, folder string, full bool) *realPackage {
	t.Helper()
	c, err := catalog.Read(t.Context(), os.DirFS(folder), catalog.Options{})
	fail.On(t, err)
	r, err := filter.Apply(c, imageset.Operator{Catalog: operatorIndex, Full: full})
	fail.On(t, err)
	p := &realPackage{c.Packages[0].Name, c.Packages[0].DefaultChannel, r.Packages[0].Channels, r.Catalog.Packages[0], diagram.Drawing{}}
	p.graph, err = picture.Draw(c.Packages[0], picture.Options{Kept: p.kept, Account: &r.Packages[0], FoldPruned: true})
	fail.On(t, err)
	return p
}

// realOperator adds a package. A copy has another name.
func (s *sampler) realOperator(p *realPackage, copied int) plan.Package {
	name := p.name
	if copied > 0 {
		name += fmt.Sprintf("-%d", copied+1)
	}
	s.names = append(s.names, name)
	s.graphs[name] = p.graph
	pkg := plan.Package{Name: name, DefaultChannel: p.defaultChannel}
	for _, ch := range p.channels {
		planned := plan.Channel{Name: ch.Name, Head: ch.Head}
		for _, e := range ch.Entries {
			planned.Bundles = append(planned.Bundles, plan.Bundle{Name: e.Name, Version: p.kept.Bundle(e.Name).Version.String(), Reason: string(e.Reason), For: e.For})
		}
		pkg.Channels = append(pkg.Channels, planned)
	}
	for _, b := range p.kept.Bundles {
		refs := []string{b.Image}
		for _, x := range b.RelatedImages {
			if x.Image != "" && !slices.Contains(refs, x.Image) {
				refs = append(refs, x.Image)
			}
		}
		for i, ref := range refs {
			kind := plan.RelatedImage
			if i == 0 {
				kind = plan.BundleImage
			}
			source := fmt.Sprintf("registry.example.com/%d/%s", copied, ref)
			if s.sources == nil {
				s.sources = map[string]int{}
			}
			because := plan.Reason{Catalog: operatorIndex, Package: name, Bundle: b.Name}
			if at, known := s.sources[source]; known {
				s.p.Images[at].Reasons = append(s.p.Images[at].Reasons, because)
				continue
			}
			s.sources[source] = len(s.p.Images)
			s.image(source, kind, int64(5+len(ref)%40)<<20, because)
		}
	}
	return pkg
}
