package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/removal"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// manyImages returns a fixture with a source that has 30 images, and a function that writes a configuration with the first n.
func manyImages(t *testing.T, mirror rt.Options) (w *fixture, want func(n int) string) {
	t.Helper()
	notAgain(t)
	w = &fixture{t: t, dir: rt.TempDir(t), source: rt.Start(t, rt.Options{}), mirror: rt.Start(t, mirror)}
	w.surroundings(w.write("registries.conf", ""), "")
	for i := range 30 {
		name := fmt.Sprintf("org/app%02d", i)
		img, err := rt.Index(name)
		if err == nil {
			_, err = w.source.Client().Push(t.Context(), name, "v1", img)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return w, func(n int) string {
		stanza := "  additionalImages:\n"
		for i := range n {
			stanza += fmt.Sprintf("  - name: %s/org/app%02d:v1\n", w.source.Host, i)
		}
		return w.config("images.yaml", stanza)
	}
}

// killable returns a function that kills a program, which the handlers of a registry may call while it runs, and one that
// runs it.
func killable(cmd *exec.Cmd) (kill func(), run func() error) {
	started := make(chan struct{}) // cmd.Process is set
	kill = func() {
		<-started
		_ = cmd.Process.Kill()
	}
	run = func() error {
		err := cmd.Start()
		close(started)
		if err != nil {
			return err
		}
		return cmd.Wait()
	}
	return kill, run
}

// killed runs the program and kills it after it pushed 4 manifests of images.
func (w *fixture) killed(args ...string) {
	w.t.Helper()
	cmd := w.process(w.t.Context(), args...)
	kill, run := killable(cmd)
	w.mirror.Script(rt.Rule{Method: http.MethodPut, Path: "/org/app.*/manifests/", Nth: 5, Action: once(kill)})
	if err := run(); err == nil {
		w.t.Fatal("the run was not killed")
	}
	w.mirror.Script()
	w.mirror.Shut()
	w.mirror.Open()
}

// left returns the repositories of images in the mirror that have manifests.
func (w *fixture) left() (names []string) {
	w.t.Helper()
	for _, r := range contentBelow(w.t, w.mirror, "site") {
		if len(r.Manifests) > 0 && !strings.Contains(r.Name, "gantry-") {
			names = append(names, r.Name)
		}
	}
	return names
}

// TestKilledRunIsPruned kills a run after it pushed some images, and then mirrors less: prune finds what the first run pushed.
// Until then, that is wanted, so that the run can continue. The same with a shard of a plan.
func TestKilledRunIsPruned(t *testing.T) {
	t.Parallel()
	long(t)
	w, want := manyImages(t, rt.Options{})
	isc := want(1)
	mirror := []string{"mirror", "-c", isc, w.docker("/site"), "--workspace", w.path("workspace")}
	w.must(mirror...)
	for name, args := range map[string][]string{
		"run":   mirror,
		"shard": {"mirror", "--plan", w.path("plan.json"), "--shard", "2/2", w.docker("/site"), "--workspace", w.path("shard")},
	} {
		want(30)
		w.must("plan", "-c", isc, "--lock", w.path("plan.json"))
		w.killed(args...)
		had := w.left()
		if len(had) < 2 {
			t.Fatalf("%s: nothing was pushed", name)
		}
		if o := w.must("prune", "--yes", w.docker("/site")); !strings.Contains(o.stdout, "Nothing to delete") {
			t.Errorf("%s: %s", name, o.stdout)
		}
		if o := w.must("status", w.docker("/site")); !strings.Contains(o.stdout, "A run of images by ") {
			t.Errorf("%s: %s", name, o.stdout)
		}
		want(1)
		w.must(mirror...)
		w.must("prune", "--yes", w.docker("/site"))
		if now := w.left(); !slices.Equal(now, []string{"site/org/app00"}) {
			t.Errorf("%s: %v is left of %v", name, now, had)
		}
		if o := w.must("prune", w.docker("/site")); !strings.Contains(o.stdout, "Nothing to delete") {
			t.Errorf("%s: %s", name, o.stdout)
		}
		if o := w.must("status", w.docker("/site")); strings.Contains(o.stdout, "A run of images by ") {
			t.Errorf("%s: %s", name, o.stdout)
		}
	}
	// A run that ends leaves nothing of this, and one with nothing new asks the mirror for no more than before.
	want(3)
	w.must(mirror...)
	for _, r := range contentBelow(t, w.mirror, "site") {
		for tag := range r.Tags {
			if strings.HasSuffix(tag, ".pending") {
				t.Errorf("%s:%s", r.Name, tag)
			}
		}
	}
	w.mirror.ResetLog()
	w.must(mirror...)
	records := 0
	for _, r := range w.mirror.Log() {
		if strings.Contains(r.Path, "/gantry-image-sets/") {
			records++
		}
	}
	if records != 4 {
		t.Errorf("a run with nothing new makes %d requests for records", records)
	}
}

// TestPruneOthers lists what no record has, and deletes a part of it. What belongs to an image that is wanted cannot be
// selected.
func TestPruneOthers(t *testing.T) {
	t.Parallel()
	long(t)
	w, want := manyImages(t, rt.Options{})
	w.must("mirror", "-c", want(1), w.docker("/site"))
	if o := w.must("prune", "--others", w.docker("/site")); !strings.HasPrefix(o.stdout, "The records of ") {
		t.Errorf("%s", o.stdout)
	}
	c := w.mirror.Client()
	for _, name := range []string{"site/theirs/a", "site/theirs/b", "site/org/app00", "elsewhere/x"} {
		img, err := rt.Index(name)
		if err == nil {
			_, err = c.Push(t.Context(), name, "mine", img)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	app := get(t, w.mirror, "site/org/app00", "v1")
	if _, err := c.PushRaw(t.Context(), "site/org/app00", "same", app.MediaType, app.raw); err != nil {
		t.Fatal(err)
	}
	h := &history{fixture: w}
	referrer := h.attach(w.mirror, "site/org/app00", app.digest, "sbom")
	before := contentBelow(t, w.mirror, "elsewhere")
	var u removal.Unrecorded
	if err := json.Unmarshal([]byte(w.must("prune", "--others", "-o", "json", w.docker("/site")).stdout), &u); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, img := range u.Images {
		got[img.Repository+":"+strings.Join(img.Tags, ",")] = fmt.Sprintf("%t %t", img.Recorded, img.BelongsTo == app.digest)
	}
	list := "site/org/app00:" + fallbackTag(app.digest)
	wanted := map[string]string{
		"site/theirs/a:mine": "false false", "site/theirs/b:mine": "false false", "site/org/app00:mine": "false false", "site/org/app00:same": "true false",
		list: "false true", "site/org/app00:": "false true",
	}
	if !maps.Equal(got, wanted) {
		t.Errorf("%v\nand not\n%v", got, wanted)
	}
	for _, s := range []string{"site/org/app00:v1", list, "site/org/app00@" + referrer.Digest.String(), "elsewhere/x", "site/org/app00:same"} {
		w.refuse(exitUsage, []string{"selects nothing"}, "prune", "--others", "--select", s, "--save", w.path("list.yaml"), w.docker("/site"))
	}
	w.refuse(exitUsage, []string{"--others deletes nothing"}, "prune", "--others", "--yes", w.docker("/site"))
	w.refuse(exitUsage, []string{"--select"}, "prune", "--select", "x", w.docker("/site"))
	if o := w.must("prune", "--others", "--select", "site/theirs/*", "--save", w.path("list.yaml"), w.docker("/site")); !strings.Contains(o.stdout, "2 images or tags of these are in ") {
		t.Errorf("%s", o.stdout)
	}
	if had := w.left(); !slices.Equal(had, []string{"site/org/app00", "site/theirs/a", "site/theirs/b"}) {
		t.Errorf("--others deleted something: %v", had)
	}
	w.must("delete", "--delete-yaml-file", w.path("list.yaml"), w.docker("/site"))
	if now := w.left(); !slices.Equal(now, []string{"site/org/app00"}) {
		t.Errorf("%v is left", now)
	}
	for _, name := range []string{"v1", "mine", "same", referrer.Digest.String(), fallbackTag(app.digest)} {
		if _, err := c.Pull(t.Context(), "site/org/app00", name); err != nil {
			t.Error(err)
		}
	}
	w.must("verify", w.docker("/site"))
	if after := contentBelow(t, w.mirror, "elsewhere"); len(before) != 1 || len(after) != 1 || !slices.Equal(before[0].Manifests, after[0].Manifests) {
		t.Errorf("%v and then %v", before, after)
	}
}

// TestTagUntagged checks that garbage collection with --delete-untagged keeps indexes whole that another mirror has with
// one platform, and that prune knows the tags which this needs.
func TestTagUntagged(t *testing.T) {
	t.Parallel()
	long(t)
	w, want := manyImages(t, rt.Options{Alone: true, Sparse: true})
	one := w.config("one.yaml", "  additionalImages:\n  - name: "+w.source.Host+"/org/app00:v1\n"+onePlatform)
	w.must("mirror", "-c", one, w.docker("/m"), "--tag-untagged")
	isc, full := want(2), w.docker("/z") // garbage collection reads repositories in their order
	w.must("mirror", "-c", isc, full, "--tag-untagged")
	pull := func() {
		t.Helper()
		if err := w.mirror.CollectGarbage(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if _, err := w.mirror.Client().Pull(t.Context(), "z/org/app00", "v1"); err != nil {
			t.Error(err)
		}
		w.must("verify", "--deep", w.docker("/m"))
	}
	pull()
	want(1)
	w.must("mirror", "-c", isc, full, "--tag-untagged", "--prune")
	if o := w.must("prune", full); !strings.Contains(o.stdout, "Nothing to delete") {
		t.Errorf("%s", o.stdout)
	}
	if get(t, w.mirror, "z/org/app01", "v1") != nil {
		t.Error("an image is left")
	}
	pull()
	w.refuse(exitUsage, []string{"--tag-untagged"}, "mirror", "-c", isc, "--tag-untagged", "file://"+w.path("disk"))
}
