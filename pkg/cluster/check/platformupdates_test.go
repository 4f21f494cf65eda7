package check_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/archive/serve"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/proof"
	"github.com/gantry-mirror/gantry/plan/updates"
)

const provenPlatform = `  platform:
    graph: true
    channels:
    - name: fast-4.20
      from: [4.18.1]
`

// updated mirrors the releases on the update path from 4.18.1 to 4.20.2 to a prefix, with a workspace of the same name.
func updated(p *mirrortest.Platform, prefix string, change ...func(*mirroring.Options)) {
	p.T.Helper()
	config := p.Config("imageset.yaml", provenPlatform)
	p.Mirrored(config, p.Docker(prefix), append(change, func(o *mirroring.Options) { o.Workspace = p.Path(prefix) })...)
}

// proven checks the platform at a prefix, and whether there is a mismatch.
func proven(p *mirrortest.Platform, prefix string, mismatch bool, change func(*check.Options)) *proof.Report {
	p.T.Helper()
	o := check.Options{Env: p.Env, Mirror: p.Docker(prefix), Workspace: p.Path(prefix)}
	if change != nil {
		change(&o)
	}
	r, err := check.Run(p.T.Context(), o)
	switch {
	case r == nil:
		p.T.Fatal(err)
	case mismatch:
		mirrortest.Refused(p.T, err, advice.Mismatch)
	case err != nil:
		p.T.Error(err)
	}
	return r.Platform
}

func fromTo(o *check.Options) { o.From, o.To, o.Channel = []string{"4.18.1"}, "4.20.2", "fast-4.20" }

// outcomes returns the hops, each with whether it is possible, and the problems.
func outcomes(r *proof.Report) (hops, problems []string) {
	for _, u := range r.Updates {
		for _, h := range u.Hops {
			word := " no"
			if h.Possible {
				word = " yes"
			}
			hops = append(hops, strings.Join(append([]string{h.From + " " + h.To + word}, h.Risks...), " "))
			problems = append(problems, elements.Map(h.Problems, func(p proof.Problem) string { return p.Problem })...)
		}
	}
	for _, x := range r.Releases {
		problems = append(problems, elements.Map(x.Problems, func(p proof.Problem) string { return x.Name + ": " + p.Problem })...)
	}
	problems = append(problems, elements.Map(r.Problems, func(p proof.Problem) string { return p.Problem })...)
	return hops, problems
}

// TestPlatform checks a complete mirror. The plan may come from the workspace, from a file or from a configuration.
func TestPlatform(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	updated(p, "ocp")
	file := p.WrittenPlan("plan.json", p.Path("imageset.yaml"))
	want := &proof.Report{
		Version: 1, Mirror: p.Docker("ocp"), Blobs: "not checked",
		GraphData: p.Mirror.Host + "/ocp/openshift/graph-image@" + p.MirrorTags("ocp/" + mirrortest.GraphRepository)["latest"].String(),
		Updates: []proof.UpdateReport{{
			Plan: "imageset", Channel: "fast-4.20", Arch: "amd64", From: "4.18.1", To: "4.20.2",
			Hops: []proof.HopReport{{From: "4.18.1", To: "4.19.2", Possible: true}, {From: "4.19.2", To: "4.20.2", Possible: true}},
		}},
	}
	for _, name := range []string{"4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64"} {
		want.Releases = append(want.Releases, proof.ReleaseReport{Name: name, Digest: p.Payload(name).Digest})
	}
	// Only a configuration needs requests to sources.
	plug := p.Unplug()
	fail.Diff(t, want, proven(p, "ocp", false, nil))
	fail.Diff(t, want, proven(p, "ocp", false, func(o *check.Options) { o.Plan = file }))
	versions := proven(p, "ocp", false, func(o *check.Options) {
		fromTo(o)
		o.From = []string{"4.18.1", "4.19.2"}
	})
	plug()
	fail.Diff(t, want, proven(p, "ocp", false, func(o *check.Options) { o.Config = p.Path("imageset.yaml") }))
	hops, problems := outcomes(versions)
	if diff := cmp.Diff([]string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 yes", "4.19.2 4.20.2 yes"}, hops); diff != "" || len(problems) > 0 || len(versions.Releases) != 3 {
		t.Errorf("without a plan there are %v, and %d releases, hops (-want +got):\n%s", problems, len(versions.Releases), diff)
	}
	checkBlobs(t, p)
}

