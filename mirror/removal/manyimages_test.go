package removal_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// manyImages returns a site whose source has 30 images, and a function that writes a configuration with the first n.
func manyImages(t *testing.T, mirror rt.Options) (s *mirrortest.Site, want func(n int) string) {
	t.Helper()
	s = mirrortest.New(t, mirror)
	for i := range 30 {
		name := fmt.Sprintf("org/app%02d", i)
		push(s, s.Source, name, "v1", name)
	}
	return s, func(n int) string {
		stanza := "  additionalImages:\n"
		for i := range n {
			stanza += fmt.Sprintf("  - name: %s/org/app%02d:v1\n", s.Source.Host, i)
		}
		return s.Config("images.yaml", stanza)
	}
}

// push pushes an index with content of this name.
func push(s *mirrortest.Site, to *rt.Server, repository, tag, content string) digest.Digest {
	s.T.Helper()
	img, err := rt.Index(content)
	if err != nil {
		s.T.Fatal(err)
	}
	d, err := to.Client().Push(s.T.Context(), repository, tag, img)
	if err != nil {
		s.T.Fatal(err)
	}
	return d
}

// left returns the repositories of images in the mirror that have manifests.
func left(s *mirrortest.Site) (names []string) {
	s.T.Helper()
	for _, r := range mirrortest.ContentBelow(s.T, s.Mirror, "site") {
		if len(r.Manifests) > 0 {
			names = append(names, r.Name)
		}
	}
	return names
}

// ended runs a copy that ends after it pushed 4 manifests of images.
func ended(s *mirrortest.Site, o mirroring.Options) {
	s.T.Helper()
	ctx, cancel := context.WithCancel(s.T.Context())
	s.Mirror.Script(rt.Rule{Method: http.MethodPut, Path: "/org/app.*/manifests/", Nth: 5, Action: mirrortest.WithoutResponse(cancel)})
	if _, err := mirroring.Run(ctx, o); !errors.Is(err, context.Canceled) {
		s.T.Fatalf("the run did not end: %v", err)
	}
	s.Mirror.Script()
}

// TestEndedRunIsPruned ends a run after it pushed some images, and then mirrors less: prune finds what the first run
// pushed. Until then, that is wanted, so that the run can continue. The same with a shard of a plan.
func TestEndedRunIsPruned(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s, want := manyImages(t, rt.Options{})
	isc, where := want(1), s.Docker("site")
	s.Mirrored(isc, where)
	pending := func() int {
		t.Helper()
		state, err := report.Status(t.Context(), report.StatusOptions{Env: s.Env, Mirror: where})
		fail.On(t, err)
		return len(state.Pending)
	}
	run, shard := s.MirrorOptions(isc, where), s.MirrorOptions("", where)
	shard.Plan, shard.Workspace, shard.Shard = s.Path("plan.json"), s.Path("shard"), plan.Shard{Index: 2, Count: 2}
	for name, o := range map[string]mirroring.Options{"run": run, "shard": shard} {
		want(30)
		s.PlanFile(isc, "plan.json")
		ended(s, o)
		had := left(s)
		if len(had) < 2 {
			t.Fatalf("%s: nothing was pushed", name)
		}
		nothingLeft(s, yes)
		if pending() == 0 {
			t.Errorf("%s: no pending run", name)
		}
		want(1)
		s.Mirrored(isc, where)
		pruned(s, yes)
		if now := left(s); !slices.Equal(now, []string{"site/org/app00"}) {
			t.Errorf("%s: %v is left of %v", name, now, had)
		}
		nothingLeft(s)
		if pending() > 0 {
			t.Errorf("%s: a pending run", name)
		}
	}
	// A run that ends leaves nothing of this, and one with nothing new asks the mirror for no more than before.
	want(3)
	s.Mirrored(isc, where)
	for _, tag := range s.Tags("site") {
		if strings.HasSuffix(tag, ".pending") {
			t.Error(tag)
		}
	}
	s.Mirror.ResetLog()
	s.Mirrored(isc, where, func(o *mirroring.Options) { o.Env = s.NewEnv() })
	requests := slices.DeleteFunc(mirrortest.Requests(s.Mirror), func(r string) bool { return !strings.Contains(r, "/gantry-image-sets/") })
	if len(requests) != 4 {
		t.Errorf("a run with nothing new makes these requests for records: %q", requests)
	}
}

