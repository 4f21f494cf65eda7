package contents_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// TestReleases lists the releases of a mirror, of a disk, and of both.
func TestReleases(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	mirror, disk := p.Docker("ocp"), p.Archive("disk")
	older := p.Config("older.yaml", "  platform: {channels: [{name: stable-4.18}]}\n")
	newer := p.Config("newer.yaml", "  platform: {channels: [{name: stable-4.20, type: ocp}]}\n")
	p.Mirrored(older, mirror)
	p.Exported(newer, "disk")
	list := func(o contents.Options) []contents.Release {
		t.Helper()
		o.Env, o.Workspace = p.NewEnv(), p.Workspace()
		l, err := contents.Releases(t.Context(), o)
		fail.On(t, err)
		return l.Releases
	}
	mirrored := list(contents.Options{Mirrors: []string{mirror}, At: mirror})
	if len(mirrored) != 1 || mirrored[0].Version != "4.18.2" || mirrored[0].Arch != "amd64" || mirrored[0].At != contents.Present || mirrored[0].Here != "" || mirrored[0].Images < 2 ||
		mirrored[0].Image != p.Mirror.Host+"/ocp/openshift/release-images:4.18.2-x86_64" || !slices.Equal(mirrored[0].Channels, []string{"stable-4.18"}) || mirrored[0].Signatures == 0 {
		t.Errorf("the mirror has %+v", mirrored)
	}
	onDisk := list(contents.Options{Archives: []string{disk}, At: mirror})
	if len(onDisk) != 1 || !strings.HasPrefix(onDisk[0].Version, "4.20.") || onDisk[0].At == contents.Present || onDisk[0].Here != airgap.Available || len(onDisk[0].Volumes) == 0 ||
		!strings.HasPrefix(onDisk[0].Image, "openshift/release-images:") || onDisk[0].Size == 0 {
		t.Errorf("the disk has %+v", onDisk)
	}
	both := contents.Options{Mirrors: []string{mirror}, Archives: []string{disk}}
	if all := list(both); len(all) != 2 || all[0].Place != mirror || all[1].Place != disk {
		t.Errorf("both have %+v", all)
	}
	both.Words = []string{"4.18*"}
	if all := list(both); len(all) != 1 || all[0].Version != "4.18.2" {
		t.Errorf("of 4.18, both have %+v", all)
	}
	both.Words = []string{"4.18.22"}
	p.Said()
	if all := list(both); len(all) != 0 || !strings.Contains(strings.Join(p.Said(), "\n"), "no releases match") {
		t.Errorf("of 4.18.22, both have %+v", all)
	}
	p.Mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "4.20.1-x86_64-rhel-coreos$", Action: registrytest.Refuse(http.StatusBadRequest, "MANIFEST_INVALID")})
	_, err := mirroring.Run(t.Context(), p.MirrorOptions(newer, mirror))
	mirrortest.Refused(t, err, advice.Partial)
	if all := list(contents.Options{Mirrors: []string{mirror}}); len(all) != 2 || !strings.Contains(strings.Join(p.Said(), "\n"), "and 1 catalog or release that name them at ") {
		t.Errorf("after a partial run, the mirror has %+v", all)
	}
}

// TestDisks lists files and images of a series of disks with small volumes.
func TestDisks(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	live, notes := s.Write("live.iso", strings.Repeat("0123456789abcdef", 40_000)), s.Write("notes.txt", "first")
	small := func(o *mirroring.Options) { o.VolumeSize = 300_000 }
	files := "  files: [{path: '" + live + "'}, {path: '" + notes + "', target: docs/notes.txt}]\n"
	first := s.Exported(s.Config("set.yaml", files), "first", small)
	second := s.Exported(s.Config("set.yaml", files+mirrortest.StoreOnly), "second", small)
	list := func(archives []string, words ...string) []contents.File {
		t.Helper()
		l, err := contents.Files(t.Context(), contents.Options{Env: s.NewEnv(), Archives: archives, Words: words})
		fail.On(t, err)
		return l.Files
	}
	all := list([]string{first})
	if len(all) != 2 || all[0].Name != "docs/notes.txt" || all[0].Size != 5 || len(all[0].Stored.Volumes) == 0 || all[1].Size != 640_000 || all[1].Stored.Here != airgap.Available {
		t.Errorf("the first disk has %+v", all)
	}
	volumes := elements.Map(all[1].Stored.Volumes, func(v contents.Volume) string { return v.Name })
	if len(volumes) < 3 || !slices.IsSorted(volumes) || all[1].Stored.Volumes[0].Sequence != 1 {
		t.Errorf("the file is in %q", volumes)
	}
	// The second disk builds on the first.
	for _, f := range list([]string{second}) {
		if f.Stored.Here != airgap.InEarlier || f.Stored.Volumes != nil {
			t.Errorf("the second disk alone has %+v", f)
		}
	}
	if both := list([]string{second, first}, "*.iso"); len(both) != 1 || both[0].Place != second || both[0].Stored.Here != airgap.Available || both[0].Stored.Volumes[0].Sequence != 1 {
		t.Errorf("both disks have %+v", both)
	}
	images, err := contents.Images(t.Context(), contents.Options{Env: s.NewEnv(), Archives: []string{second, first}, Words: []string{"lantern/store"}})
	fail.On(t, err)
	if len(images.Images) != 1 || images.Images[0].Volumes[0].Sequence != 2 || images.Images[0].Names[0] != "lantern/store:1.2" {
		t.Errorf("both disks have %+v", images.Images)
	}
	// An earlier archive, by its number.
	images, err = contents.Images(t.Context(), contents.Options{Env: s.NewEnv(), Archives: []string{second, first}, Sequence: 1, Words: []string{"store"}})
	if err != nil || len(images.Images) != 0 {
		t.Errorf("the first disk has %+v, %v", images, err)
	}
	// A volume that is not there.
	fail.On(t, os.Rename(s.Path("first/"+volumes[1]), s.Path("elsewhere.tar")))
	if lost := list([]string{first}, "live"); len(lost) != 1 || lost[0].Stored.Here != airgap.Unavailable || len(lost[0].Stored.Volumes) != len(volumes) {
		t.Errorf("without %s, the first disk has %+v", volumes[1], lost)
	}
}

