package planning_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/plan/planning"
)

// carried mirrors a configuration over a disk, without a network on the other side. It returns the content that does not
// belong to releases, by repository.
func carried(p *mirrortest.Platform, config string) map[string]registrytest.Repository {
	p.T.Helper()
	disk := p.Exported(config, "disk")
	plug := p.Unplug()
	p.Imported(p.Docker("disk"), disk)
	plug()
	content := map[string]registrytest.Repository{}
	for _, r := range mirrortest.ContentBelow(p.T, p.Mirror, "disk") {
		content[strings.TrimPrefix(r.Name, "disk/")] = r
	}
	delete(content, mirrortest.ReleaseRepository)
	delete(content, mirrortest.ComponentRepository)
	return content
}

// TestSamples plans and mirrors images of the samples operator.
func TestSamples(t *testing.T) {
	t.Parallel()
	samples := map[string][]string{
		"ruby": {"quay.io/ubi9/ruby-33:latest", "quay.io/ubi8/ruby-33", "quay.io/ubi8/ruby-30:latest"}, "ruby-old": {"quay.io/ubi8/ruby-25:1"},
		"python": {"quay.io/ubi9/python-312:latest"}, "jenkins": {"quay.io/ocp/jenkins:gone"}, "empty": nil,
	}
	components := []string{"cli", "cluster-version-operator", "cluster-samples-operator"}
	s := mirrortest.NewPlatform(t, releasetest.Definition{Releases: []releasetest.Release{
		{Version: "4.20.5", Components: components, Samples: samples}, {Version: "4.20.5", Arch: release.Multi, Components: components, Samples: samples},
		{Version: "4.20.4", Components: components[:2]},
	}, Channels: map[string][]string{"stable-4.20": {"4.20.4", "4.20.5"}}})
	for _, name := range []string{"ubi9/ruby-33", "ubi8/ruby-33", "ubi8/ruby-30", "ubi9/python-312"} {
		s.Push("quay.io/"+name+":latest", mirrortest.FileImage(t, v1.Config{}, map[string]string{"n": name}))
	}
	platform := func(more, samples string) string { // more ends the channel and the list
		return s.Config("imageset.yaml", "  platform: {channels: [{name: stable-4.20"+more+"}\n  samples: "+samples+"\n")
	}
	content := carried(s, platform("}]", "[{name: ruby}, {name: 'py*'}]"))
	fail.Diff(t, []string{"ubi8/ruby-30", "ubi8/ruby-33", "ubi9/python-312", "ubi9/ruby-33"}, slices.Sorted(maps.Keys(content)))
	for name, r := range content {
		if len(r.Tags) != 1 || r.Tags["latest"] == "" {
			t.Errorf("%s has the tags %v", name, r.Tags)
		}
	}

	// An unavailable image of a sample does not withhold the release.
	_, err := mirroring.Run(t.Context(), s.MirrorOptions(platform("}]", "[{name: jenkins}, {name: empty}]"), s.Docker("partial")))
	mirrortest.Refused(t, err, advice.Partial)
	if s.MirrorTags("partial/" + mirrortest.ReleaseRepository)["4.20.5-x86_64"] == "" {
		t.Error("the release is not published")
	}
	for _, tc := range []struct {
		more, samples, refused, note string
		images                       int
	}{
		{"}]", "[{name: rubi}]", `imageset.yaml:5: samples: no release has an image stream "rubi" for its architectures; did you mean "ruby"`, "", 0},
		{"}]", "[{name: '[a'}]", "syntax error in pattern", "", 0},
		{"}]", "[{nam: ruby}]", "nam", "", 0},
		{", minVersion: 4.20.4, maxVersion: 4.20.4}]", "[{name: ruby}]", "", "release 4.20.4-x86_64 has no samples operator", 0},
		{"}], architectures: [multi]", "[{name: '*y'}]", "", "", 3},
	} {
		r, err := planning.Make(t.Context(), s.PlanOptions(platform(tc.more, tc.samples)))
		if tc.refused != "" {
			mirrortest.Refused(t, err, advice.Input, tc.refused)
			continue
		}
		fail.On(t, err)
		images := 0
		for _, img := range r.Plan.Images {
			if img.Kind == plan.AdditionalImage {
				images++
			}
		}
		if images != tc.images || !strings.Contains(strings.Join(r.Plan.Notes, "\n"), tc.note) {
			t.Errorf("%s: %d images, want %d; notes %q", tc.samples, images, tc.images, r.Plan.Notes)
		}
	}
}