// checkBlobs checks that lost and altered blobs are found with the plan and with versions.
func checkBlobs(t *testing.T, p *mirrortest.Platform) {
	t.Helper()
	const blobs = "/ocp/openshift/release/blobs/"
	for found, tc := range map[string]struct {
		blobs func(*check.Options)
		fault registrytest.Rule
	}{
		"is missing": {func(o *check.Options) { o.Blobs = true }, registrytest.Rule{Method: http.MethodHead, Path: blobs, Action: registrytest.Status(http.StatusNotFound)}},
		"is damaged": {func(o *check.Options) { o.Blobs, o.ReadBlobs = true, true }, registrytest.Rule{Method: http.MethodGet, Path: blobs, Action: registrytest.WrongBytes()}},
	} {
		for _, which := range []func(*check.Options){func(*check.Options) {}, fromTo} {
			with := func(o *check.Options) { which(o); tc.blobs(o) }
			proven(p, "ocp", false, with)
			p.Mirror.Script(tc.fault)
			if _, problems := outcomes(proven(p, "ocp", true, with)); len(problems) == 0 || !strings.Contains(problems[0], found) {
				t.Errorf("a blob that %s: %v", found, problems)
			}
			proven(p, "ocp", false, which)
			p.Mirror.Script()
		}
	}
}

// removed deletes a manifest of the mirror, with its tags.
func removed(p *mirrortest.Platform, repository, tag string) {
	p.T.Helper()
	name := p.MirrorTags(repository)[tag].String()
	req, err := http.NewRequestWithContext(p.T.Context(), http.MethodDelete, p.Mirror.URL()+"/v2/"+repository+"/manifests/"+name, nil)
	fail.On(p.T, err)
	resp, err := http.DefaultClient.Do(req)
	fail.On(p.T, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		p.T.Fatalf("deleting %s of %s: %s", tag, repository, resp.Status)
	}
}

// offered replaces the graph data of a mirror by graph data that has one more risk.
func offered(p *mirrortest.Platform, prefix string) {
	p.T.Helper()
	u := releasetest.Small()
	u.Blocked = append(u.Blocked, releasetest.Blocked{To: "4.19.2", From: []string{"4.18.1"}, Name: "NewRisk", Message: "It breaks.", URL: "https://issues.example.com/NewRisk"})
	other, err := releasetest.New(u)
	fail.On(p.T, err)
	config := p.Config("other.yaml", strings.Replace(provenPlatform, "[4.18.1]", "[4.20.1]", 1)+"    graphData: "+p.Write("other.tar.gz", string(other.GraphData()))+"\n")
	p.Mirrored(config, p.Docker(prefix), func(o *mirroring.Options) { o.Workspace = p.Path(prefix) })
}

