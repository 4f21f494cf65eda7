package deletion_test

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/release"
)

const index = "quay.io/a/index:v1"

// sample is a plan with two packages, two releases, a chart, an additional image and graph data.
func sample() *plan.Plan {
	p := &plan.Plan{
		Catalogs: []plan.Catalog{{Source: index, Repository: "a/index", Tag: "v1", Packages: []plan.Package{
			{Name: "foo", Channels: []plan.Channel{
				{Name: "stable", Bundles: []plan.Bundle{{Name: "foo.v1", Version: "1.0.0"}, {Name: "foo.v2", Version: "2.0.0"}}},
				{Name: "fast", Bundles: []plan.Bundle{{Name: "foo.v2", Version: "2.0.0"}}},
			}},
			{Name: "bar", Channels: []plan.Channel{{Name: "alpha", Bundles: []plan.Bundle{{Name: "bar.v1", Version: "1.0.0"}}}}},
		}}},
		GraphData: &plan.GraphData{},
	}
	add := func(name string, kind plan.ImageKind, reasons ...plan.Reason) {
		d := digest.FromString(name)
		p.Manifests = append(p.Manifests, plan.Manifest{Digest: d, Size: 1})
		source, tag := "quay.io/a/"+name+":v1", "v1"
		p.Images = append(p.Images, plan.Image{Source: source, Kind: kind, Digest: d, Repository: "a/" + name, Tags: []string{tag}, Reasons: reasons})
	}
	of := func(pkg, name string) plan.Reason { return plan.Reason{Catalog: index, Package: pkg, Bundle: name} }
	add("index", plan.CatalogImage, plan.Reason{Catalog: index, List: "operators"})
	p.Images[0].Catalog = index
	add("foo1", plan.BundleImage, of("foo", "foo.v1"))
	add("foo2", plan.BundleImage, of("foo", "foo.v2"))
	add("bar1", plan.BundleImage, of("bar", "bar.v1"))
	add("shared", plan.RelatedImage, of("foo", "foo.v1"), of("bar", "bar.v1"))
	add("extra", plan.AdditionalImage, plan.Reason{List: "additionalImages"})
	add("graph", plan.GraphImage, plan.Reason{List: "platform"})
	add("chart", plan.ChartImage, plan.Reason{Chart: "web 1.2.0 of https://charts.example.com"})
	p.Charts = []plan.Chart{{Name: "web", Version: "1.2.0", Origin: "https://charts.example.com"}}
	for version, channels := range map[string][]string{"4.19.1": {"stable-4.19"}, "4.19.2": {"stable-4.19", "fast-4.19"}} {
		r := plan.Release{Product: release.OCP, Version: version, Arch: release.DefaultArch, Source: "quay.io/a/release@" + string(digest.FromString(version)), Digest: digest.FromString(version), Tag: version}
		for _, c := range channels {
			r.Reasons = append(r.Reasons, plan.ReleaseReason{Reason: "range", Channel: c})
		}
		p.Releases = append(p.Releases, r)
		add("release-"+version, plan.ReleaseImage, plan.Reason{Release: r.Name()})
	}
	// A signature of an image of foo, and one of an image that both packages have.
	for _, name := range []string{"foo1", "shared"} {
		add(name, plan.SignatureImage, plan.Reason{List: "signatures"})
		img := &p.Images[len(p.Images)-1]
		img.Subject, img.Digest, img.Tags = digest.FromString(name), digest.FromString(name+".sig"), []string{"sig"}
		p.Manifests[len(p.Manifests)-1].Digest = img.Digest
	}
	return p
}

