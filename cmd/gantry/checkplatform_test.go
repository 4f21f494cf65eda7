package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release/proof"
	"github.com/gantry-mirror/gantry/pkg/release/releasetest"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// A provenMirror has the releases on the update path from 4.18.1 to 4.20.2 below a prefix, copied with
// the plan in plan.json.
type provenMirror struct {
	*platformFixture
	prefix string
}

const provenPlatform = `  platform:
    graph: true
    channels:
    - name: fast-4.20
      from: [4.18.1]
`

// newProvenMirrors makes mirrors in one registry. Each has a prefix and a workspace of its name.
func newProvenMirrors(t *testing.T, names ...string) map[string]*provenMirror {
	t.Helper()
	w := newSmallFixture(t)
	cfg := w.config("imageset.yaml", provenPlatform)
	w.must("plan", "-c", cfg, "-o", w.path("plan.json"))
	all := map[string]*provenMirror{}
	for _, name := range names {
		m := &provenMirror{w, strings.ReplaceAll(strings.ToLower(name), " ", "-")}
		m.must("mirror", "--plan", w.path("plan.json"), m.at(), "--workspace", m.path(m.prefix))
		all[name] = m
	}
	return all
}

func (w *provenMirror) at() string { return w.docker("/" + w.prefix) }

// remove deletes a manifest of the mirror, with its tags.
func (w *provenMirror) remove(repository, what string) {
	w.t.Helper()
	if d, ok := w.stores(w.prefix)[repository].Tags[what]; ok {
		what = d.String()
	}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodDelete, w.mirror.URL()+"/v2/"+w.prefix+"/"+repository+"/manifests/"+what, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		w.t.Fatalf("deleting %s of %s: %s", what, repository, resp.Status)
	}
}

// proves runs the check, checks its exit status, and returns the report.
func (w *provenMirror) proves(code int, args ...string) proof.Report {
	w.t.Helper()
	o := w.gantry(append([]string{"check", "--platform", w.at(), "-o", "json", "--workspace", w.path(w.prefix)}, args...)...)
	if o.code != code {
		w.t.Errorf("the check ended with %d, want %d\n%s%s", o.code, code, o.stdout, o.stderr)
	}
	var r proof.Report
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || r.Version != 1 || r.Mirror != w.at() {
		w.t.Fatalf("it prints %q, %v", o.stdout, err)
	}
	return r
}

// offer replaces the graph data of the mirror with graph data that has more blocked updates.
func (w *provenMirror) offer(more ...releasetest.Blocked) {
	w.t.Helper()
	u := releasetest.Small()
	u.Blocked = append(u.Blocked, more...)
	other, err := releasetest.New(u)
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := w.config("other.yaml", strings.Replace(provenPlatform, "[4.18.1]", "[4.20.1]", 1)+"    graphData: "+w.write("other.tar.gz", string(other.GraphData()))+"\n")
	w.must("mirror", "-c", cfg, w.at(), "--workspace", w.path(w.prefix))
}

// outcomes returns the hops, each with whether it is possible, and the problems.
func outcomes(r proof.Report) (hops, problems []string) {
	for _, u := range r.Updates {
		for _, h := range u.Hops {
			word := " no"
			if h.Possible {
				word = " yes"
			}
			hops = append(hops, strings.Join(append([]string{h.From + " " + h.To + word}, h.Risks...), " "))
			for _, p := range h.Problems {
				problems = append(problems, p.Problem)
			}
		}
	}
	for _, x := range r.Releases {
		for _, p := range x.Problems {
			problems = append(problems, x.Name+": "+p.Problem)
		}
	}
	for _, p := range r.Problems {
		problems = append(problems, p.Problem)
	}
	return hops, problems
}