// TestPlatformMissing removes one thing from each mirror. The tests of plan/proof cover everything else that may
// be missing.
func TestPlatformMissing(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	p := mirrortest.SmallPlatform(t)
	const (
		first, second     = "4.18.1 4.19.2 ", "4.19.2 4.20.2 "
		release, lastHead = "4.19.2-x86_64", "4.20.2-x86_64"
	)
	payload := p.Payload(release)
	for prefix, tc := range map[string]struct {
		harm           func(prefix string)
		hops, problems []string
		versions       bool // a check without a plan finds a mismatch, too
	}{
		"component": {
			func(prefix string) { removed(p, prefix+"/"+mirrortest.ComponentRepository, release+"-rhel-coreos") },
			[]string{first + "no", second + "no"}, []string{release + ": component rhel-coreos: it is missing"}, true,
		},
		"sigstore": {
			func(prefix string) {
				removed(p, prefix+"/"+mirrortest.ComponentRepository, releasetest.SignatureTag(p.Payload(lastHead).Images["rhel-coreos"]))
			},
			[]string{first + "yes", second + "no"}, []string{lastHead + ": signatures of component rhel-coreos: it is missing"},
			false, // clusters of 4.20 do not ask for them
		},
		"graph": {
			func(prefix string) { removed(p, prefix+"/"+mirrortest.GraphRepository, "latest") },
			[]string{first + "yes", second + "yes"}, []string{"the graph data image is missing; update services do not work without it"}, true,
		},
		"configmap": {
			func(prefix string) {
				_ = os.Remove(filepath.Join(p.Path(prefix), "cluster-resources", resources.SignatureFile(payload.Digest)))
			},
			[]string{first + "no", second + "no"}, []string{release + ": the ConfigMap with the signatures of PAYLOAD is missing"}, true,
		},
		"risk": {
			func(prefix string) { offered(p, prefix) },
			[]string{first + "no NewRisk", second + "yes", "4.20.1 4.20.2 yes"},
			[]string{"the update from 4.18.1 to 4.19.2 has a risk in the mirror's graph data that the plan does not list: NewRisk"}, false,
		},
	} {
		updated(p, prefix)
		tc.harm(prefix)
		hops, problems := outcomes(proven(p, prefix, true, nil))
		for i, text := range problems {
			problems[i] = strings.ReplaceAll(text, payload.Digest.String(), "PAYLOAD")
		}
		slices.Sort(hops)
		slices.Sort(tc.hops)
		if diff := cmp.Diff(tc.hops, hops); diff != "" {
			t.Errorf("%s: hops (-want +got):\n%s", prefix, diff)
		}
		if diff := cmp.Diff(tc.problems, problems); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", prefix, diff)
		}
		o := check.Options{Env: p.Env, Mirror: p.Docker(prefix), Workspace: p.Path(prefix)}
		fromTo(&o)
		if _, err := check.Run(t.Context(), o); tc.versions != (advice.KindOf(err) == advice.Mismatch) || !tc.versions && err != nil {
			t.Errorf("%s: without a plan: %v", prefix, err)
		}
	}
}

// TestPlatformMulti checks a mirror of a release for several architectures without naming one.
func TestPlatformMulti(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	config := p.Config("imageset.yaml", strings.Replace(provenPlatform, "[4.18.1]", "[4.20.1]", 1)+"    architectures: [multi]\n")
	p.Mirrored(config, p.Docker("ocp"))
	r := proven(p, "ocp", false, func(o *check.Options) { o.From, o.To, o.Workspace = []string{"4.20.1"}, "4.20.2", p.Workspace() })
	if hops, _ := outcomes(r); len(r.Updates) != 1 || r.Updates[0].Arch != "multi" || !slices.Equal(hops, []string{"4.20.1 4.20.2 yes"}) {
		t.Errorf("the updates are %+v", r.Updates)
	}
}

