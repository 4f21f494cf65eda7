package repositories_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/repositories"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/provision"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// A harbor is a registry that refuses requests below projects that do not exist, and has the part of Harbor's
// API that creates them (api/v2.0/swagger.yaml in https://github.com/goharbor/harbor).
type harbor struct {
	mu       sync.Mutex
	projects map[string]bool
	created  int
	registry http.Handler
}

func (h *harbor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	user, _, _ := r.BasicAuth()
	switch {
	case r.URL.Path == "/api/v2.0/systeminfo":
		_, _ = io.WriteString(w, `{"auth_mode":"db_auth"}`) // the client may be gone
	case r.URL.Path == "/api/v2.0/projects" && user != "admin":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/api/v2.0/projects" && r.Method == http.MethodHead:
		if !h.projects[r.URL.Query().Get("project_name")] {
			w.WriteHeader(http.StatusNotFound)
		}
	case r.URL.Path == "/api/v2.0/projects":
		var request struct {
			Name string `json:"project_name"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.projects[request.Name] = true
		h.created++
		w.WriteHeader(http.StatusCreated)
	case r.URL.Path == "/v2/":
		w.Header().Set("WWW-Authenticate", `Basic realm="harbor"`)
		if user == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	default:
		project, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/")
		if !h.projects[project] {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errors":[{"code":"FORBIDDEN","message":"project `+project+` not found"}]}`) // as above
			return
		}
		h.registry.ServeHTTP(w, r)
	}
}

// newHarbor serves the mirror of a Site as a Harbor, and returns a configuration and its destination.
func newHarbor(t *testing.T) (s *mirrortest.Site, h *harbor, config, to string) {
	t.Helper()
	s = mirrortest.New(t, registrytest.Options{})
	at, err := url.Parse(s.Mirror.URL())
	fail.On(t, err)
	h = &harbor{projects: map[string]bool{}, registry: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.Host = r.In.Host
		r.Out.Header.Del("Authorization")
	}}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s.Env.Destination.PlainHTTP = true
	return s, h, s.Operators("lantern"), strings.Replace(server.URL, "http://", "docker://", 1) + "/ocp"
}

// authorized returns an Env with the credentials of the administrator.
func authorized(s *mirrortest.Site, to string) *mirrortest.Site {
	host, _, _ := strings.Cut(strings.TrimPrefix(to, "docker://"), "/")
	s.Env = s.NewEnv()
	s.Env.Destination.PlainHTTP = true
	s.Env.Destination.AuthFile = s.Write("harbor.json", `{"auths":{"`+host+`":{"auth":"YWRtaW46c2VjcmV0LTc="}}}`) // admin:secret-7
	return s
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	s, h, config, to := newHarbor(t)
	prepare := func(change func(*repositories.Options)) (*repositories.Prepared, error) {
		o := repositories.Options{Env: s.Env, Selection: selection.Selection{Config: config}, Mirror: to, Workspace: s.Workspace()}
		if change != nil {
			change(&o)
		}
		return repositories.Prepare(t.Context(), o)
	}
	_, err := prepare(nil)
	mirrortest.Refused(t, err, advice.Unauthorized, "gantry registry login ")
	s = authorized(s, to)
	if _, err := mirroring.Run(t.Context(), s.MirrorOptions(config, to)); err == nil {
		t.Fatal("pushed without a project")
	}
	printed, err := prepare(func(o *repositories.Options) { o.Print = true })
	fail.On(t, err)
	commands := strings.Join(printed.Commands, "\n")
	if !strings.Contains(commands, `"project_name":"ocp"`) || !strings.Contains(commands, "/api/v2.0/projects") || strings.Contains(commands, "secret-7") || h.created != 0 {
		t.Errorf("%s, %d created", commands, h.created)
	}
	for _, created := range []bool{true, false} {
		got, err := prepare(nil)
		want := &repositories.Prepared{Version: 1, Mirror: to, Kind: provision.Harbor, Repositories: []provision.Result{{Name: "ocp", Created: created}}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" || h.created != 1 {
			t.Errorf("%v, %d created, %s", err, h.created, diff)
		}
	}
	for words, change := range map[string]func(*repositories.Options){
		"Options.Config, Options.Plan": func(o *repositories.Options) { o.Config = "" },
		"docker://":                    func(o *repositories.Options) { o.Mirror = "file://x" },
		"harbor":                       func(o *repositories.Options) { o.RegistryKind = "nexus" },
		"Options.RegistryTokenFile":    func(o *repositories.Options) { o.RegistryTokenFile = s.Path("absent") },
	} {
		_, err := prepare(change)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestMirrorCreatesRepositories checks that a run creates what is missing, once.
func TestMirrorCreatesRepositories(t *testing.T) {
	t.Parallel()
	s, h, config, to := newHarbor(t)
	s = authorized(s, to)
	create := func(o *mirroring.Options) { o.CreateRepositories = true }
	for _, created := range []bool{true, false} {
		s.Mirrored(config, to, create)
		if said := slices.ContainsFunc(s.Said(), func(text string) bool { return strings.HasPrefix(text, "created ocp at ") }); said != created || h.created != 1 {
			t.Errorf("%d created, and said: %v", h.created, said)
		}
	}
	for destination, change := range map[string]func(*mirroring.Options){
		"oci://" + s.Path("layout"): create,
		to:                          func(o *mirroring.Options) { o.RegistryKind = "quay" },
	} {
		o := s.MirrorOptions(config, destination)
		change(&o)
		_, err := mirroring.Run(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, "Options.CreateRepositories")
	}
}
