package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// TestCheckPlatformKeys mirrors a release that clusters, which know the keys of the
// release that they run and no flags of Gantry, do not accept.
func TestCheckPlatformKeys(t *testing.T) {
	t.Parallel()
	w := &provenMirror{newSmallWorld(t), "ocp"}
	stranger, err := releasetest.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	last := w.payload("4.20.2-x86_64")
	body, err := stranger.Sign(last.Repository+":"+last.Name, last.Digest)
	if err != nil {
		t.Fatal(err)
	}
	// Two blocks in one file: a key of either may have signed.
	either := w.write("either.asc", string(w.releases.Keys.OpenPGP)+string(stranger.OpenPGP))
	cfg := w.config("imageset.yaml", provenPlatform)
	w.service.Script(signatureIs(last.Digest, body))
	w.must("mirror", "-c", cfg, w.at(), "--workspace", w.path(w.prefix), "--release-key", either)
	w.must("plan", "-c", cfg, "-o", w.path("kept.json"), "--release-key", either)
	wantHops := []string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 no"}
	wantProblems := []string{
		"a cluster that runs 4.19.2 will not accept the signatures of 4.20.2: the image DIGEST is not trusted: no signature satisfies the keyring verifier-public-key-test:\n" +
			"signature 1: it was made with key KEY, which verifier-public-key-test does not hold",
	}
	const elsewhere = "whether the ConfigMaps of signatures were written was not looked at"
	for _, test := range []struct {
		note string
		args []string
	}{
		{"", []string{"--release-key", either}},
		{"", []string{"--from", "4.18.1", "--to", "4.20.2", "--channel", "fast-4.20"}},
		// Where ConfigMaps are elsewhere, the signatures of the plan count.
		{elsewhere, []string{"--release-key", either, "--plan", w.path("kept.json"), "--workspace", w.path("nowhere")}},
	} {
		r := w.proves(exitMismatch, test.args...)
		hops, problems := outcomes(r)
		for i, p := range problems {
			p = strings.ReplaceAll(p, last.Digest.String(), "DIGEST")
			problems[i] = regexp.MustCompile(`key [0-9A-F]{16}`).ReplaceAllString(p, "key KEY")
		}
		if diff := cmp.Diff(wantHops, hops); diff != "" {
			t.Errorf("%v: hops (-want +got):\n%s", test.args, diff)
		}
		if diff := cmp.Diff(wantProblems, problems); diff != "" {
			t.Errorf("%v: problems (-want +got):\n%s", test.args, diff)
		}
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, test.note) || (notes == "") != (test.note == "") {
			t.Errorf("%v: the notes are %q, want %q", test.args, notes, test.note)
		}
	}
	w.refuse(exitUsage, []string{"reading a key of releases"}, "check", "--platform", w.at(), "--workspace", w.path(w.prefix), "--release-key", w.path("none.asc"))
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
