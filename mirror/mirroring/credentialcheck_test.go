package mirroring

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// stuck is a source that never responds, with a mirror that requires a password.
type stuck struct {
	t               *testing.T
	dir             string
	mirror, catalog string
	config          string
}

func newStuck(t *testing.T) *stuck {
	t.Helper()
	source := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(source.Close)
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="mirror"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(mirror.Close)
	s := &stuck{t: t, dir: t.TempDir(), mirror: strings.TrimPrefix(mirror.URL, "http://"), catalog: strings.TrimPrefix(source.URL, "http://") + "/org/index:v4.20"}
	s.config = s.write("imageset.yaml", "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n"+
		"  platform:\n    updateService: "+source.URL+"/graph\n    channels:\n    - name: stable-4.20\n  operators:\n  - catalog: "+s.catalog+"\n")
	return s
}

func (s *stuck) write(name, text string) string {
	s.t.Helper()
	file := filepath.Join(s.dir, name)
	fail.On(s.t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// env returns an environment with credentials from a file, or without any.
func (s *stuck) env(authFile string) *env.Env {
	e := &env.Env{
		Registries: env.Registries{AuthFile: authFile, Source: env.Side{PlainHTTP: true}, Destination: env.Side{PlainHTTP: true}, RetryTimes: -1},
		Home:       s.dir, Getenv: func(string) string { return "" },
	}
	s.t.Cleanup(e.Close)
	return e
}

// verbs runs everything that plans or reads before it uses a registry, and returns the errors.
func (s *stuck) verbs(ctx context.Context, e *env.Env, registry string) map[string]error {
	errs := map[string]error{}
	selection, ws := selection.Selection{Config: s.config}, filepath.Join(s.dir, "ws")
	_, errs["mirror"] = Run(ctx, Options{Env: e, Selection: selection, Destination: "docker://" + registry + "/ocp", Workspace: ws})
	_, errs["build"] = authoring.BuildCatalog(ctx, authoring.BuildOptions{Env: e, Catalog: s.catalog, Destination: "docker://" + registry + "/ocp/index:v1", Workspace: ws})
	return errs
}

// reads runs what only reads from a registry.
func (s *stuck) reads(ctx context.Context, e *env.Env, registry string) map[string]error {
	errs := map[string]error{}
	selection, ws := selection.Selection{Config: s.config}, filepath.Join(s.dir, "ws")
	_, errs["plan"] = planning.Make(ctx, planning.Options{Env: e, Selection: selection, Destination: "docker://" + registry + "/ocp", Workspace: ws})
	_, errs["dry run"] = Run(ctx, Options{Env: e, Selection: selection, Destination: "docker://" + registry + "/ocp", Workspace: ws, DryRun: true})
	_, errs["verify"] = verify.Run(ctx, verify.Options{Env: e, Selection: selection, Locations: []string{"docker://" + registry + "/ocp"}, Workspace: ws})
	_, errs["check"] = check.Run(ctx, check.Options{Env: e, Selection: selection, Mirror: "docker://" + registry + "/ocp", Workspace: ws})
	return errs
}

// TestRefusedPasswordEndsPlanning checks that a run whose mirror refuses the password ends although its
// source never responds.
func TestRefusedPasswordEndsPlanning(t *testing.T) {
	t.Parallel()
	s := newStuck(t)
	auth := s.write("auth.json", fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, s.mirror, base64.StdEncoding.EncodeToString([]byte("ci:wrong"))))
	check := func(errs map[string]error) {
		for verb, err := range errs {
			if text := advice.Text(err); advice.KindOf(err) != advice.Unauthorized || !strings.HasPrefix(text, `the mirror refused the password for user "ci"`) ||
				!strings.Contains(text, "run gantry registry login "+s.mirror) || strings.Contains(text, "wrong") {
				t.Errorf("%s: %s", verb, text)
			}
		}
	}
	check(s.verbs(t.Context(), s.env(auth), s.mirror))
	check(s.reads(t.Context(), s.env(auth), s.mirror))
}

// TestMissingPasswordEndsPlanning checks that a run without credentials for its mirror ends although its
// source never responds.
func TestMissingPasswordEndsPlanning(t *testing.T) {
	t.Parallel()
	s := newStuck(t)
	for verb, err := range s.verbs(t.Context(), s.env(""), s.mirror) {
		if text := advice.Text(err); advice.KindOf(err) != advice.Unauthorized || !strings.Contains(text, s.mirror+": it requires a login to push, and no credentials for it were found in ") ||
			!strings.Contains(text, filepath.Join(s.dir, ".docker", "config.json")+"; run gantry registry login "+s.mirror) {
			t.Errorf("%s: %s", verb, text)
		}
	}
}

// TestUnreachableMirrorEndsPlanning checks that a run whose mirror cannot be reached ends although its
// source never responds.
func TestUnreachableMirrorEndsPlanning(t *testing.T) {
	t.Parallel()
	s := newStuck(t)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	at := strings.TrimPrefix(closed.URL, "http://")
	check := func(errs map[string]error) {
		for verb, err := range errs {
			if text := advice.Text(err); !strings.HasPrefix(text, "requesting the registry API at "+at+": it cannot be reached: ") {
				t.Errorf("%s: %s", verb, text)
			}
		}
	}
	check(s.verbs(t.Context(), s.env(""), at))
	check(s.reads(t.Context(), s.env(""), at))
}
