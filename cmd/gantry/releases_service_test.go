package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestGraphDataIsNotReadAgain carries out plans in a workspace that lacks their graph data image,
// after the graph data was changed or removed.
func TestGraphDataIsNotReadAgain(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	const token = "s3cret"
	answer := func(allowed bool, status int) rt.Rule {
		return rt.Rule{Path: releasetest.GraphDataPath, Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			if allowed && r.URL.Query().Get("token") == token {
				next.ServeHTTP(rw, r)
				return
			}
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte("something else"))
		}}
	}
	w.service.Script(answer(true, http.StatusForbidden))
	isc := w.config("imageset.yaml", headOf420+"    graph: true\n    graphData: "+w.service.URL()+releasetest.GraphDataPath+"?token="+token+"\n")
	w.must("plan", "-c", isc, "-o", w.path("plan.json"))
	for _, tc := range []struct {
		status int
		code   int
		word   string
	}{
		{http.StatusForbidden, exitUnauthorized, "403"},
		{http.StatusNotFound, exitError, "404"},
		{http.StatusOK, exitError, "graph-data"},
	} {
		w.service.Script(answer(false, tc.status))
		o := w.gantry("mirror", "--plan", w.path("plan.json"), w.docker("/ocp"), "--workspace", w.path("fresh"))
		w.ended(o, tc.code, tc.word, "set --workspace to the workspace that the plan was made in", "without user and query")
		if strings.Contains(o.stderr, token) || strings.Contains(o.stderr, "mirror.platform.graphData") {
			t.Errorf("it prints\n%s", o.stderr)
		}
	}
	// The workspace that made the plan has the image.
	w.must("mirror", "--plan", w.path("plan.json"), w.docker("/ocp"))
}
