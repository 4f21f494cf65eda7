package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/release/releasetest"
)

// TestCheckPlatformKeys mirrors a release that clusters do not accept: they verify signatures with the
// keys of the release that they run, not with those of --release-key.
func TestCheckPlatformKeys(t *testing.T) {
	t.Parallel()
	long(t)
	w := &provenMirror{newSmallFixture(t), "ocp"}
	stranger, err := releasetest.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	last := w.payload("4.20.2-x86_64")
	body, err := stranger.Sign(last.Repository+":"+last.Name, last.Digest)
	if err != nil {
		t.Fatal(err)
	}
	// A file with two blocks: a signature by a key of either block is accepted.
	either := w.write("either.asc", string(w.releases.Keys.OpenPGP)+string(stranger.OpenPGP))
	cfg := w.config("imageset.yaml", provenPlatform)
	w.service.Script(signatureIs(last.Digest, body))
	w.must("mirror", "-c", cfg, w.at(), "--workspace", w.path(w.prefix), "--release-key", either)
	w.must("plan", "-c", cfg, "-o", w.path("kept.json"), "--release-key", either)
	wantHops := []string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 no"}
	wantProblems := []string{
		"a cluster that runs 4.19.2 will not accept the signatures of 4.20.2: the image DIGEST is not trusted: no signature satisfies the keyring verifier-public-key-test:\n" +
			"signature 1: it was made with key KEY, which is not in keyring verifier-public-key-test",
	}
	const elsewhere = "the ConfigMaps of signatures were not checked"
	for _, test := range []struct {
		note string
		args []string
	}{
		{"", []string{"--release-key", either}},
		{"", []string{"--from", "4.18.1", "--to", "4.20.2", "--channel", "fast-4.20"}},
		// If the ConfigMaps are not in the workspace, the signatures of the plan are used.
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

// TestCheckPlatformUnverified checks releases that were mirrored without signatures. The first of them
// has no keys, either.
func TestCheckPlatformUnverified(t *testing.T) {
	t.Parallel()
	long(t) // the root package tests the findings, TestCheckPlatform the verb
	u := releasetest.Small()
	u.Releases[0].Flaws.NoKeys = true
	w := &provenMirror{newPlatformFixture(t, u), "ocp"}
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
			t.Errorf("%v: no note contains %q: %q", args, note, r.Notes)
		}
	}
	checked(exitMismatch, []string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 no"},
		[]string{"a cluster that runs 4.19.2 will not accept 4.20.2, which was mirrored without signatures"},
		"release 4.18.1-x86_64 has no keys to verify updates with")
	checked(exitOK, []string{"4.18.1 4.19.2 yes", "4.19.2 4.20.2 yes"}, nil, "the signatures of releases were not checked (--ignore-release-signature)", ignore)
}