// TestListUnrecorded lists what no record has, and deletes a part of it. What belongs to an image that is wanted cannot be
// selected.
func TestListUnrecorded(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s, want := manyImages(t, rt.Options{})
	s.Mirrored(want(1), s.Docker("site"))
	unrecorded := func(save string, selected ...string) (*removal.Unrecorded, error) {
		return removal.ListUnrecorded(t.Context(), removal.UnrecordedOptions{Env: s.NewEnv(), Mirror: s.Docker("site"), Select: selected, Save: save})
	}
	if u, err := unrecorded(""); err != nil || len(u.Images) > 0 || u.Repositories == 0 {
		t.Errorf("%+v, %v", u, err)
	}
	c, app := s.Mirror.Client(), "site/org/app00"
	for _, name := range []string{"site/theirs/a", "site/theirs/b", app, "elsewhere/x"} {
		s.PushMirror(name, "mine", name)
	}
	fail.On(t, c.Copy(t.Context(), c, app, "v1", app, "same"))
	img, err := rt.Index("org/app00")
	fail.On(t, err)
	mediaType, _ := img.MediaType() // it is made in memory
	size, _ := img.Size()
	hash, _ := img.Digest()
	subject := ocispec.Descriptor{MediaType: string(mediaType), Digest: digest.Digest(hash.String()), Size: size}
	referrer, err := c.PushReferrer(t.Context(), app, rt.Referrer{Subject: subject, ArtifactType: "application/x-test", Text: "sbom"})
	if err == nil {
		err = c.PushReferrersTag(t.Context(), app, subject.Digest, referrer)
	}
	fail.On(t, err)
	before := mirrortest.ContentBelow(t, s.Mirror, "elsewhere")
	u, err := unrecorded("")
	fail.On(t, err)
	got := map[string]string{}
	for _, img := range u.Images {
		got[img.Repository+":"+strings.Join(img.Tags, ",")] = fmt.Sprintf("%t %t", img.Recorded, img.BelongsTo == subject.Digest)
	}
	list := app + ":sha256-" + subject.Digest.Encoded()
	if wanted := map[string]string{
		"site/theirs/a:mine": "false false", "site/theirs/b:mine": "false false", app + ":mine": "false false", app + ":same": "true false",
		list: "false true", app + ":": "false true",
	}; !maps.Equal(got, wanted) {
		t.Errorf("%v\nand not\n%v", got, wanted)
	}
	file := s.Path("list.yaml")
	for _, name := range []string{app + ":v1", list, app + "@" + referrer.Digest.String(), "elsewhere/x", app + ":same"} {
		_, err := unrecorded(file, name)
		mirrortest.Refused(t, err, advice.Input, "selects nothing")
	}
	_, err = unrecorded("", "x")
	mirrortest.Refused(t, err, advice.Input, "Options.Select and Options.Save belong together")
	if u, err := unrecorded(file, "site/theirs/*"); err != nil || u.Selected != 2 || u.Saved != file {
		t.Errorf("%+v, %v", u, err)
	}
	if had := left(s); !slices.Equal(had, []string{app, "site/theirs/a", "site/theirs/b"}) {
		t.Errorf("something was deleted: %v", had)
	}
	deleted(s, file)
	if now := left(s); !slices.Equal(now, []string{app}) {
		t.Errorf("%v is left", now)
	}
	for _, name := range []string{"v1", "mine", "same", referrer.Digest.String(), strings.TrimPrefix(list, app+":")} {
		if _, err := c.Pull(t.Context(), app, name); err != nil {
			t.Error(err)
		}
	}
	s.Verified("", s.Docker("site"))
	if after := mirrortest.ContentBelow(t, s.Mirror, "elsewhere"); len(before) != 1 || len(after) != 1 || !slices.Equal(before[0].Manifests, after[0].Manifests) {
		t.Errorf("%v and then %v", before, after)
	}
}

