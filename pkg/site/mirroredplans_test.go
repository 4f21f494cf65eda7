package site_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/lease"
)

// opened opens a prefix of the mirror.
func opened(s *mirrortest.Site, prefix string) *site.RegistryDestination {
	s.T.Helper()
	to, err := site.OpenDestination(s.NewEnv(), s.Docker(prefix), site.DestinationOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return to.Registry()
}

// TestMirroredPlans reads the plans in the records of a mirror, or else in a workspace.
func TestMirroredPlans(t *testing.T) {
	t.Parallel()
	s := mirrortest.SmallPlatform(t).Site
	s.Mirrored(s.Config("ocp.yaml", "  platform:\n    channels: [{name: fast-4.20}]\n"), s.Docker("site"))
	to := opened(s, "site")
	read := func(folder string, releases int) {
		t.Helper()
		plans, err := site.PlansOf(t.Context(), s.NewEnv(), s.Path(folder), to)
		if err != nil || len(plans) != min(releases, 1) || releases > 0 && len(plans[0].Releases) != releases {
			t.Errorf("%+v, %v, want %d releases", plans, err, releases)
		}
	}
	s.Planned(s.Config("ocp.yaml", "  platform:\n    channels: [{name: fast-4.20, full: true}]\n")) // and not mirrored
	read("workspace", 1)
	read("absent", 1)
	_, err := site.MirroredPlans(t.Context(), s.NewEnv(), s.Path("absent"), opened(s, "elsewhere"))
	mirrortest.Refused(t, err, advice.Input, "has a plan with releases for "+s.Docker("elsewhere"))
	s.Mirror.Script(registrytest.Rule{Path: "/tags/list", Action: registrytest.Status(http.StatusForbidden)})
	s.Said()
	read("workspace", 6)
	warned(s, "the workspace is searched for what it last planned")
	s.Remove("workspace/plans/ocp.json")
	read("workspace", 0)
	warned(s, "neither the mirror nor the workspace has the plan ocp")
	_, err = site.MirroredPlans(t.Context(), s.NewEnv(), s.Path("workspace"), to)
	mirrortest.Refused(t, err, advice.Unauthorized, "HTTP 403")
	if s.Exists("absent") {
		t.Error("a workspace was made")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	s.Said()
	_, err = site.PlansOf(ended, s.NewEnv(), s.Path("workspace"), to)
	fail.Diff(t, context.Canceled, err, cmpopts.EquateErrors())
	fail.Diff(t, []string(nil), s.Said())
}

// TestLease checks that one run at a time changes a mirror, and that shards of one plan share it.
func TestLease(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	session := func(name string) *workspace.Session {
		t.Helper()
		session, err := workspace.OpenSession(s.NewEnv(), s.Path(name))
		fail.On(t, err)
		t.Cleanup(session.Release)
		return session
	}
	one, two, to := session("one"), session("two"), opened(s, "site")
	_, release, err := site.Lease(t.Context(), one, to)
	fail.On(t, err)
	_, _, err = site.Lease(t.Context(), two, to)
	mirrortest.Refused(t, err, advice.Locked, s.Docker("site")+" is used by another run: process ", "wait for that run to end")
	var held *lease.HeldError
	if where, err := to.HeldByOther(t.Context()); !errors.As(err, &held) || held.Where != s.Docker("site") || where.Path != "site/gantry-lease" {
		t.Errorf("%s: %v", where, err)
	}
	_, elsewhere, err := site.Lease(t.Context(), two, opened(s, "elsewhere"))
	fail.On(t, err)
	elsewhere()
	release()
	if _, err := to.HeldByOther(t.Context()); err != nil {
		t.Errorf("it was released: %v", err)
	}

	group := digest.FromString("plan")
	_, first, err := site.LeaseFor(t.Context(), one, to, plan.Shard{Index: 1, Count: 2}, group)
	fail.On(t, err)
	defer first()
	_, second, err := site.LeaseFor(t.Context(), two, to, plan.Shard{Index: 2, Count: 2}, group)
	fail.On(t, err)
	defer second()
	_, _, err = site.LeaseFor(t.Context(), session("three"), to, plan.Shard{Index: 2, Count: 2}, digest.FromString("another plan"))
	mirrortest.Refused(t, err, advice.Locked)
}

// TestNeeded finds the images of an earlier plan that the current revision of an image set needs.
func TestNeeded(t *testing.T) {
	t.Parallel()
	published := digest.FromString("catalog")
	at := reference.Reference{Host: "mirror.example.com", Path: "site/index"}
	p := &plan.Plan{
		Catalogs: []plan.Catalog{{Source: "quay.io/index:v1", Repository: "index", Tag: "v1", Digest: published}},
		Releases: []plan.Release{{Version: "4.20.1"}},
		Images: []plan.Image{
			{Source: "quay.io/index:v1", Repository: "index", Tags: []string{"v1"}, Digest: published, Kind: plan.CatalogImage, Catalog: "quay.io/index:v1"},
			{Source: "quay.io/operand", Repository: "operand", Digest: digest.FromString("operand"), Reasons: []plan.Reason{{Catalog: "quay.io/index:v1", Package: "kite", Bundle: "kite.v1"}}},
			{Source: "quay.io/release", Repository: "release", Digest: digest.FromString("release"), Reasons: []plan.Reason{{Release: "4.20.1"}}},
			{Source: "quay.io/other", Repository: "other", Digest: digest.FromString("other")},
		},
		Missing: []plan.Missing{{Source: "quay.io/gone", Reasons: []plan.Reason{{Catalog: "quay.io/index:v1"}, {Catalog: "quay.io/absent:v1"}}}},
	}
	if all := site.NamesMissing(p); len(all) != 1 || all[0].Catalog != "quay.io/index:v1" {
		t.Errorf("%+v name missing images", all)
	}
	catalog := at.WithTag("v1")
	catalog.Digest = published
	for name, tc := range map[string]struct {
		needed site.Needed
		want   [4]bool
	}{
		"a catalog": {site.Needed{Published: map[reference.Reference]bool{catalog: true}}, [4]bool{true, true, false, false}},
		"releases":  {site.Needed{Releases: true}, [4]bool{false, false, true, false}},
		"an image":  {site.Needed{Missing: map[string]bool{"quay.io/other": true}}, [4]bool{false, false, false, true}},
		"a bundle":  {site.Needed{Installed: map[[2]string]bool{{"kite", "kite.v1"}: true}}, [4]bool{false, true, false, false}},
		"nothing":   {site.Needed{}, [4]bool{}},
	} {
		wanted, err := tc.needed.Find(p, map[string]reference.Reference{"index": at})
		if err != nil || (wanted == nil) != (tc.want == [4]bool{}) || !tc.needed.Empty() {
			t.Errorf("%s: left %+v, %v", name, tc.needed, err)
			continue
		}
		for i := range p.Images {
			if got := wanted != nil && wanted(&p.Images[i]); got != tc.want[i] {
				t.Errorf("%s: %s is needed: %v", name, p.Images[i].Source, got)
			}
		}
	}
}
