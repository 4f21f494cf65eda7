package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/signing"
)

// TestVerifyALayout checks that verify reads a complete layout and reports a changed byte, a lost
// blob, a lost manifest and an unlisted image, with the images that they affect, and that mirror
// --check-blobs fixes them.
func TestVerifyALayout(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc, lock, dir := w.path("imageset.yaml"), w.path("plan.json"), w.path("layout")
	w.must("plan", "-c", isc, "-o", lock)
	w.must("mirror", "--plan", lock, ociScheme+dir)
	whole := func(args ...string) {
		t.Helper()
		if o := w.must(append([]string{"verify", ociScheme + dir}, args...)...); !strings.Contains(o.stdout, "is intact: ") {
			t.Errorf("%v: %s", args, o.stdout)
		}
	}
	whole()
	whole("--plan", lock)
	p, err := signing.ReadPlan(lock)
	if err != nil {
		t.Fatal(err)
	}
	check := func(args ...string) (result verify.VerifiedLayout) {
		t.Helper()
		o := w.gantry(append([]string{"verify", "--output", "json", ociScheme + dir}, args...)...)
		if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != exitMismatch {
			t.Fatalf("%v: %d, %v\n%s%s", args, o.code, err, o.stdout, o.stderr)
		}
		return result
	}
	img, blob := p.Images[0], p.Blobs[0]
	name := img.Repository + ":" + img.Tags[0]
	altered, lost := layout.BlobPath(blob.Digest), layout.BlobPath(img.Digest)
	text, err := os.ReadFile(filepath.Join(dir, altered))
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(filepath.Join(dir, altered), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, lost)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"--plan", lock}} {
		result := check(args...)
		problems := map[string]string{}
		for _, d := range result.Damage {
			problems[d.File] = d.Problem
		}
		if len(problems) != 2 || !strings.Contains(problems[altered], "its digest is") || problems[lost] != "it is missing" {
			t.Errorf("%v: %v", args, problems)
		}
		if !slices.Contains(result.Broken, name) || len(result.Broken) >= result.Images || len(result.Missing) != 0 {
			t.Errorf("%v: %+v", args, result)
		}
	}
	w.refuse(exitMismatch, []string{"is damaged or incomplete", "--blobs=check"}, "verify", ociScheme+dir)
	if o := w.gantry("verify", ociScheme+dir); !strings.Contains(o.stdout, altered+": its digest is") || !strings.Contains(o.stdout, "images are broken") {
		t.Error(o.stdout)
	}

	// A run replaces lost content, and damaged content with --check-blobs.
	w.must("mirror", "--plan", lock, ociScheme+dir)
	if result := check(); len(result.Damage) != 1 || result.Damage[0].File != altered {
		t.Errorf("after a run: %+v", result.Damage)
	}
	if o := w.must("mirror", "--plan", lock, "--check-blobs", "--dry-run", ociScheme+dir); strings.Contains(o.stdout, "Nothing to copy") {
		t.Errorf("a dry run:\n%s", o.stdout)
	}
	w.must("mirror", "--plan", lock, "--check-blobs", ociScheme+dir)
	whole("--plan", lock)

	// With the plan, an image that is not listed is reported.
	if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte(`{"schemaVersion":2,"manifests":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	whole()
	if result := check("--plan", lock); len(result.Missing) != len(p.Images) || !strings.Contains(result.Missing[0].Problem, "does not list it") || len(result.Damage) != 0 {
		t.Errorf("%+v", result)
	}

	// The same applies to an index that is damaged or lost.
	for _, spoil := range []func() error{
		func() error { return os.WriteFile(filepath.Join(dir, "index.json"), []byte(`{"schema`), 0o600) },
		func() error { return os.Remove(filepath.Join(dir, "index.json")) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		w.refuse(exitMismatch, []string{"index.json", "mirror to it again"}, "verify", ociScheme+dir)
		w.must("mirror", "--plan", lock, ociScheme+dir)
		whole("--plan", lock)
	}
}