// deep also reads every blob.
func deep(o *verify.Options) { o.ReadBlobs = true }

// TestTagUntagged checks that garbage collection with --delete-untagged keeps indexes whole that another mirror has with
// one platform, and that prune knows the tags which this needs.
func TestTagUntagged(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s, want := manyImages(t, rt.Options{Alone: true, Sparse: true})
	tagged := func(o *mirroring.Options) { o.TagUntagged = true }
	one := s.Config("one.yaml", "  additionalImages:\n  - name: "+s.Source.Host+"/org/app00:v1\n    platforms:\n    - os: linux\n      architecture: amd64\n")
	s.Mirrored(one, s.Docker("m"), tagged)
	isc, full := want(2), s.Docker("z") // garbage collection reads repositories in their order
	s.Mirrored(isc, full, tagged)
	collect := func() {
		t.Helper()
		fail.On(t, s.Mirror.CollectGarbage(t.Context(), true))
		if _, err := s.Mirror.Client().Pull(t.Context(), "z/org/app00", "v1"); err != nil {
			t.Error(err)
		}
		s.Verified("", s.Docker("m"), deep)
	}
	collect()
	want(1)
	s.Mirrored(isc, full, tagged, func(o *mirroring.Options) { o.Prune = true })
	nothingLeft(s, at(full))
	if s.Has("z", "app01") {
		t.Error("an image is left")
	}
	collect()
}

// TestGarbageAfterKeepLast checks what the registry has after a prune that keeps revisions and garbage collection: what is
// wanted, content of other clients, and the earlier state. With --delete-untagged, an image of that state whose tag names a
// newer one by now is lost, unless the runs had --tag-untagged.
func TestGarbageAfterKeepLast(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	for _, tagged := range []bool{false, true} {
		t.Run(fmt.Sprintf("tagged %t", tagged), func(t *testing.T) {
			t.Parallel()
			garbageAfterKeepLast(t, func(o *mirroring.Options) { o.TagUntagged = tagged }, tagged)
		})
	}
}

func garbageAfterKeepLast(t *testing.T, tags func(*mirroring.Options), tagged bool) {
	t.Helper()
	s, want := manyImages(t, rt.Options{Alone: true})
	where := s.Docker("m")
	s.Mirrored(want(4), where, tags)
	s.Mirrored(want(3), where, tags)
	pulled, err := s.Mirror.Client().Pull(t.Context(), "m/org/app00", "v1")
	fail.On(t, err)
	push(s, s.Source, "org/app00", "v1", "a newer image")
	s.Mirrored(want(2), where, tags)
	foreign := push(s, s.Mirror, "m/org/app03", "site", "of another client")
	check := func(after string, state map[string]bool) {
		t.Helper()
		s.Verified("", where, deep)
		state["app03@"+foreign.String()], state["app03@site"] = true, true
		for name, present := range state {
			repository, identifier, _ := strings.Cut(name, "@")
			if _, err := s.Mirror.Client().Pull(t.Context(), "m/org/"+repository, identifier); (err == nil) != present {
				t.Errorf("after %s: %s: %v, want %t", after, name, err, present)
			}
		}
	}
	collect := func(untagged bool) {
		t.Helper()
		fail.On(t, s.Mirror.CollectGarbage(t.Context(), untagged))
	}
	pruned(s, yes, at(where), func(o *removal.PruneOptions) { o.KeepLast = 2 })
	kept := map[string]bool{"app02@v1": true, "app03@v1": false, "app00@" + pulled.Digest.String(): true}
	check("keeping 2 revisions", kept)
	collect(false)
	check("garbage collection", kept)
	collect(true)
	kept["app00@"+pulled.Digest.String()] = tagged
	check("garbage collection of what has no tag", kept)
	pruned(s, yes, at(where))
	nothingLeft(s, at(where))
	collect(true)
	check("prune", map[string]bool{"app02@v1": false, "app00@v1": true, "app01@v1": true, "app00@" + pulled.Digest.String(): false})
}
