package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// TestCheckPlatformKeys mirrors releases that clusters, which know the keys of the
// release that they run and no flags of Gantry, do not accept.
func TestCheckPlatformKeys(t *testing.T) {
	t.Parallel()
	w := newSmallWorld(t)
	stranger, err := releasetest.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	strange := func(name string) registrytest.Rule {
		p := w.payload(name)
		body, err := stranger.Sign(p.Repository+":"+p.Name, p.Digest)
		if err != nil {
			t.Fatal(err)
		}
		return signatureIs(p.Digest, body)
	}
	const first, middle, last = "4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64"
	own := string(w.releases.Keys.OpenPGP)
	// Two blocks in one file: a key of either may have signed.
	either, other := w.write("either.asc", own+string(stranger.OpenPGP)), w.write("stranger.asc", string(stranger.OpenPGP))
	refused := func(from, to string) string {
		return "a cluster that runs " + from + " will not accept the signatures of " + to + ": the image DIGEST is not trusted: no signature satisfies the keyring verifier-public-key-test:\n" +
			"signature 1: it was made with key KEY, which verifier-public-key-test does not hold"
	}
	all := strings.Replace(provenPlatform, "  platform:\n", "  platform:\n    architectures: [multi]\n", 1)
	yes := []string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 yes"}
	for _, test := range []struct {
		name, key      string
		rules          []registrytest.Rule
		platform       string
		hops, problems []string
	}{
		{
			"a new key that no release brings", either, []registrytest.Rule{strange(last)}, provenPlatform,
			[]string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 no"}, []string{refused("4.19.2", "4.20.2")},
		},
		{
			"the key of somebody else", other, []registrytest.Rule{strange(first), strange(middle), strange(last)}, provenPlatform,
			[]string{"4.18.1 4.19.2 no", "4.19.2 4.20.2 no"}, []string{refused("4.18.1", "4.19.2"), refused("4.19.2", "4.20.2")},
		},
		// No cluster is updated to the first.
		{"another first release", either, []registrytest.Rule{strange(first)}, provenPlatform, yes, nil},
		// Clusters are offered the list of all architectures, not its images.
		{
			"a list", either, []registrytest.Rule{strange("4.20.2-multi")}, strings.Replace(all, "4.18.1", "4.20.1", 1),
			[]string{"4.20.1 4.20.2 no"}, []string{refused("4.20.1", "4.20.2")},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &provenMirror{w.in(t), strings.ReplaceAll(test.name, " ", "-")}
			cfg := m.config("imageset.yaml", test.platform)
			m.service.Script(test.rules...)
			m.must("mirror", "-c", cfg, m.at(), "--workspace", m.path(m.prefix), "--release-key", test.key)
			code := exitOK
			if test.problems != nil {
				code = exitMismatch
			}
			hops, problems := outcomes(m.proves(code, "--release-key", test.key))
			for i, p := range problems {
				p = regexp.MustCompile(`sha256:[0-9a-f]{64}`).ReplaceAllString(p, "DIGEST")
				problems[i] = regexp.MustCompile(`key [0-9A-F]{16}`).ReplaceAllString(p, "key KEY")
			}
			if diff := cmp.Diff(test.hops, hops); diff != "" {
				t.Errorf("hops (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			// Where ConfigMaps are elsewhere, the signatures of the plan count.
			m.must("plan", "-c", cfg, "-o", m.path("kept.json"), "--release-key", test.key)
			o := m.gantry("check", "--platform", m.at(), "--plan", m.path("kept.json"), "--workspace", m.path("nowhere"), "--release-key", test.key)
			if o.code != code || !strings.Contains(o.stdout, "whether the ConfigMaps of signatures were written was not looked at") {
				t.Errorf("by the plan alone it ends with %d, want %d\n%s%s", o.code, code, o.stdout, o.stderr)
			}
		})
	}
}

// TestCheckPlatformUnverified checks releases that were mirrored without signatures, the
// first of which brings no keys, either.
func TestCheckPlatformUnverified(t *testing.T) {
	t.Parallel()
	u := releasetest.Small()
	u.Releases[0].Flaws.Keyless = true
	w := &provenMirror{newPlatformWorld(t, u), "ocp"}
	const ignore = "--ignore-release-signature"
	w.must("mirror", "-c", w.config("imageset.yaml", provenPlatform), w.at(), "--workspace", w.path(w.prefix), ignore)
	checked := func(code int, hops, problems []string, note string, args ...string) {
		t.Helper()
		r := w.proves(code, args...)
		gotHops, gotProblems := outcomes(r)
		if diff := cmp.Diff(hops, gotHops); diff != "" {
			t.Errorf("%v: hops (-want +got):\n%s", args, diff)
		}
		if diff := cmp.Diff(problems, gotProblems); diff != "" {
			t.Errorf("%v: problems (-want +got):\n%s", args, diff)
		}
		if !slices.ContainsFunc(r.Notes, func(got string) bool { return strings.HasPrefix(got, note) }) {
			t.Errorf("%v: no note says %q: %q", args, note, r.Notes)
		}
	}
	checked(exitMismatch, []string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 no"},
		[]string{"a cluster that runs 4.19.2 will not accept 4.20.2, which was mirrored without signatures"},
		"release 4.18.1-x86_64 brings no keys of signatures")
	checked(exitOK, []string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 yes"}, nil, "whether clusters accept the signatures of releases was not looked at", ignore)
}
