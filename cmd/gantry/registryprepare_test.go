package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
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

// startHarbor serves the mirror of a fixture as a Harbor and returns its host.
func startHarbor(t *testing.T, w *fixture) (*harbor, string) {
	t.Helper()
	to, err := url.Parse(w.mirror.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header.Del("Authorization")
	}}
	h := &harbor{projects: map[string]bool{}, registry: proxy}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return h, strings.TrimPrefix(server.URL, "http://")
}

func TestRegistryPrepare(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	h, host := startHarbor(t, w)
	to, isc := "docker://"+host+"/ocp", w.path("imageset.yaml")
	w.refuse(exitUnauthorized, []string{"gantry registry login " + host}, "registry", "prepare", "-c", isc, to)
	auth := w.write("harbor.json", `{"auths":{"`+host+`":{"auth":"YWRtaW46c2VjcmV0LTc="}}}`) // admin:secret-7
	if err := os.Chmod(auth, 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(more ...string) []string { return append(more, "--dest-authfile", auth, to) }

	// Nothing can be pushed without the project.
	if o := w.gantry(args("mirror", "-c", isc)...); o.code == exitOK {
		t.Fatalf("pushed without a project\n%s", o.stderr)
	}
	if o := w.must(args("registry", "prepare", "-c", isc, "--print")...); !strings.Contains(o.stdout, `"project_name":"ocp"`) || !strings.Contains(o.stdout, "http://"+host+"/api/v2.0/projects") || strings.Contains(o.stdout, "secret-7") || h.created != 0 {
		t.Errorf("%s, %d created", o.stdout, h.created)
	}
	var result registry.PreparedRegistry
	o := w.must(args("registry", "prepare", "-c", isc, "-o", "json")...)
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.Kind != "harbor" || len(result.Repositories) != 1 || !result.Repositories[0].Created || result.Repositories[0].Name != "ocp" {
		t.Errorf("%s: %v", o.stdout, err)
	}
	if o := w.must(args("registry", "prepare", "-c", isc)...); !strings.Contains(o.stdout, "Nothing to create") || h.created != 1 {
		t.Errorf("second run: %s, %d created", o.stdout, h.created)
	}

	w.refuse(exitUsage, []string{"--config", "--plan", "--from"}, "registry", "prepare", to)
	w.refuse(exitUsage, []string{"docker://"}, "registry", "prepare", "-c", isc, "file://x")
	w.refuse(exitUsage, []string{"--registry-kind", "harbor"}, "registry", "prepare", "-c", isc, "--registry-kind", "nexus", to)
	w.refuse(exitUsage, []string{"--registry-token-file"}, "registry", "prepare", "-c", isc, "--registry-token-file", w.path("absent"), to)
}

func TestMirrorCreatesRepositories(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	h, host := startHarbor(t, w)
	isc, to := w.path("imageset.yaml"), "docker://"+host+"/ocp"
	auth := w.write("harbor.json", `{"auths":{"`+host+`":{"auth":"YWRtaW46c2VjcmV0LTc="}}}`)
	if err := os.Chmod(auth, 0o600); err != nil {
		t.Fatal(err)
	}
	o := w.must("mirror", "-c", isc, "--create-repositories", "--dest-authfile", auth, to)
	if h.created != 1 || !strings.Contains(o.stderr, "created ocp at "+host) || strings.Contains(o.stderr, "cannot be read") {
		t.Errorf("%d created\n%s", h.created, o.stderr)
	}
	if o := w.must("mirror", "-c", isc, "--create-repositories", "--dest-authfile", auth, to); h.created != 1 || strings.Contains(o.stderr, "created ocp") {
		t.Errorf("second run: %d created\n%s", h.created, o.stderr)
	}
	w.must("verify", "-c", isc, "--dest-authfile", auth, to)

	w.refuse(exitUsage, []string{"--create-repositories"}, "mirror", "-c", isc, "--create-repositories", "oci://"+w.path("layout"))
	w.refuse(exitUsage, []string{"--create-repositories"}, "mirror", "-c", isc, "--registry-kind", "quay", to)
}
