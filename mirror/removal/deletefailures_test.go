package removal_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// unchanged returns a function that checks that the mirror of deletable still has everything.
func unchanged(s *mirrortest.Site) func() {
	before := s.Tags("site")
	return func() {
		s.T.Helper()
		after := slices.DeleteFunc(s.Tags("site"), func(name string) bool { return !slices.Contains(before, name) })
		if !slices.Equal(before, after) {
			s.T.Errorf("%q, before %q", after, before)
		}
		s.VerifyCatalog("site", mirrortest.Acme, 4)
		complete(s)
	}
}

// TestDeleteRefused checks that nothing changes if the registry does not delete.
func TestDeleteRefused(t *testing.T) {
	t.Parallel()
	s, list := deletable(t)
	check := unchanged(s)
	s.Mirror.Script(registrytest.Rule{Method: http.MethodDelete, Action: registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED")})
	r, err := deletes(s, list)
	mirrortest.Refused(t, err, advice.Partial, "refuses to delete content")
	if r == nil || !r.Refused || len(r.Catalogs) > 0 {
		t.Errorf("%+v", r)
	}
	s.Mirror.Script()
	check()
}

// TestDeleteUnknownMirror checks that no catalog is published while it is unknown what another mirror needs, and while a
// catalog stays that the list has.
func TestDeleteUnknownMirror(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t) // TestPruneUnknownMirror refuses for the same reasons
	s, file := deletable(t)
	check := unchanged(s)
	s.Mirror.Script(registrytest.Rule{Path: "/v2/gantry/image-sets/", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
	_, err := deletes(s, file)
	mirrortest.Refused(t, err, advice.Unauthorized, "/gantry/image-sets cannot be read", "set Options.OnlyMirror")
	s.Mirror.Script()
	check()

	const index = "site/" + mirrortest.Acme
	fail.On(t, s.Mirror.Client().Copy(t.Context(), s.Mirror.Client(), index, "v4.20", index, "mine"))
	check = unchanged(s)
	_, err = deletes(s, list(s, item(s, mirrortest.Acme+":v4.20", mirrortest.Acme+":v4.20", "operatorCatalog")))
	mirrortest.Refused(t, err, advice.Failure, "nothing was deleted", "no record lists its tag mine")
	check()
	deleted(s, file)
}

// TestDeleteFailures lets requests fail that change the mirror, and interrupts deletions. The mirror is consistent
// afterwards, and the next run continues.
func TestDeleteFailures(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	deny := registrytest.Refuse(http.StatusForbidden, "DENIED")
	for name, rule := range map[string]registrytest.Rule{
		"catalog":          {Method: http.MethodPut, Path: "/operator-index/manifests/", Action: deny},
		"new revision":     {Method: http.MethodPut, Path: "/gantry-image-sets/manifests/imageset.t2", Action: deny},
		"current revision": {Method: http.MethodPut, Path: "/gantry-image-sets/manifests/imageset", Nth: 2, Action: deny},
		"deletion":         {Method: http.MethodDelete, Path: "/tidewater/", Nth: 2, Action: deny},
		"all of one":       {Method: http.MethodDelete, Path: "/tools/netcheck/", Action: deny},
		"last revision":    {Method: http.MethodPut, Path: "/gantry-image-sets/manifests/imageset.t3", Action: deny},
		"interrupted":      {Method: http.MethodDelete, Path: "/tidewater/", Nth: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, list := deletable(t)
			ctx, cancel := context.WithCancel(t.Context())
			interrupted := rule.Action == nil
			if interrupted {
				rule.Action = mirrortest.WithoutResponse(cancel)
			}
			s.Mirror.Script(rule)
			_, err := removal.Delete(ctx, removal.DeleteOptions{Env: s.NewEnv(), DeleteYAMLFile: list, Mirror: s.Docker("site"), Workspace: s.Workspace()})
			cancel()
			if kind := advice.KindOf(err); err == nil || interrupted != errors.Is(err, context.Canceled) || !interrupted && kind != advice.Partial && kind != advice.Unauthorized {
				t.Fatal(err)
			}
			s.Mirror.Script()
			if name == "new revision" { // what is published is complete, and only the plan of the run lists it
				s.VerifyCatalog("site", mirrortest.Acme, 1)
				pruned(s, yes)
				s.VerifyCatalog("site", mirrortest.Acme, 1)
			} else {
				s.Verified("", s.Docker("site"), func(o *verify.Options) { o.Workspace = s.Path("other") })
			}
			if has := s.Has("site", "tidewater"); rule.Method == http.MethodPut && name != "last revision" && !has {
				t.Error("deleted before the catalog or the record was written")
			}
			deleted(s, list)
			s.VerifyCatalog("site", mirrortest.Acme, 1)
			if s.Has("site", "tidewater") || s.Has("site", "netcheck") {
				t.Errorf("%q", s.Tags("site"))
			}
			s.Verified("", s.Docker("site"))
		})
	}
}
