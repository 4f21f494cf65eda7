package planpage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"
	ociv1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/picture"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/page/planpage"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
)

const operatorIndex = "registry.example.com/operators/index:v4.20"

// A sampler makes plans of any size, the same ones each time.
type sampler struct {
	t      testing.TB
	p      *plan.Plan
	config strings.Builder
	graphs map[string]diagram.Drawing
	blobs  map[digest.Digest]bool
	names  []string
	// sources are the positions of images, for packages that share them.
	sources map[string]int
}

var words = []string{"amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "iris", "juniper", "kelp", "lagoon", "maple", "nimbus", "opal", "pebble", "quartz", "raven", "sierra", "tundra", "umber", "violet", "willow", "zephyr"}

// image adds an image with a blob of its own, and one that images of the same base share.
func (s *sampler) image(source string, kind plan.ImageKind, size int64, reasons ...plan.Reason) digest.Digest {
	m := plan.Manifest{Digest: digest.FromString(source), MediaType: ociv1.MediaTypeImageManifest, Size: 1200}
	base := fmt.Sprintf("base %d", len(source)%5)
	for name, n := range map[string]int64{source: size, base: 30 << 20} {
		d := digest.FromString("blob of " + name)
		m.Blobs = append(m.Blobs, d)
		if !s.blobs[d] {
			s.blobs[d] = true
			s.p.Blobs = append(s.p.Blobs, plan.Blob{Digest: d, Size: n})
		}
	}
	s.p.Manifests = append(s.p.Manifests, m)
	repository, tag, _ := strings.Cut(strings.TrimPrefix(source, "registry.example.com/"), ":")
	s.p.Images = append(s.p.Images, plan.Image{Source: source, Kind: kind, Digest: m.Digest, Repository: repository, Tags: []string{tag}, Size: size + 30<<20 + 1200, Reasons: reasons})
	return m.Digest
}

// operator adds a package with one or two channels that keep their head, and what a cluster has installed.
func (s *sampler) operator(i int) plan.Package {
	name := words[i%len(words)] + "-operator"
	if i >= len(words) {
		name = words[i/len(words)%len(words)] + "-" + name
	}
	s.names = append(s.names, name)
	versions, kept := 3+i%23, 1+i%3
	full := &catalog.Package{Name: name, DefaultChannel: "stable"}
	some := &catalog.Package{Name: name, DefaultChannel: "stable"}
	for c, channel := range []string{"stable", "candidate"}[:1+i%2] {
		all, mine := &catalog.Channel{Name: channel, Package: name}, &catalog.Channel{Name: channel, Package: name}
		for v := range versions {
			e := catalog.Entry{Name: fmt.Sprintf("%s.v1.%d.0", name, v)}
			if v > 0 {
				e.Replaces = fmt.Sprintf("%s.v1.%d.0", name, v-1)
			}
			all.Entries = append(all.Entries, e)
			b := &catalog.Bundle{Name: e.Name, Package: name, Version: semver.Version{Major: 1, Minor: uint64(v)}}
			if c == 0 {
				full.Bundles = append(full.Bundles, b)
			}
			if v >= versions-kept {
				mine.Entries = append(mine.Entries, e)
				some.Bundles = append(some.Bundles, b)
			}
		}
		full.Channels, some.Channels = append(full.Channels, all), append(some.Channels, mine)
	}
	pkg := plan.Package{Name: name, DefaultChannel: "stable"}
	for _, ch := range some.Channels {
		planned := plan.Channel{Name: ch.Name}
		for k, e := range ch.Entries {
			b := plan.Bundle{Name: e.Name, Version: strings.TrimPrefix(e.Name, name+".v"), Reason: "head"}
			if planned.Head = e.Name; k < len(ch.Entries)-1 {
				b.Reason, b.For = "installed", ch.Entries[0].Name
			}
			planned.Bundles = append(planned.Bundles, b)
		}
		pkg.Channels = append(pkg.Channels, planned)
	}
	for k := range kept {
		bundle := pkg.Channels[0].Bundles[k].Name
		because := plan.Reason{Catalog: operatorIndex, Package: name, Bundle: bundle}
		s.image(fmt.Sprintf("registry.example.com/%s/bundle:v%d", name, k), plan.BundleImage, 40<<10, because)
		for n := range 1 + i%4 {
			because.Name = fmt.Sprintf("operand-%d", n)
			s.image(fmt.Sprintf("registry.example.com/%s/operand-%d:v%d", name, n, k), plan.RelatedImage, int64(8+(i*37+n*11)%300)<<20, because)
		}
	}
	d, err := picture.Draw(full, picture.Options{Kept: some, FoldPruned: true, Installed: []graph.At{{Name: pkg.Channels[0].Bundles[0].Name}}})
	fail.On(s.t, err)
	s.graphs[name] = d
	return pkg
}

// sample returns a plan with packages, and for a plan with more than one all other things that a plan can have.
func sample(t testing.TB, packages int) planpage.Options {
	t.Helper()
	s := &sampler{t: t, p: &plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: "monthly"}, graphs: map[string]diagram.Drawing{}, blobs: map[digest.Digest]bool{}}
	c := plan.Catalog{Source: operatorIndex, Repository: "operators/index", Tag: "v4.20", Built: true, ConfigsDir: "/configs"}
	for i := range packages {
		c.Packages = append(c.Packages, s.operator(i))
	}
	if packages > 1 {
		s.config.WriteString("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n")
		s.everything(&c)
	}
	return s.finished(c)
}