func TestCheckPlatform(t *testing.T) {
	t.Parallel()
	w := newProvenMirrors(t, "ocp")["ocp"]
	want := proof.Report{
		Version: 1, Mirror: w.at(), Blobs: "not checked",
		GraphData: w.mirror.Host + "/ocp/openshift/graph-image@" + w.stores("ocp")[graphRepository].Tags["latest"].String(),
		Updates: []proof.UpdateReport{{
			Plan: "imageset", Channel: "fast-4.20", Arch: "amd64", From: "4.18.1", To: "4.20.2",
			Hops: []proof.HopReport{{From: "4.18.1", To: "4.19.2", Possible: true}, {From: "4.19.2", To: "4.20.2", Possible: true}},
		}},
	}
	for _, name := range []string{"4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64"} {
		want.Releases = append(want.Releases, proof.ReleaseReport{Name: name, Digest: w.payload(name).Digest})
	}
	// The plan may come from the workspace, from a file or from a configuration. Only a configuration
	// needs requests to sources.
	plug := w.unplug()
	for _, args := range [][]string{nil, {"--plan", w.path("plan.json")}} {
		if diff := cmp.Diff(want, w.proves(exitOK, args...)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", args, diff)
		}
	}
	versions := w.proves(exitOK, "--from", "4.18.1,4.19.2", "--to", "4.20.2", "--channel", "fast-4.20")
	plug()
	if diff := cmp.Diff(want, w.proves(exitOK, "-c", w.path("imageset.yaml"))); diff != "" {
		t.Errorf("with the configuration (-want +got):\n%s", diff)
	}
	hops, problems := outcomes(versions)
	if diff := cmp.Diff([]string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 yes", "4.19.2 4.20.2 yes"}, hops); diff != "" || len(problems) > 0 || len(versions.Releases) != 3 {
		t.Errorf("without a plan there are %v, and %d releases, hops (-want +got):\n%s", problems, len(versions.Releases), diff)
	}

	text := w.must("check", "--platform", w.at(), "--workspace", w.path("ocp")).stdout
	if diff := cmp.Diff("Updates with what is at "+w.at()+`
  CHANNEL    ARCH   HOP               POSSIBLE  RISKS
  fast-4.20  amd64  4.18.1 -> 4.19.2  yes       -
  fast-4.20  amd64  4.19.2 -> 4.20.2  yes       -
3 of 3 releases are complete; their blobs were not checked (--blobs).
`, text); diff != "" {
		t.Errorf("as text (-want +got):\n%s", diff)
	}
	w.checkBlobs(t)
}

// checkBlobs checks that lost and altered blobs are found with the plan and with versions.
func (w *provenMirror) checkBlobs(t *testing.T) {
	const blobs = "/ocp/openshift/release/blobs/"
	versions := []string{"--from", "4.18.1", "--to", "4.20.2", "--channel", "fast-4.20"}
	for _, test := range []struct {
		flag, found string
		fault       registrytest.Rule
	}{
		{"--blobs", "is missing", registrytest.Rule{Method: http.MethodHead, Path: blobs, Action: registrytest.Status(http.StatusNotFound)}},
		{"--read-blobs", "is damaged", registrytest.Rule{Method: http.MethodGet, Path: blobs, Action: registrytest.WrongBytes()}},
	} {
		for _, args := range [][]string{{test.flag}, append([]string{test.flag}, versions...)} {
			_, problems := outcomes(w.proves(exitOK, args...))
			if len(problems) > 0 {
				t.Errorf("%v: %v", args, problems)
			}
			w.mirror.Script(test.fault)
			if _, problems = outcomes(w.proves(exitMismatch, args...)); len(problems) == 0 || !strings.Contains(problems[0], test.found) {
				t.Errorf("%v: %v", args, problems)
			}
			if _, problems = outcomes(w.proves(exitOK, args[1:]...)); len(problems) > 0 {
				t.Errorf("%v without %s: %v", args, test.flag, problems)
			}
			w.mirror.Script()
		}
	}
}

// TestCheckPlatformMissing removes one thing from each mirror. The tests of pkg/release/proof cover
// everything else that may be missing.
func TestCheckPlatformMissing(t *testing.T) {
	t.Parallel()
	long(t)
	const (
		first, second     = "4.18.1 4.19.2 ", "4.19.2 4.20.2 "
		release, lastHead = "4.19.2-x86_64", "4.20.2-x86_64"
	)
	tests := []struct {
		name           string
		harm           func(w *provenMirror)
		hops, problems []string
		versions       int // the exit status of a check without a plan
	}{
		{
			"a component", func(w *provenMirror) { w.remove(componentRepository, release+"-rhel-coreos") },
			[]string{first + "no", second + "no"}, []string{release + ": component rhel-coreos: it is missing"}, exitMismatch,
		},
		{
			"sigstore signatures", func(w *provenMirror) {
				w.remove(componentRepository, releasetest.SignatureTag(w.payload(lastHead).Images["rhel-coreos"]))
			},
			[]string{first + "yes", second + "no"}, []string{lastHead + ": signatures of component rhel-coreos: it is missing"},
			exitOK, // clusters of 4.20 do not ask for them
		},
		{
			"graph data", func(w *provenMirror) { w.remove(graphRepository, "latest") },
			[]string{first + "yes", second + "yes"}, []string{"the graph data image is missing; update services do not work without it"}, exitMismatch,
		},
		{
			"a ConfigMap", func(w *provenMirror) {
				_ = os.Remove(filepath.Join(w.path(w.prefix), "cluster-resources", resources.SignatureFile(w.payload(release).Digest)))
			},
			[]string{first + "no", second + "no"}, []string{release + ": the ConfigMap with the signatures of PAYLOAD is missing"}, exitMismatch,
		},
		{
			"an update without risks", func(w *provenMirror) {
				w.offer(releasetest.Blocked{To: "4.19.2", From: []string{"4.18.1"}, Name: "NewRisk", Message: "It breaks.", URL: "https://issues.example.com/NewRisk"})
			},
			[]string{first + "no NewRisk", second + "yes", "4.20.1 4.20.2 yes"},
			[]string{"the update from 4.18.1 to 4.19.2 has a risk in the mirror's graph data that the plan does not list: NewRisk"}, exitOK,
		},
	}
	var names []string
	for _, test := range tests {
		names = append(names, test.name)
	}
	mirrors := newProvenMirrors(t, names...)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := mirrors[test.name]
			test.harm(w)
			hops, problems := outcomes(w.proves(exitMismatch))
			for i, p := range problems {
				problems[i] = strings.ReplaceAll(p, w.payload(release).Digest.String(), "PAYLOAD")
			}
			slices.Sort(hops)
			slices.Sort(test.hops)
			if diff := cmp.Diff(test.hops, hops); diff != "" {
				t.Errorf("hops (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if o := w.gantry("check", "--platform", w.at(), "--workspace", w.path(w.prefix), "--from", "4.18.1", "--to", "4.20.2", "--channel", "fast-4.20"); o.code != test.versions {
				t.Errorf("without a plan it ends with %d, want %d\n%s%s", o.code, test.versions, o.stdout, o.stderr)
			}
		})
	}
}

