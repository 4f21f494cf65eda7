package registry_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/registry/doctor"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// alone returns a Site with a mirror and without a source.
func alone(t *testing.T, o registrytest.Options) *mirrortest.Site {
	t.Helper()
	s := &mirrortest.Site{T: t, Dir: registrytest.TempDir(t), Mirror: registrytest.Start(t, o), Vars: map[string]string{"HOME": t.TempDir()}}
	s.Vars["CONTAINERS_REGISTRIES_CONF"] = s.Write("registries.conf", "")
	s.Env = s.NewEnv()
	s.Env.Destination.SkipTLSVerify, s.Env.Source.SkipTLSVerify = !o.TLS, !o.TLS
	return s
}

// examined examines the mirror at a prefix, and returns the findings by name.
func examined(s *mirrortest.Site, prefix string, change func(*registry.DoctorOptions)) (map[string]doctor.Finding, error) {
	s.T.Helper()
	o := registry.DoctorOptions{Env: s.Env, Mirror: s.Docker(prefix), Workspace: s.Workspace()}
	if change != nil {
		change(&o)
	}
	r, err := registry.Doctor(s.T.Context(), o)
	if r == nil {
		s.T.Fatal(err)
	}
	found := map[string]doctor.Finding{}
	for _, f := range r.Findings {
		found[f.Name] = f
	}
	return found, err
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	s := alone(t, registrytest.Options{})
	readOnly := func(o *registry.DoctorOptions) { o.ReadOnly = true }
	found, err := examined(s, "ocp", nil)
	if err != nil {
		t.Error(err)
	}
	for name, want := range map[string]doctor.State{"connection": doctor.OK, "difference": doctor.OK, "push": doctor.OK, "deletion": doctor.OK, "encryption": doctor.Warning, "writing": doctor.OK} {
		if f := found[name]; f.State != want {
			t.Errorf("%s: %+v, want %s", name, f, want)
		}
	}

	s.Mirror.ResetLog()
	if found, err = examined(s, "ocp", readOnly); err != nil || found["push"].State != doctor.Skipped || !strings.Contains(found["push"].Text, "Options.ReadOnly") {
		t.Errorf("%v, %+v", err, found["push"])
	}
	for _, r := range s.Mirror.Log() {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("%s %s although nothing is pushed", r.Method, r.Path)
		}
	}

	s.Mirror.Script(registrytest.Rule{Method: http.MethodPost, Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
	found, err = examined(s, "ocp", nil)
	if mirrortest.Refused(t, err, advice.Unauthorized); found["push"].State != doctor.Problem {
		t.Errorf("%+v", found["push"])
	}
	s.Mirror.Script()
	for words, change := range map[string]func(*registry.DoctorOptions){
		"docker://":   func(o *registry.DoctorOptions) { o.Mirror = "file://x" },
		"absent.yaml": func(o *registry.DoctorOptions) { o.Config = s.Path("absent.yaml") },
	} {
		o := registry.DoctorOptions{Env: s.Env, Mirror: s.Docker(""), Workspace: s.Workspace()}
		change(&o)
		_, err := registry.Doctor(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestDoctorOfConfiguration looks at the images, charts and files of a configuration.
func TestDoctorOfConfiguration(t *testing.T) {
	t.Parallel()
	s := alone(t, registrytest.Options{})
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
	config := s.Config("content.yaml", fmt.Sprintf(`  additionalImages: [{name: '127.0.0.1:1/team/app:v1'}]
  helm:
    repositories: [{name: a, url: '%[1]s/charts'}, {name: b, url: '%[1]s/none'}]
    local: [{name: web, path: '%[2]s'}]
  files: [{url: '%[1]s/there.iso', sha256: '%[3]s'}, {url: '%[1]s/gone.iso', sha256: '%[3]s'}, {path: '%[4]s'}]
`, web.URL, s.Write("chart.tgz", ""), strings.Repeat("0", 64), s.Path("gone.txt")))
	found, err := examined(s, "", func(o *registry.DoctorOptions) { o.Config, o.ReadOnly = config, true })
	mirrortest.Refused(t, err, advice.Failure)
	for name, want := range map[string]doctor.State{
		"127.0.0.1:1": doctor.Problem, web.URL + "/charts": doctor.OK, web.URL + "/none": doctor.Problem, s.Path("chart.tgz"): doctor.OK,
		web.URL + "/there.iso": doctor.OK, web.URL + "/gone.iso": doctor.Problem, s.Path("gone.txt"): doctor.Problem,
	} {
		if f := found[name]; f.State != want || f.Area != "configuration" {
			t.Errorf("%s: %+v, want %s", name, f, want)
		}
	}
}

func TestDoctorShowsNoSecrets(t *testing.T) {
	t.Parallel()
	s := alone(t, registrytest.Options{TLS: true, Auth: registrytest.BasicAuth})
	found, err := examined(s, "", nil)
	if mirrortest.Refused(t, err, advice.Failure); found["connection"].State != doctor.Problem || found["connection"].Remedy == "" {
		t.Errorf("an unknown CA: %+v", found["connection"])
	}
	with := func(change func(*env.Side)) func(*registry.DoctorOptions) {
		return func(o *registry.DoctorOptions) {
			o.Env = s.NewEnv()
			change(&o.Env.Destination)
		}
	}
	found, err = examined(s, "", with(func(side *env.Side) { side.SkipTLSVerify = true }))
	mirrortest.Refused(t, err, advice.Unauthorized)
	if text := fmt.Sprint(found); !strings.Contains(text, "gantry registry login") || !strings.Contains(text, "not verified") {
		t.Error(text)
	}
	found, err = examined(s, "", with(func(side *env.Side) { side.CertDir, side.AuthFile = filepath.Dir(s.Mirror.CAFile), s.Mirror.AuthFile }))
	text := fmt.Sprint(found, err)
	for _, words := range []string{s.Mirror.AuthFile, "trusted by a CA in " + filepath.Dir(s.Mirror.CAFile), "valid until"} {
		if err != nil || !strings.Contains(text, words) {
			t.Errorf("no %q in\n%s", words, text)
		}
	}
	for _, secret := range []string{s.Mirror.Password, base64.StdEncoding.EncodeToString([]byte(s.Mirror.Username + ":" + s.Mirror.Password))} {
		if strings.Contains(text, secret) {
			t.Errorf("the password is in\n%s", text)
		}
	}
}