func TestOf(t *testing.T) {
	t.Parallel()
	pinned := string(digest.FromString("index"))
	for name, tc := range map[string]struct{ text, images, named, unmatched string }{
		"package":             {"operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo}]}]", "foo1:sig foo1:v1 foo2:v1", "shared", ""},
		"every package":       {"operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo}, {name: bar}]}]", "bar1:v1 foo1:sig foo1:v1 foo2:v1 index:v1 shared:sig shared:v1", "", ""},
		"catalog":             {"operators: [{catalog: quay.io/a/index:v1}]", "bar1:v1 foo1:sig foo1:v1 foo2:v1 index:v1 shared:sig shared:v1", "", ""},
		"range":               {"operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo, minVersion: 2.0.0}]}]", "foo2:v1", "", ""},
		"channel":             {"operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo, channels: [{name: stable}]}]}]", "foo1:sig foo1:v1", "foo2 shared", ""},
		"bundle":              {"operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo, bundles: [{name: foo.v2}]}]}]", "foo2:v1", "", ""},
		"pinned":              {"operators: [{catalog: 'quay.io/a/index@" + pinned + "', targetTag: v1, packages: [{name: foo}]}]", "foo1:sig foo1:v1 foo2:v1", "shared", ""},
		"mirrored by digest":  {"operators: [{catalog: quay.io/a/index:v1, packages: [{name: bar}]}]", "", "", ""},
		"pinned elsewhere":    {"operators: [{catalog: 'quay.io/a/index@" + pinned + "', targetTag: v1, targetCatalog: b/index}]", "", "", "the catalog"},
		"pinned, other tag":   {"operators: [{catalog: 'quay.io/a/index@" + pinned + "', targetTag: v2}]", "", "", "the catalog"},
		"pinned, other index": {"operators: [{catalog: 'quay.io/b/index@" + pinned + "', targetTag: v1}]", "", "", "the catalog"},
		"other target":        {"operators: [{catalog: quay.io/a/index:v1, targetTag: v2}]", "", "", "the catalog"},
		"no versions":         {"operators: [{catalog: quay.io/a/index:v1, packages: [{name: foo, minVersion: 3.0.0}]}]", "", "", "what is selected of the package foo"},
		"images":              {"additionalImages: [{name: quay.io/a/extra:v1}, {name: quay.io/a/extra:v2}]", "extra:v1", "", "quay.io/a/extra:v2"},
		"not an additional":   {"additionalImages: [{name: quay.io/a/foo1:v1}]", "", "", "quay.io/a/foo1:v1"},
		"channel of releases": {"platform: {channels: [{name: stable-4.19}]}", "release-4.19.1:v1", "release-4.19.2", ""},
		"version":             {"platform: {channels: [{name: stable-4.19, minVersion: 4.19.2, maxVersion: 4.19.2}, {name: fast-4.19}]}", "release-4.19.2:v1", "", ""},
		"architecture":        {"platform: {architectures: [s390x], channels: [{name: stable-4.19}]}", "", "", "the channel stable-4.19"},
		"payload":             {"platform: {release: 'quay.io/a/release:4.19.1'}", "release-4.19.1:v1", "", ""},
		"graph":               {"platform: {graph: true}", "graph:v1", "", ""},
		"chart":               {"helm: {repositories: [{name: a, url: 'https://charts.example.com/', charts: [{name: web, version: 1.2.0}]}]}", "chart:v1", "", ""},
		"chart repository":    {"helm: {repositories: [{name: a, url: 'https://charts.example.com'}]}", "chart:v1", "", ""},
		"chart version":       {"helm: {repositories: [{name: a, url: 'https://charts.example.com', charts: [{name: web, version: 2.0.0}]}]}", "", "", "the chart web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := imageset.ParseDeletion("d.yaml", []byte("kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete: {"+tc.text+"}\n"))
			if err == nil {
				err = d.Usable()
			}
			fail.On(t, err)
			s := deletion.New(d)
			p := sample()
			if name == "mirrored by digest" {
				p.Catalogs[0].Source = "quay.io/a/index@" + pinned
			}
			got, err := s.Of(p)
			fail.On(t, err)
			selected, named := map[string]bool{}, map[string]bool{}
			for i := range got.Images {
				selected[strings.TrimPrefix(got.Images[i].Names()[0], "a/")] = true
			}
			for i := range got.Named {
				named[strings.TrimPrefix(got.Named[i].Image.Repository, "a/")] = true
				if got.Named[i].Because == "" {
					t.Errorf("%s stays without a reason", got.Named[i].Image.Source)
				}
			}
			fail.Diff(t, words(tc.images), selected)
			fail.Diff(t, words(tc.named), named)
			for i := range p.Images {
				if img := &p.Images[i]; got.Has(img) != selected[strings.TrimPrefix(img.Names()[0], "a/")] {
					t.Errorf("Has(%s) is %t", img.Source, got.Has(img))
				}
			}
			if unmatched := strings.Join(s.Unmatched(), "\n"); (unmatched == "") != (tc.unmatched == "") || !strings.Contains(unmatched, tc.unmatched) {
				t.Errorf("not found: %q, want %q", unmatched, tc.unmatched)
			}
		})
	}
}

func words(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		all[word] = true
	}
	return all
}