// chartPlan returns a plan with a chart, and an image that the chart names.
func chartPlan(name string) *plan.Plan {
	config, layer, shared := digest.FromString("config"), digest.FromString(name), digest.FromString("shared")
	manifest := func(of string) digest.Digest { return digest.FromString("manifest of " + of) }
	chart := plan.Chart{Name: name, Version: "1.2.0", Origin: "https://charts.example.com/stable", Source: "https://charts.example.com/stable/" + name + "-1.2.0.tgz", Built: true, Digest: manifest(name), Repository: "charts/" + name, Tag: "1.2.0", Provenance: true}
	because := []plan.Reason{{Chart: chart.String(), Name: "Deployment web"}}
	p := &plan.Plan{
		Kind: plan.Kind, Version: plan.Version, Name: name, Charts: []plan.Chart{chart},
		Images: []plan.Image{
			{Source: chart.Source, Kind: plan.ChartImage, Digest: chart.Digest, Repository: chart.Repository, Tags: []string{chart.Tag}, Size: 130, Reasons: []plan.Reason{{Chart: chart.String()}}},
			{Source: "registry.example.com/web@" + manifest("web").String(), Kind: plan.AdditionalImage, Digest: manifest("web"), Repository: "web", Tags: []string{"v1"}, Size: 1120, Reasons: because},
		},
		Manifests: []plan.Manifest{
			{Digest: manifest(name), MediaType: "application/vnd.oci.image.manifest.v1+json", Size: 10, Blobs: []digest.Digest{config, layer}},
			{Digest: manifest("web"), MediaType: "application/vnd.oci.image.manifest.v1+json", Size: 20, Blobs: []digest.Digest{config, shared}},
		},
		Blobs: []plan.Blob{{Digest: config, Size: 100}, {Digest: layer, Size: 20}, {Digest: shared, Size: 1000}},
	}
	slices.SortFunc(p.Manifests, func(a, b plan.Manifest) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	slices.SortFunc(p.Blobs, func(a, b plan.Blob) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	p.Totals = p.Count()
	return p
}

// TestCharts lists the charts of two image sets of a mirror. Content that a chart and its images share counts once.
func TestCharts(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	s.Record("apps", "first", chartPlan("podinfo"))
	s.Record("apps", "second", chartPlan("grafana"))
	s.Record("elsewhere", "first", chartPlan("podinfo"))
	list := func(at string, words ...string) []contents.Chart {
		t.Helper()
		l, err := contents.Charts(t.Context(), contents.Options{Env: s.NewEnv(), Mirrors: []string{s.Docker("apps")}, Words: words, At: at})
		fail.On(t, err)
		return l.Charts
	}
	all := list("")
	if len(all) != 2 || all[0].Name != "podinfo" || all[1].Name != "grafana" {
		t.Fatalf("the charts are %+v", all)
	}
	if c := all[0]; c.Size != 10+20+100+20+1000 || c.Images != 1 || c.Image != s.Mirror.Host+"/apps/charts/podinfo:1.2.0" || !c.Provenance || c.At != "" || c.Here != "" {
		t.Errorf("the chart is %+v", c)
	}
	if c := list("", "*/stable"); len(c) != 2 {
		t.Errorf("of the origin, the charts are %+v", c)
	}
	if c := list(s.Docker("elsewhere"), "pod*"); len(c) != 1 || c[0].At != contents.Present {
		t.Errorf("podinfo is %+v", c)
	}
	// The other mirror has the image of grafana, but not its chart.
	if c := list(s.Docker("elsewhere"), "graf"); len(c) != 1 || c[0].At != contents.Partly {
		t.Errorf("grafana is %+v", c)
	}
	files, err := contents.Files(t.Context(), contents.Options{Env: s.NewEnv(), Mirrors: []string{s.Docker("apps")}})
	if err != nil || len(files.Files) != 0 || !strings.Contains(strings.Join(s.Said(), "\n"), "there are no files") {
		t.Errorf("the files are %+v, %v", files, err)
	}
}
