package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

func TestVerifyAMirror(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc, lock, disk := w.path("imageset.yaml"), w.path("plan.json"), "file://"+w.path("disk")
	w.must("plan", "-c", isc, "-o", lock)
	w.refuse(exitMismatch, []string{"are not in the mirror"}, "verify", "--plan", lock, w.docker(""))
	w.must("mirror", "-c", isc, w.docker(""))
	w.must("mirror", "-c", isc, disk)
	for _, args := range [][]string{{"-c", isc}, {"--plan", lock}, {"--from", disk}} {
		o := w.must(append([]string{"verify", w.docker("")}, args...)...)
		if !strings.Contains(o.stdout, "All ") || !strings.Contains(o.stdout, w.docker("")) {
			t.Errorf("%v: %s", args, o.stdout)
		}
	}
	// Under another prefix, the mirror has none of the images.
	if o := w.gantry("verify", "--plan", lock, w.docker("/other")); o.code != exitMismatch || !strings.Contains(o.stdout, "/other/acme/operator-index:v4.20\n      it is missing") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}

	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Read(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	var moved *plan.Image
	for i := range p.Images {
		if p.Images[i].Kind == plan.RelatedImage {
			moved = &p.Images[i]
		}
	}
	// The mirror reports a tag as missing.
	w.mirror.Script(registrytest.Rule{Path: "/v2/" + moved.Repository + "/manifests/" + moved.Tags[0], Action: registrytest.Status(404)})
	o := w.gantry("verify", "--plan", lock, w.docker(""), "--output", "json")
	var result verify.VerifiedRegistry
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != exitMismatch {
		t.Fatalf("%d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	if len(result.Missing) != 1 || result.Missing[0].Source != moved.Source || !strings.Contains(result.Missing[0].Problem, "the tag "+moved.Tags[0]) {
		t.Errorf("%+v, want %s", result.Missing, moved.Source)
	}
	// One platform of an index.
	var index *plan.Manifest
	for i := range p.Manifests {
		if len(p.Manifests[i].Manifests) > 1 {
			index = &p.Manifests[i]
		}
	}
	w.mirror.Script(registrytest.Rule{Path: "/manifests/" + index.Manifests[0].String(), Action: registrytest.Status(404)})
	if o = w.gantry("verify", "--plan", lock, w.docker("")); o.code != exitMismatch || !strings.Contains(o.stdout, "parts (platforms and what belongs to them) are missing") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.mirror.Script(registrytest.Rule{Path: "/manifests/", Action: registrytest.Status(403)})
	w.refuse(exitUnauthorized, []string{"looking for"}, "verify", "--plan", lock, w.docker(""))
}

func TestVerifyAPlanWithGaps(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.source.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(404)})
	isc := w.path("imageset.yaml")
	if o := w.gantry("mirror", "-c", isc, w.docker("")); o.code != exitPartial {
		t.Fatalf("%d\n%s", o.code, o.stderr)
	}
	o := w.gantry("verify", "-c", isc, w.docker(""))
	for _, words := range []string{"lantern/store", "missing at the source", acme + ":v4.20\n      it is missing"} {
		if o.code != exitMismatch || !strings.Contains(o.stdout, words) {
			t.Errorf("%d, no %q in\n%s%s", o.code, words, o.stdout, o.stderr)
		}
	}
}

func TestVerifyAnArchive(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	disk := w.path("disk")
	w.must("mirror", "-c", w.path("imageset.yaml"), "file://"+disk)
	o := w.must("verify", "file://"+disk)
	if !strings.Contains(o.stdout, "is intact") {
		t.Errorf("%s", o.stdout)
	}
	volume := filepath.Join(disk, "gantry-000001.0001.tar")
	before, err := os.ReadFile(volume)
	if err != nil {
		t.Fatal(err)
	}
	check := func() verify.VerifiedArchive {
		t.Helper()
		o := w.gantry("verify", "file://"+disk, "--output", "json")
		var result verify.VerifiedArchive
		if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != exitMismatch {
			t.Fatalf("%d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
		}
		return result
	}
	// One byte of a blob that only one image has.
	have, err := archive.Open(disk)
	if err != nil {
		t.Fatal(err)
	}
	p, err := archivePlan(t.Context(), have)
	if err := errors.Join(err, have.Close()); err != nil {
		t.Fatal(err)
	}
	img := p.Images[0]
	hex := img.Digest.Encoded()
	at := strings.Index(string(before), "blobs/sha256/"+hex+"\x00") // the blob's header
	if at < 0 {
		t.Fatalf("no %s in the volume", hex)
	}
	altered := slices.Clone(before)
	altered[at+512+10] ^= 1
	if err := os.WriteFile(volume, altered, 0o600); err != nil {
		t.Fatal(err)
	}
	result := check()
	if len(result.Damage) != 1 || result.Damage[0].File != filepath.Base(volume) || !strings.Contains(result.Damage[0].Entry, hex) ||
		!slices.Contains(result.Broken, img.Source) || len(result.Broken) >= result.Images || result.PlanLost {
		t.Errorf("an altered manifest of %s: %+v", img.Source, result)
	}
	w.refuse(exitMismatch, []string{"is damaged", "again"}, "verify", "file://"+disk)
	if o := w.gantry("verify", "file://"+disk); !strings.Contains(o.stdout, "breaks\n      "+result.Broken[0]) || !strings.Contains(o.stdout, "images are broken") {
		t.Errorf("%s", o.stdout)
	}
	// Half of the volume, then no volume.
	if err := os.WriteFile(volume, before[:len(before)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if result = check(); len(result.Damage) != 1 || !strings.Contains(result.Damage[0].Problem, "truncated") || len(result.Broken) == 0 {
		t.Errorf("half a volume: %+v", result)
	}
	if err := os.Remove(volume); err != nil {
		t.Fatal(err)
	}
	if result = check(); !result.PlanLost || result.Damage[0].Problem != "missing" {
		t.Errorf("no volume: %+v", result)
	}
	if err := os.WriteFile(filepath.Join(disk, "gantry-000001.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.refuse(exitMismatch, []string{"gantry-000001.json"}, "verify", "file://"+disk)
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	for _, tc := range []struct {
		words []string
		args  []string
	}{
		{[]string{"arg"}, nil},
		{[]string{"x", "no such file"}, []string{"oci://" + w.path("x")}},
		{[]string{"--blobs is for docker://"}, []string{"--blobs", "oci://x"}},
		{[]string{"oci://DIR"}, []string{"oci://"}},
		{[]string{"file://DIR"}, []string{"file://"}},
		{[]string{"set manifest"}, []string{"file://" + w.dir}},
		{[]string{"no such file", "that the disk is mounted"}, []string{"file://" + w.path("absent")}},
		{[]string{"set none of --config"}, []string{"-c", "x", "file://" + w.dir}},
		{[]string{"the plan has a name"}, []string{"--plan", "x", "--name", "y", "docker://localhost:1"}},
		{[]string{"set one of --config"}, []string{"-c", "x", "--plan", "y", "docker://localhost:1"}},
		{[]string{"absent.json"}, []string{"--plan", w.path("absent.json"), "docker://localhost:1"}},
		{[]string{"absent.yaml"}, []string{"-c", w.path("absent.yaml"), "docker://localhost:1"}},
		{[]string{"file://DIR"}, []string{"--from", w.dir, "docker://localhost:1"}},
		{[]string{"docker://"}, []string{"--plan", "x", "docker://"}},
	} {
		w.refuse(exitUsage, tc.words, append([]string{"verify"}, tc.args...)...)
	}
}
