package planning_test

import (
	"net/http"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// TestLoadReleasePlan loads a plan of a release in the workspace that made it, and in one that does not have the image of
// its graph data, after the graph data was changed or removed. The signatures are verified again.
func TestLoadReleasePlan(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	s := p.Site
	address := p.Service.URL() + releasetest.GraphDataPath
	made := s.Planned(s.Config("imageset.yaml", "  platform:\n    channels: [{name: fast-4.20}]\n    graph: true\n    graphData: "+address+"?token=s3cret\n"))
	load := func(where string, p *plan.Plan, trust updates.ReleaseTrust) error {
		t.Helper()
		session, err := workspace.OpenSession(s.NewEnv(), where)
		fail.On(t, err)
		defer session.Release()
		_, err = planning.LoadPlan(t.Context(), session, p, trust)
		return err
	}
	for status, kind := range map[int]advice.Kind{http.StatusForbidden: advice.Unauthorized, http.StatusNotFound: advice.Failure, http.StatusOK: advice.Failure} {
		p.Service.Script(registrytest.Rule{Path: releasetest.GraphDataPath, Action: func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte("something else"))
		}})
		mirrortest.Refused(t, load(s.Path("fresh"), made, updates.ReleaseTrust{}), kind, "the workspace that the plan was made in", "without user and query")
	}
	if err := load(s.Workspace(), made, updates.ReleaseTrust{}); err != nil {
		t.Error(err)
	}
	p.Service.Script()
	if err := load(s.Path("fresh"), made, updates.ReleaseTrust{}); err != nil {
		t.Error(err)
	}

	payload := p.Payload("4.20.2-x86_64")
	invalid, err := p.Releases.Keys.SignInvalid(payload.Repository+":"+payload.Name, payload.Digest)
	fail.On(t, err)
	for words, body := range map[string][]byte{"invalid signature": invalid, "signs another image": p.Releases.Signature(p.Payload("4.20.1-x86_64").Digest)} {
		altered := *made
		altered.Releases = []plan.Release{made.Releases[0]}
		altered.Releases[0].Signatures = []plan.Signature{{Digest: payload.Digest, Body: body}}
		mirrortest.Refused(t, load(s.Workspace(), &altered, updates.ReleaseTrust{}), advice.Mismatch, "release 4.20.2-x86_64", words)
		if err := load(s.Workspace(), &altered, updates.ReleaseTrust{IgnoreReleaseSignature: true}); err != nil {
			t.Error(err)
		}
	}
}
