package removal_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state/lease"
)

// TestPruneUnknownMirror checks that nothing is deleted while it is unknown what another mirror needs whose prefix contains
// this one, or while a run changes that mirror.
func TestPruneUnknownMirror(t *testing.T) {
	t.Parallel()
	s := prunable(t)
	announced := s.Mirror.Requests()["DELETE manifest"] // what the runs announced before they pushed
	records := func(status int, code string) {
		s.Mirror.Script(registrytest.Rule{Path: "/v2/gantry/image-sets/", Action: registrytest.Refuse(status, code)})
	}
	onlyMirror := func(o *removal.PruneOptions) { o.OnlyMirror = true }
	records(http.StatusForbidden, "DENIED")
	_, err := prunes(s, yes)
	mirrortest.Refused(t, err, advice.Unauthorized, "/gantry/image-sets cannot be read", "set Options.OnlyMirror")
	records(http.StatusBadRequest, "UNKNOWN")
	_, err = prunes(s, yes, onlyMirror)
	mirrortest.Refused(t, err, advice.Failure, "/gantry/image-sets", "nothing can be deleted")
	s.Mirror.Script()

	now := time.Now()
	running := lease.Record{ID: "x", Host: "elsewhere", Process: 12, Since: now, Renewed: now, Attempt: 1}
	push := func() {
		t.Helper()
		raw, err := running.Manifest()
		if err == nil {
			_, err = s.Mirror.Client().PushRaw(t.Context(), "gantry/lease", lease.TagCurrent, ocispec.MediaTypeImageManifest, raw, []byte("{}"))
		}
		fail.On(t, err)
	}
	push()
	_, err = prunes(s, yes)
	mirrortest.Refused(t, err, advice.Locked, "used by another run: process 12 on elsewhere")
	if n := s.Mirror.Requests()["DELETE manifest"] - announced; n != 0 {
		t.Errorf("%d deletions", n)
	}
	if r := pruned(s); r.Plan.Totals.Manifests == 0 {
		t.Errorf("%+v", r.Plan)
	}
	running.Released = true
	push()
	records(http.StatusForbidden, "DENIED")
	pruned(s, yes, onlyMirror)
	if s.Mirror.Requests()["DELETE manifest"] == announced {
		t.Error("nothing was deleted")
	}
}

// TestPruneTagOfAnotherMirror keeps an image in a mirror since another tag names it, and with it the revision or the run that
// lists it under its own tag. Prune deletes the image that another mirror gave that tag since, unless the first mirror still
// selects the tag, whose image is missing at its source now.
func TestPruneTagOfAnotherMirror(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ killed, missing bool }{"earlier revision": {}, "run that did not end": {killed: true}, "missing": {missing: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mirrortest.New(t, registrytest.Options{})
			const app, other = "images.example.net/org/app:v1", "images.example.net/org/other:v1"
			push := func(ref, content string) {
				img, err := registrytest.Index(content)
				fail.On(t, err)
				s.Push(ref, img)
			}
			push(app, "one")
			push(other, "other")
			ctx, cancel := context.WithCancel(t.Context())
			if c.killed {
				s.Mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/gantry-image-sets/manifests/imageset", Action: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					cancel()
					registrytest.Reset()(w, r, next)
				}})
			}
			if _, err := mirroring.Run(ctx, s.MirrorOptions(s.Images(app, other), s.Docker("site"))); c.killed != errors.Is(err, context.Canceled) || !c.killed && err != nil {
				t.Fatal(err)
			}
			cancel()
			s.Mirror.Script()
			client := s.Mirror.Client()
			fail.On(t, client.Copy(t.Context(), client, "site/org/app", "v1", "site/org/app", "mine"))

			push(app, "two")
			inner := func(image, target string) {
				s.Mirrored(s.Config("inner.yaml", "  additionalImages:\n  - name: "+image+"\n    targetRepo: "+target+"\n"), s.Docker("site/org"))
			}
			inner(app, "app")
			want, left := []string{other}, []string{"site/org/app:mine"}
			if c.missing {
				want, left = []string{app, other}, []string{"site/org/app:mine", "site/org/app:v1"}
				s.Source.Script(registrytest.Rule{Path: "/org/app/manifests/", Action: registrytest.Status(http.StatusNotFound)})
			}
			if _, err := mirroring.Run(t.Context(), s.MirrorOptions(s.Images(want...), s.Docker("site"))); c.missing != (err != nil) {
				t.Fatal(err)
			}
			pruned(s, yes)
			fail.Diff(t, []string{"site/org/app:mine", "site/org/app:v1"}, s.Tags("site/org/app"))
			inner(other, "else")
			pruned(s, yes, at(s.Docker("site/org")))
			fail.Diff(t, left, s.Tags("site/org/app"))
			nothingLeft(s)
			nothingLeft(s, at(s.Docker("site/org")))
		})
	}
}