// finished returns the plan with a catalog.
func (s *sampler) finished(c plan.Catalog) planpage.Options {
	c.Digest = s.image(operatorIndex, plan.CatalogImage, 2<<20, plan.Reason{List: "operators"})
	s.p.Images[len(s.p.Images)-1].Catalog = c.Name()
	if s.config.Len() == 0 {
		s.config.WriteString("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n")
	}
	s.p.Catalogs = []plan.Catalog{c}
	s.config.WriteString("  operators:\n    - catalog: " + operatorIndex + "\n      packages:\n")
	for _, name := range s.names {
		s.config.WriteString("        - name: " + name + "\n")
	}
	s.p.Totals = s.p.Count()
	cfg, err := imageset.Parse("imageset.yaml", []byte(s.config.String()))
	fail.On(s.t, err)
	return planpage.Options{Plan: s.p, Config: cfg, Source: planpage.Text("imageset.yaml", []byte(s.config.String())), Graphs: map[string]map[string]diagram.Drawing{c.Name(): s.graphs}, Compared: true}
}

// everything adds releases, charts, files, images, and what goes wrong.
func (s *sampler) everything(c *plan.Catalog) {
	s.config.WriteString("  platform:\n    graph: true\n    channels:\n      - name: stable-4.20\n        minVersion: 4.19.9\n        maxVersion: 4.20.5\n        shortestPath: true\n")
	for _, v := range []string{"4.19.9", "4.20.1", "4.20.5"} {
		r := plan.Release{Product: release.OCP, Version: v, Arch: release.DefaultArch, URL: "https://access.redhat.com/errata/RHSA-2026:" + v, Reasons: []plan.ReleaseReason{{Reason: "path", Channel: "stable-4.20"}}, Signatures: []plan.Signature{{}}}
		r.Source = "registry.example.com/release-payload:" + v
		r.Digest = s.image(r.Source, plan.ReleaseImage, 90<<20, plan.Reason{Release: r.Name()})
		for i := range 24 {
			s.image(fmt.Sprintf("registry.example.com/release/%s:%s", words[i], v), plan.ComponentImage, int64(20+i*7)<<20, plan.Reason{Release: r.Name(), Name: words[i]})
		}
		s.p.Releases = append(s.p.Releases, r)
	}
	s.p.Updates = []plan.UpdatePath{{Product: release.OCP, Arch: release.DefaultArch, Channel: "stable-4.20", From: "4.19.9", To: "4.20.5", Hops: []plan.Hop{
		{From: "4.19.9", To: "4.20.1", Acks: []plan.Ack{{Name: "ack-4.19-kube-1.33-api-removals-in-4.20", Message: "APIs are removed"}}, Risks: []plan.Risk{{Name: "SlowBootAfterUpdate", Message: "Nodes with many volumes take up to 20 minutes to boot.", URL: "https://issues.example.com/OCPBUGS-1", Rules: []plan.RiskRule{{Type: "PromQL", PromQL: "max(node_volumes) > 40"}}}}},
		{From: "4.20.1", To: "4.20.5"},
	}}}
	s.config.WriteString("  additionalImages:\n")
	for i, name := range []string{"ubi9/ubi:9.6", "tools/netcheck:1.4", "databases/postgresql:16"} {
		s.config.WriteString("    - name: registry.example.com/" + name + "\n")
		s.image("registry.example.com/"+name, plan.AdditionalImage, int64(60+80*i)<<20, plan.Reason{List: "additionalImages"})
	}
	chart := plan.Chart{Name: "podinfo", Version: "6.9.1", Origin: "https://charts.example.com/stable", Source: "https://charts.example.com/stable/podinfo-6.9.1.tgz", Built: true, Repository: "charts/podinfo", Tag: "6.9.1"}
	chart.Digest = s.image("registry.example.com/charts/podinfo:6.9.1", plan.ChartImage, 14<<10, plan.Reason{Chart: chart.String()})
	s.image("registry.example.com/podinfo/podinfo:6.9.1", plan.AdditionalImage, 22<<20, plan.Reason{Chart: chart.String(), Name: "Deployment podinfo"})
	s.p.Charts = []plan.Chart{chart}
	s.config.WriteString("  helm:\n    repositories:\n      - name: stable\n        url: https://charts.example.com/stable\n        charts:\n          - name: podinfo\n            version: 6.9.1\n            values:\n              admin: {password: hunter2}\n")
	s.p.Files = []plan.File{{Name: "tools/oc.tar.gz", Origin: "https://files.example.com/oc.tar.gz", Size: 61 << 20}}
	s.config.WriteString("  files:\n    - url: https://files.example.com/oc.tar.gz\n      target: tools/oc.tar.gz\n      sha256: " + digest.FromString("oc").Encoded() + "\n  blockedImages:\n    - name: registry.example.com/forbidden\n")
	first := c.Packages[0]
	c.Required = []plan.Required{{Package: first.Name, Channel: "stable", Bundle: first.Channels[0].Head, For: c.Packages[1].Channels[0].Head}}
	s.p.Missing = []plan.Missing{{Source: "registry.example.com/lost/image:v1", Kind: plan.RelatedImage, Message: "manifest unknown", Reasons: []plan.Reason{{Catalog: c.Name(), Package: first.Name, Bundle: first.Channels[0].Head}}}}
	s.p.Blocked = []plan.Blocked{{Source: "registry.example.com/forbidden/image:v1", Pattern: "registry.example.com/forbidden", Reasons: []plan.Reason{{Catalog: c.Name(), Package: first.Name, Bundle: first.Channels[0].Head}}}}
	s.p.Notes = []string{operatorIndex + `: package "` + first.Name + `": channel "stable": kept for installed operators`}
}