// TestPlatformServed checks an archive that is served as a registry, without any network outside.
func TestPlatformServed(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	config := p.Config("imageset.yaml", provenPlatform)
	disk, file := p.Exported(config, "disk"), p.WrittenPlan("plan.json", config)
	defer p.Unplug()()
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- serve.Run(ctx, serve.Options{Env: p.Env, Archive: []string{disk}, Listen: "127.0.0.1:0", Ready: func(s serve.Serving) error {
			ready <- s.Address.String()
			return nil
		}})
		close(ready)
	}()
	at := env.RegistryScheme + <-ready
	far := p.NewEnv()
	far.Destination.PlainHTTP = true
	for _, which := range []func(*check.Options){func(o *check.Options) { o.Plan = file }, fromTo} {
		r := proven(p, "far", false, func(o *check.Options) { which(o); o.Env, o.Mirror = far, at })
		hops, problems := outcomes(r)
		if diff := cmp.Diff([]string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 yes"}, hops); diff != "" || len(problems) > 0 || len(r.Releases) != 3 {
			t.Errorf("%d releases, %v, hops (-want +got):\n%s", len(r.Releases), problems, diff)
		}
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestPlatformKeys mirrors a release that clusters do not accept: they verify signatures with the keys of the release
// that they run, not with those of Options.ReleaseKeys.
func TestPlatformKeys(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	p := mirrortest.SmallPlatform(t)
	stranger, err := releasetest.NewKeys()
	fail.On(t, err)
	last := p.Payload("4.20.2-x86_64")
	body, err := stranger.Sign(last.Repository+":"+last.Name, last.Digest)
	fail.On(t, err)
	// A file with two blocks: a signature by a key of either block is accepted.
	trust := updates.ReleaseTrust{ReleaseKeys: []string{p.Write("either.asc", string(p.Releases.Keys.OpenPGP)+string(stranger.OpenPGP))}}
	p.Service.Script(registrytest.Rule{Path: releasetest.SignaturesPath + "/sha256=" + last.Digest.Encoded() + "/signature-1$", Action: func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		_, _ = rw.Write(body)
	}})
	updated(p, "ocp", func(o *mirroring.Options) { o.ReleaseTrust = trust })
	kept := p.WrittenPlan("kept.json", p.Path("imageset.yaml"), func(o *planning.Options) { o.ReleaseTrust = trust })
	wantProblems := []string{
		"a cluster that runs 4.19.2 will not accept the signatures of 4.20.2: the image DIGEST is not trusted: no signature satisfies the keyring verifier-public-key-test:\n" +
			"signature 1: it was made with key KEY, which is not in keyring verifier-public-key-test",
	}
	for name, tc := range map[string]struct {
		note string
		with func(*check.Options)
	}{
		"workspace": {"", func(o *check.Options) { o.ReleaseTrust = trust }},
		"versions":  {"", fromTo},
		// If the ConfigMaps are not in the workspace, the signatures of the plan are used.
		"plan": {"the ConfigMaps of signatures were not checked", func(o *check.Options) { o.ReleaseTrust, o.Plan, o.Workspace = trust, kept, p.Path("nowhere") }},
	} {
		r := proven(p, "ocp", true, tc.with)
		hops, problems := outcomes(r)
		for i, text := range problems {
			problems[i] = regexp.MustCompile(`key [0-9A-F]{16}`).ReplaceAllString(strings.ReplaceAll(text, last.Digest.String(), "DIGEST"), "key KEY")
		}
		if diff := cmp.Diff([]string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 no"}, hops); diff != "" {
			t.Errorf("%s: hops (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(wantProblems, problems); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", name, diff)
		}
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, tc.note) || (notes == "") != (tc.note == "") {
			t.Errorf("%s: the notes are %q, want %q", name, notes, tc.note)
		}
	}
}

// TestPlatformUnverified checks releases that were mirrored without signatures. The first of them has no keys, either.
func TestPlatformUnverified(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t) // plan/proof tests the findings, TestPlatform the verb
	u := releasetest.Small()
	u.Releases[0].Flaws.NoKeys = true
	p := mirrortest.NewPlatform(t, u)
	updated(p, "ocp", func(o *mirroring.Options) { o.IgnoreReleaseSignature = true })
	for ignore, want := range map[bool]struct {
		hops, problems []string
		note           string
	}{
		false: {
			[]string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 no"}, []string{"a cluster that runs 4.19.2 will not accept 4.20.2, which was mirrored without signatures"},
			"release 4.18.1-x86_64 has no keys to verify updates with",
		},
		true: {[]string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 yes"}, nil, "the signatures of releases were not checked (Options.IgnoreReleaseSignature)"},
	} {
		r := proven(p, "ocp", !ignore, func(o *check.Options) { o.IgnoreReleaseSignature = ignore })
		hops, problems := outcomes(r)
		if diff := cmp.Diff([][]string{want.hops, want.problems}, [][]string{hops, problems}); diff != "" {
			t.Errorf("ignored %v: hops and problems (-want +got):\n%s", ignore, diff)
		}
		if !slices.ContainsFunc(r.Notes, func(got string) bool { return strings.HasPrefix(got, want.note) }) {
			t.Errorf("ignored %v: no note contains %q: %q", ignore, want.note, r.Notes)
		}
	}
}
