package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/registry/doctor"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// doctor runs gantry registry doctor and returns the findings by name.
func (w *fixture) doctor(code int, args ...string) map[string]doctor.Finding {
	w.t.Helper()
	o := w.gantry(append([]string{"doctor", "-o", "json"}, args...)...)
	var result registry.DoctorResult
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != code {
		w.t.Fatalf("%d, want %d, %v\n%s%s", o.code, code, err, o.stdout, o.stderr)
	}
	found := map[string]doctor.Finding{}
	for _, f := range result.Findings {
		found[f.Name] = f
	}
	return found
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	mirror := registrytest.Start(t, registrytest.Options{})
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: mirror, mirror: mirror}
	w.surroundings(w.write("registries.conf", ""), "")
	found := w.doctor(exitOK, w.docker("/ocp"))
	for name, want := range map[string]doctor.State{
		"connection": doctor.OK, "difference": doctor.OK, "push": doctor.OK, "OCI media types": doctor.OK, "nested paths": doctor.OK, "mount": doctor.OK,
		"sparse indexes": doctor.Warning, "referrers": doctor.OK, "large manifests": doctor.OK, "uploads in parts": doctor.OK, "digests of uploads": doctor.OK,
		"deletion": doctor.OK, "encryption": doctor.Warning, "writing": doctor.OK,
	} {
		if f := found[name]; f.State != want {
			t.Errorf("%s: %+v, want %s", name, f, want)
		}
	}
	// Nothing that can be pulled is left.
	for _, repository := range []string{"ocp/gantry/probe", "ocp/gantry/probe/a/b/c/d"} {
		if r, err := http.Get(w.mirror.URL() + "/v2/" + repository + "/tags/list"); err != nil {
			t.Error(err)
		} else {
			text, err := io.ReadAll(r.Body)
			if err = errors.Join(err, r.Body.Close()); err != nil || r.StatusCode == http.StatusOK && !strings.Contains(string(text), `"tags":[]`) && !strings.Contains(string(text), `"tags":null`) {
				t.Errorf("%s has %s, %v", repository, text, err)
			}
		}
	}

	w.mirror.ResetLog()
	if f := w.doctor(exitOK, "--read-only", w.docker("/ocp"))["push"]; f.State != doctor.Skipped || !strings.Contains(f.Text, "--read-only") {
		t.Errorf("%+v", f)
	}
	for _, r := range w.mirror.Log() {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("%s %s with --read-only", r.Method, r.Path)
		}
	}

	w.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Action: registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED")}, registrytest.Rule{Path: "probe/a/", Action: registrytest.Refuse(http.StatusBadRequest, "NAME_INVALID")})
	found = w.doctor(exitOK, w.docker("/ocp"))
	if f := found["deletion"]; f.State != doctor.Warning || !strings.Contains(f.Text, "stay in") {
		t.Errorf("%+v", f)
	}
	if f := found["nested paths"]; f.State != doctor.Warning || !strings.Contains(f.Remedy, "--max-nested-paths") {
		t.Errorf("%+v", f)
	}
	w.mirror.Script(registrytest.Rule{Method: http.MethodPost, Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
	if f := w.doctor(exitUnauthorized, w.docker("/ocp"))["push"]; f.State != doctor.Problem {
		t.Errorf("%+v", f)
	}
	w.mirror.Script()
	if o := w.must("doctor", w.docker("")); !strings.Contains(o.stdout, "registry\n  ok       connection: reached at http://"+w.mirror.Host) || !strings.Contains(o.stdout, "0 problems, ") {
		t.Errorf("%s", o.stdout)
	}
	config := w.config("imageset.yaml", "  additionalImages:\n  - name: 127.0.0.1:1/team/app:v1\n")
	if f := w.doctor(exitError, "-c", config, "--read-only", w.docker(""))["127.0.0.1:1"]; f.State != doctor.Problem || f.Area != "configuration" {
		t.Errorf("%+v", f)
	}
	w.refuse(exitUsage, []string{"docker://"}, "doctor", "file://x")

	// Charts and files of the configuration.
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/charts/index.yaml":
			_, _ = io.WriteString(rw, "apiVersion: v1\nentries: {}\n")
		case "/there.iso":
		default:
			http.NotFound(rw, r)
		}
	}))
	defer web.Close()
	sum := strings.Repeat("0", 64)
	config = w.config("content.yaml", "  helm:\n    repositories: [{name: a, url: '"+web.URL+"/charts'}, {name: b, url: '"+web.URL+"/none'}]\n    local: [{name: web, path: '"+w.write("chart.tgz", "")+"'}]\n"+
		"  files: [{url: '"+web.URL+"/there.iso', sha256: '"+sum+"'}, {url: '"+web.URL+"/gone.iso', sha256: '"+sum+"'}, {path: '"+w.path("gone.txt")+"'}]\n")
	found = w.doctor(exitError, "-c", config, "--read-only", w.docker(""))
	for name, want := range map[string]doctor.State{
		web.URL + "/charts": doctor.OK, web.URL + "/none": doctor.Problem, w.path("chart.tgz"): doctor.OK,
		web.URL + "/there.iso": doctor.OK, web.URL + "/gone.iso": doctor.Problem, w.path("gone.txt"): doctor.Problem,
	} {
		if f := found[name]; f.State != want || f.Area != "configuration" {
			t.Errorf("%s: %+v, want %s", name, f, want)
		}
	}
	w.refuse(exitUsage, []string{"absent.yaml"}, "doctor", "-c", w.path("absent.yaml"), w.docker(""))
}

func TestDoctorShowsNoSecrets(t *testing.T) {
	t.Parallel()
	mirror := registrytest.Start(t, registrytest.Options{TLS: true, Auth: registrytest.BasicAuth})
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: mirror, mirror: mirror}
	w.surroundings(w.write("registries.conf", ""), "")
	if f := w.doctor(exitError, w.docker(""))["connection"]; f.State != doctor.Problem || f.Remedy == "" {
		t.Errorf("an unknown CA: %+v", f)
	}
	o := w.gantry("doctor", "--dest-tls-verify=false", w.docker(""))
	if o.code != exitUnauthorized || !strings.Contains(o.stdout, "gantry registry login") || !strings.Contains(o.stdout, "not verified") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	o = w.must("doctor", "--dest-cert-dir", filepath.Dir(w.mirror.CAFile), "--dest-authfile", w.mirror.AuthFile, w.docker(""))
	for _, words := range []string{w.mirror.AuthFile, "trusted by a CA in " + filepath.Dir(w.mirror.CAFile), "valid until"} {
		if !strings.Contains(o.stdout, words) {
			t.Errorf("no %q in\n%s", words, o.stdout)
		}
	}
	basic := base64.StdEncoding.EncodeToString([]byte(w.mirror.Username + ":" + w.mirror.Password))
	for _, secret := range []string{w.mirror.Password, basic} {
		if strings.Contains(o.stdout+o.stderr, secret) {
			t.Errorf("the password is in\n%s%s", o.stdout, o.stderr)
		}
	}
}