// TestCheckPlatformMulti checks a mirror of a release for several architectures without --arch.
func TestCheckPlatformMulti(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	cfg := strings.Replace(provenPlatform, "[4.18.1]", "[4.20.1]", 1) + "    architectures: [multi]\n"
	w.must("mirror", "-c", w.config("imageset.yaml", cfg), w.docker("/ocp"), "--workspace", w.path("ocp"))
	o := w.must("check", "--platform", w.docker("/ocp"), "--workspace", w.path("ocp"), "--from", "4.20.1", "--to", "4.20.2", "--channel", "fast-4.20")
	if !strings.Contains(o.stdout, "fast-4.20  multi  4.20.1 -> 4.20.2  yes") {
		t.Error(o.stdout)
	}
}

// TestCheckPlatformServed checks an archive that gantry serve serves, without any network outside.
func TestCheckPlatformServed(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	disk, plan := fileScheme+w.path("disk"), w.path("plan.json")
	w.must("plan", "-c", w.config("imageset.yaml", provenPlatform), "-o", plan)
	w.must("mirror", "--plan", plan, disk)
	plug := w.unplug()
	s := serveDisk(w.fixture, disk)
	for _, which := range [][]string{{"--plan", plan}, {"--from", "4.18.1", "--to", "4.20.2", "--channel", "fast-4.20"}} {
		args := append([]string{"check", "--platform", dockerScheme + s.Address, "--dest-plain-http", "--workspace", w.path("far"), "-o", "json"}, which...)
		var r proof.Report
		if err := json.Unmarshal([]byte(w.must(args...).stdout), &r); err != nil {
			t.Fatal(err)
		}
		hops, problems := outcomes(r)
		if diff := cmp.Diff([]string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 yes"}, hops); diff != "" || len(problems) > 0 || len(r.Releases) != 3 {
			t.Errorf("%v: %d releases, %v, hops (-want +got):\n%s", which, len(r.Releases), problems, diff)
		}
	}
	s.end(os.Interrupt)
	plug()
}

func TestCheckPlatformFlags(t *testing.T) {
	t.Parallel()
	w := newPlatformFixture(t, releasetest.Definition{})
	at := w.docker("/ocp")
	cfg := w.config("no.yaml", "  additionalImages: [{name: example.com/a:1}]\n")
	for _, test := range []struct {
		says string
		args []string
	}{
		{"--platform requires one mirror", []string{"--platform"}},
		{"--platform requires one mirror", []string{"--platform", "example.com/catalog:v1"}},
		{"--platform requires one mirror", []string{"--platform", at, at}},
		{"the updates to check are unknown", []string{"--platform", at}},
		{"are given twice", []string{"--platform", at, "--plan", "p", "--from", "4.18.1", "--to", "4.18.2"}},
		{"set both", []string{"--platform", at, "--from", "4.18.1"}},
		{"check a plan", []string{"--platform", at, "--from", "4.18.1", "--to", "4.20.2", "--release-key", "key.asc"}},
		{"--channel and --arch are for", []string{"--platform", at, "--plan", "p", "--channel", "c"}},
		{"check operators in another run", []string{"--platform", at, "--cluster-version", "4.20.1"}},
		{"no.yaml has no mirror.platform", []string{"--platform", at, "-c", cfg}},
		{"is not a version", []string{"--platform", at, "--from", "4.18", "--to", "4.20.2"}},
		{"--arch", []string{"--platform", at, "--from", "4.18.1", "--to", "4.20.2", "--arch", "vax"}},
		{"--to is for --platform", []string{"-c", cfg, "--to", "4.20.2"}},
		{"--dest-tls-verify is for --platform", []string{"-c", cfg, "--dest-tls-verify=false"}},
	} {
		w.refuse(exitUsage, []string{test.says}, append([]string{"check"}, test.args...)...)
	}
}
