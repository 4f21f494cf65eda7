package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

// everything selects releases, an operator and graph data.
const everything = `  platform:
    graph: true
    kubeVirtContainer: true
    architectures: [amd64, multi]
    channels:
    - {name: fast-4.20, minVersion: 4.20.1}
  operators: [{catalog: dir:///cat}]
`

// TestAlteredReleasePlans checks that plans with changed releases are refused.
func TestAlteredReleasePlans(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	text := jsonOf(t, w.platform("    graph: true\n    channels: [{name: eus-4.20, from: [4.18.1]}]\n"))
	for name, tc := range map[string]struct {
		alter func(*plan.Plan)
		want  string
	}{
		"nothing":               {func(*plan.Plan) {}, ""},
		"another version":       {func(p *plan.Plan) { p.Releases[0].Version = "4.18.9" }, "release 4.18.9-x86_64 has no image in the plan"},
		"another digest":        {func(p *plan.Plan) { p.Releases[0].Digest = p.Releases[1].Digest }, "release 4.18.1-x86_64: the source quay.io/openshift-release-dev/ocp-release@sha256:"},
		"another tag":           {func(p *plan.Plan) { p.Releases[0].Tag = "latest" }, "release 4.18.1-x86_64: its image is not at openshift/release-images:latest"},
		"another repository":    {func(p *plan.Plan) { p.Releases[0].Repository = "a/b" }, "release 4.18.1-x86_64: its image is not at a/b:4.18.1-x86_64"},
		"another source":        {func(p *plan.Plan) { p.Releases[0].Source = "a.example.com/b@" + string(p.Releases[0].Digest) }, "release 4.18.1-x86_64: the source of its image is not a.example.com/b"},
		"a release is missing":  {func(p *plan.Plan) { p.Releases = p.Releases[1:] }, "it has payloads of releases that it does not list"},
		"a duplicate release":   {func(p *plan.Plan) { p.Releases = append(p.Releases, p.Releases[0]) }, "release 4.18.1-x86_64 is listed twice"},
		"a hop to another":      {func(p *plan.Plan) { p.Updates[0].Hops[0].To, p.Updates[0].Hops[1].From = "4.19.1", "4.19.1" }, "leads over 4.19.1-x86_64, which the plan does not have"},
		"a hop from another":    {func(p *plan.Plan) { p.Updates[0].Hops[1].From = "4.18.1" }, "the update from 4.18.1 to 4.20.2 in eus-4.20 has a gap before 4.20.2"},
		"a missing hop":         {func(p *plan.Plan) { p.Updates[0].Hops = p.Updates[0].Hops[:1] }, "the update from 4.18.1 to 4.20.2 in eus-4.20 ends at 4.19.2"},
		"graph data is missing": {func(p *plan.Plan) { p.GraphData = nil }, "is not the image of the plan's graph data"},
		"other graph data":      {func(p *plan.Plan) { p.GraphData.Digest = p.Releases[0].Digest }, "is not the image of the plan's graph data"},
		"another target":        {func(p *plan.Plan) { p.GraphData.Tag = "v2" }, "the image of graph data is not at openshift/graph-image:v2"},
		"no image of graph data": {
			func(p *plan.Plan) {
				i := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Kind == plan.GraphImage })
				p.Images[i].Kind = plan.AdditionalImage
			}, "its graph data has no image in the plan",
		},
		"a signature of something else": {
			func(p *plan.Plan) { p.Releases[0].Signatures[0].Digest = "sha256:12" }, `release 4.18.1-x86_64: the digest of a signature, "sha256:12", is not a digest`,
		},
	} {
		p, err := plan.Read(bytes.NewReader(text))
		fail.On(t, err)
		tc.alter(p)
		_, err = plan.Read(bytes.NewReader(jsonOf(t, p)))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBlockersOfMinorUpdates checks that acknowledgments and blocking operators are listed only for
// hops to the next minor version.
func TestBlockersOfMinorUpdates(t *testing.T) {
	t.Parallel()
	u := releasetest.Small()
	for i := range u.Releases[:4] {
		u.Releases[i].Gates = map[string]string{
			"ack-4.19-api-removals-in-4.20": "APIs go.", "ack-4.19-another-in-4.20": "Another thing.", "ack-4.18-old-in-4.19": "An old thing.",
		}
	}
	w := newReleaseFixture(t, u)
	catalog := func(dir string, limits ...string) {
		var b strings.Builder
		fmt.Fprintf(&b, `{"schema":"olm.package","name":"op%s","defaultChannel":"stable"}`+"\n", dir[1:])
		var entries []string
		for i, limit := range limits {
			image := w.fixture.push("quay.io/org/op", w.fixture.image(fmt.Sprint(dir, i)))
			entries = append(entries, fmt.Sprintf(`{"name":"op.v1.%d.0"}`, i))
			if i > 0 {
				entries[i] = fmt.Sprintf(`{"name":"op.v1.%d.0","replaces":"op.v1.%d.0"}`, i, i-1)
			}
			property := ""
			if limit != "" {
				property = `,{"type":"olm.maxOpenShiftVersion","value":` + limit + `}`
			}
			fmt.Fprintf(&b, `{"schema":"olm.bundle","package":"op%s","name":"op.v1.%d.0","image":"%s","properties":[{"type":"olm.package","value":{"packageName":"op%s","version":"1.%d.0"}}%s]}`+"\n",
				dir[1:], i, image, dir[1:], i, property)
		}
		fmt.Fprintf(&b, `{"schema":"olm.channel","package":"op%s","name":"stable","entries":[%s]}`+"\n", dir[1:], strings.Join(entries, ","))
		w.files[dir] = fstest.MapFS{"catalog.json": {Data: []byte(b.String())}}
	}
	catalog("/old", `"4.18"`, `"4.19"`)
	catalog("/new", `"4.18"`, `"4.20"`)
	catalog("/free", `"4.18"`, ``)
	catalog("/number", `4.18`)
	p, err := w.make(`  platform: {channels: [{name: fast-4.20, from: [4.18.1]}, {name: stable-4.18, minVersion: 4.18.1}]}
  operators: [{catalog: dir:///old, full: true}, {catalog: dir:///new, full: true}, {catalog: dir:///free, full: true}, {catalog: dir:///number, full: true}]
`)
	fail.On(t, err)
	old := plan.Blocker{Catalog: "dir:///old", Package: "opold", Bundle: "op.v1.1.0", Max: "4.19"}
	number := plan.Blocker{Catalog: "dir:///number", Package: "opnumber", Bundle: "op.v1.0.0", Max: "4.18"}
	want := map[string]plan.Hop{
		"4.18.1 -> 4.18.2": {},
		"4.18.1 -> 4.19.2": {Acks: []plan.Ack{{Name: "ack-4.18-old-in-4.19", Message: "An old thing."}}, Blockers: []plan.Blocker{number}},
		"4.19.2 -> 4.20.2": {
			Acks:     []plan.Ack{{Name: "ack-4.19-another-in-4.20", Message: "Another thing."}, {Name: "ack-4.19-api-removals-in-4.20", Message: "APIs go."}},
			Blockers: []plan.Blocker{old, number},
		},
	}
	got := map[string]plan.Hop{}
	for _, u := range p.Updates {
		for _, h := range u.Hops {
			got[h.From+" -> "+h.To] = plan.Hop{Acks: h.Acks, Blockers: h.Blockers}
		}
	}
	fail.Diff(t, want, got)
	const note = "operator opold of catalog dir:///old keeps clusters from 4.20: no bundle of it that is mirrored goes beyond OpenShift 4.19 (op.v1.1.0)"
	noted(t, p.Notes, note)
}

// TestBlockedComponents checks that a release with a blocked component stays publishable, with a
// note.
func TestBlockedComponents(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	made := w.Payload("4.20.1-x86_64")
	block := func(patterns ...string) *plan.Plan {
		text := "  platform: {graph: true, channels: [{name: stable-4.20}]}\n  blockedImages:\n"
		for _, p := range patterns {
			text += "  - name: '" + p + "'\n"
		}
		p, err := w.make(text)
		fail.On(t, err)
		return p
	}
	p := block(made.Images["ovn-kubernetes"].Encoded())
	if len(p.Missing) > 0 || len(p.Blocked) != 1 || p.Blocked[0].Reasons[0].Release != made.Name {
		t.Errorf("missing %+v, blocked %+v", p.Missing, p.Blocked)
	}
	const want = "release 4.20.1-x86_64 is mirrored without images that blockedImages matches: ovn-kubernetes, ovn-kubernetes-microshift; " +
		"clusters that need them cannot be installed with it or updated to it"
	noted(t, p.Notes, want)
	if tags := tagsOf(p, plan.SignatureImage); slices.Contains(slices.Concat(slices.Collect(maps.Values(tags))...), releasetest.SignatureTag(made.Images["ovn-kubernetes"])) {
		t.Error("the signatures of the blocked image are in the plan")
	}
	p = block("openshift/graph-image")
	if p.GraphData != nil || !slices.Contains(p.Notes, "graph data is not mirrored: blockedImages matches its image") {
		t.Errorf("graph data %+v, notes %q", p.GraphData, p.Notes)
	}
	_, err := w.make("  platform: {release: '" + made.Reference() + "'}\n  blockedImages: [{name: ocp-release}]\n")
	says(t, err, "is blocked by blockedImages (ocp-release)")
}

// TestGraphImage checks the base of the image of graph data: the component of the highest release,
// or else the best available one. A rebuild gives the same image.
func TestGraphImage(t *testing.T) {
	t.Parallel()
	u := releasetest.Small()
	for _, version := range []string{"4.19.2", "4.20.1"} {
		u.Releases = append(u.Releases, releasetest.Release{Version: version, Arch: "arm64"})
	}
	whole := newReleaseFixture(t, u)
	u.Releases[5].Flaws.Missing = []string{"cli"} // and so in 4.20.1 for amd64
	less := newReleaseFixture(t, u)
	blocked := whole.Payload("4.20.2-x86_64").Images["cli"].Encoded()
	for _, tc := range []struct {
		fixture               *releaseFixture
		stanza, blocked, base string
		more                  string // of another architecture
	}{
		{whole, "channels: [{name: fast-4.20, minVersion: 4.19.1}]", "", "4.20.2-x86_64", ""},
		{whole, "architectures: [amd64, multi], channels: [{name: stable-4.20}]", "", "4.20.1-multi", ""},
		{whole, "architectures: [arm64, amd64], channels: [{name: stable-4.20}]", "", "4.20.1-x86_64", "4.20.1-aarch64"},
		{whole, "architectures: [arm64], channels: [{name: stable-4.20}]", "", "4.20.1-aarch64", ""},
		{whole, "channels: [{name: fast-4.20, minVersion: 4.19.2}]", blocked, "4.19.2-x86_64", ""},
		{less, "channels: [{name: fast-4.20, minVersion: 4.19.2}]", "", "4.19.2-x86_64", ""},
		{less, "architectures: [amd64, arm64], channels: [{name: stable-4.20}]", "", "4.20.1-aarch64", ""},
	} {
		text := "  platform: {graph: true, " + tc.stanza + "}\n"
		if tc.blocked != "" {
			text += "  blockedImages: [{name: '" + tc.blocked + "'}]\n"
		}
		p, err := tc.fixture.make(text)
		if err != nil {
			t.Errorf("%s: %v", tc.stanza, err)
			continue
		}
		made := tc.fixture.Payload(tc.base)
		g := p.GraphData
		if want := made.Content + "@" + made.Images["cli"].String(); g.Base != want {
			t.Errorf("%s: its base is %s, want %s", tc.stanza, g.Base, want)
		}
		var more, platforms []string
		if tc.more != "" {
			made := tc.fixture.Payload(tc.more)
			more, platforms = []string{made.Content + "@" + made.Images["cli"].String()}, []string{"linux/amd64", "linux/arm64"}
		}
		if diff := cmp.Diff(more, g.MoreBases); diff != "" {
			t.Errorf("%s: further bases (-want +got):\n%s", tc.stanza, diff)
		}
		lacks := strings.Contains(strings.Join(p.Notes, "\n"), "the image of graph data does not run on amd64: ")
		if want := tc.fixture == less && tc.base == "4.20.1-aarch64"; lacks != want {
			t.Errorf("%s: %q", tc.stanza, p.Notes)
		}
		if got := graphPlatforms(t, tc.fixture, g.Digest); tc.base != "4.20.1-multi" && !slices.Equal(got, platforms) {
			t.Errorf("%s: it is for %v, want %v", tc.stanza, got, platforms)
		}
		if g.Source != "https://updates.example.com/graph-data" || g.SHA256 != digest.FromBytes(tc.fixture.Platform.GraphData()) || g.Repository != "openshift/graph-image" || g.Tag != "latest" {
			t.Errorf("%s: %+v", tc.stanza, g)
		}
		if err := RebuildGraphData(t.Context(), *g, "", tc.fixture.sources()); err != nil {
			t.Errorf("%s: rebuilding: %v", tc.stanza, err)
		}
		other := *g
		other.SHA256 = digest.FromString("other data")
		if err := RebuildGraphData(t.Context(), other, "", tc.fixture.sources()); !errors.Is(err, errGraphData) {
			t.Errorf("%s: rebuilt from other data: %v", tc.stanza, err)
		}
		other = *g
		other.Digest = digest.FromString("another image")
		if err := RebuildGraphData(t.Context(), other, "", tc.fixture.sources()); err == nil {
			t.Errorf("%s: rebuilt as another image", tc.stanza)
		}
	}
	_, err := whole.make("  platform: {graph: true}\n")
	says(t, err, "imageset.yaml:4: graph: building the image of graph data on registry.access.redhat.com/ubi9/ubi-minimal:latest: ", baseHint)
}

// graphPlatforms returns the platforms that an index lists; none for an image manifest.
func graphPlatforms(t *testing.T, w *releaseFixture, d digest.Digest) []string {
	t.Helper()
	_, raw, ok := w.own(d)
	if !ok {
		t.Fatalf("%s was not built", d)
	}
	var index ocispec.Index
	fail.On(t, json.Unmarshal(raw, &index))
	return elements.Map(index.Manifests, func(m ocispec.Descriptor) string { return m.Platform.OS + "/" + m.Platform.Architecture })
}

// TestReleasesAreReadOnce checks that every manifest is requested once, and of release images only
// the config, the layer with the release and the layer with the gates.
func TestReleasesAreReadOnce(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	w.platform("    graph: true\n    architectures: [amd64, multi]\n    channels: [{name: fast-4.20, minVersion: 4.20.1}]\n")
	asked := map[string]int{}
	for _, r := range w.registry.Log() {
		asked[r.Method+" "+r.Path]++
	}
	for what, n := range asked {
		if n > 1 {
			t.Errorf("%s: %d times", what, n)
		}
	}
	if len(asked) < 50 {
		t.Errorf("%d requests", len(asked))
	}
	for channel, n := range w.asked {
		if n > 1 {
			t.Errorf("%s was requested %d times", channel, n)
		}
	}
}