// TestCatalogImageTemplate mirrors the catalogs that the annotation olm.catalogImageTemplate names for the releases of the
// plan, or for the version of a cluster.
func TestCatalogImageTemplate(t *testing.T) {
	t.Parallel()
	components := []string{"cli", "cluster-version-operator", "hyperkube"}
	s := mirrortest.NewPlatform(t, releasetest.Definition{Releases: []releasetest.Release{
		{Version: "4.19.7", Components: components}, {Version: "4.20.5", Components: components, Previous: []string{"4.19.7"}},
	}, Channels: map[string][]string{"stable-4.20": {"4.19.7", "4.20.5"}}})
	for _, tag := range []string{"v4.20", "v1.32", "v1.33.5"} {
		text := ""
		for _, pkg := range []string{"kelp", "reed"} {
			bundle, err := registrytest.BundleImage(pkg, "1.0.0-"+tag)
			fail.On(t, err)
			name := pkg + ".v1.0.0-" + tag
			text += `{"schema":"olm.package","name":"` + pkg + `","defaultChannel":"stable"}{"schema":"olm.channel","package":"` + pkg + `","name":"stable","entries":[{"name":"` + name + `"}]}` +
				`{"schema":"olm.bundle","package":"` + pkg + `","name":"` + name + `","image":"` + s.Push("quay.io/org/"+pkg+"-bundle:"+tag, bundle) +
				`","properties":[{"type":"olm.package","value":{"packageName":"` + pkg + `","version":"1.0.0-` + tag + `"}}]}`
		}
		s.PushCatalog("quay.io/org/index:"+tag, fstest.MapFS{"c.json": {Data: []byte(text)}})
	}
	config := func(name, before, template string) string {
		source := s.Write("cs.yaml", "apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {annotations: {olm.catalogImageTemplate: '"+template+"'}}\n")
		return s.Config(name, before+"  operators:\n  - catalog: quay.io/org/index:v4.20\n    targetCatalogSourceTemplate: "+source+"\n    packages: [{name: kelp}]\n")
	}
	const releases = "  platform: {channels: [{name: stable-4.20, minVersion: 4.19.7, maxVersion: 4.20.5}]}\n"
	const minor = "org/index:v{kube_major_version}.{kube_minor_version}"
	planned := s.Planned(config("imageset.yaml", releases, "quay.io/"+minor+".{kube_patch_version}"))
	if notes := strings.Join(planned.Notes, "\n"); !strings.Contains(notes, "quay.io/org/index:v1.32.7 does not exist, so clusters with Kubernetes 1.32.7 would find no catalog") {
		t.Errorf("notes: %s", notes)
	}
	content := carried(s, s.Path("imageset.yaml"))
	fail.Diff(t, []string{"v1.33.5", "v4.20"}, slices.Sorted(maps.Keys(content["org/index"].Tags)))
	if content["org/reed-bundle"].Name != "" || len(content["org/kelp-bundle"].Manifests) != 2 {
		t.Errorf("other bundles than those that were selected: %v", content)
	}
	sources, err := filepath.Glob(s.Path("inside/cluster-resources/cs-*.yaml"))
	if err != nil || len(sources) != 1 {
		t.Fatalf("%v %v", sources, err)
	}
	name := strings.TrimPrefix(sources[0], s.Dir+"/")
	if text := s.Read(name); !strings.Contains(text, "olm.catalogImageTemplate: "+s.Mirror.Host+"/disk/"+minor+".{kube_patch_version}\n") {
		t.Errorf("the annotation is not for the mirror:\n%s", text)
	}
	check := s.VerifyOptions("", s.Docker("disk"))
	check.From, check.Workspace = []string{s.Archive("disk")}, s.Path("inside")
	if _, err := verify.Run(t.Context(), check); err != nil {
		t.Error(err)
	}
	s.Write(name, strings.Replace(s.Read(name), "/index:v{kube", "/index:w{kube", 1))
	_, err = verify.Run(t.Context(), check)
	mirrortest.Refused(t, err, advice.Mismatch)
	cluster := s.Write("cluster.yaml", "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nstatus: {history: [{version: 4.19.7, state: Completed}]}\n")
	for _, tc := range []struct {
		before, template, note string
		change                 func(*planning.Options)
	}{
		{"", "quay.io/" + minor, "the versions of the clusters are unknown", func(*planning.Options) {}},
		{releases, "quay.io/org/index:v{kube}", "OLM ignores it", func(*planning.Options) {}},
		{"", "quay.io/" + minor, "", func(o *planning.Options) { o.Installed = []string{cluster} }},
	} {
		p := s.Planned(config("other.yaml", tc.before, tc.template), tc.change)
		if !strings.Contains(strings.Join(p.Notes, "\n"), tc.note) {
			t.Errorf("%s: %q", tc.note, p.Notes)
		}
		if found := slices.ContainsFunc(p.Catalogs, func(c plan.Catalog) bool { return c.Source == "quay.io/org/index:v1.32" }); found != (tc.note == "") {
			t.Errorf("%q: the catalog for the cluster is planned: %t", tc.note, found)
		}
	}
}
