package registry

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/registry/doctor"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
)

// TestRegistriesOf checks that each registry of a configuration is looked at once, and folders are not.
func TestRegistriesOf(t *testing.T) {
	t.Parallel()
	m := imageset.Mirror{
		Operators:        []imageset.Operator{{Catalog: "registry.example.com/cat/index:v1"}, {Catalog: "dir:///cat"}},
		AdditionalImages: []imageset.Image{{Name: "registry.example.com/other:v1"}, {Name: "oci:///layout"}},
		Platform:         &imageset.Releases{Channels: []imageset.ReleaseChannel{{Name: "stable-4.18", Product: release.OCP}}},
		Helm:             &imageset.Helm{Repositories: []imageset.HelmRepository{{URL: "oci://charts.example.com/a/", Charts: []imageset.Chart{{Name: "web"}}}, {URL: "https://charts.example.net"}}},
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "registries.conf")
	text := "[[registry]]\nprefix = \"registry.example.com/other\"\nlocation = \"mirror.example.com/other\"\n"
	fail.On(t, os.WriteFile(file, []byte(text), 0o600))
	conf, err := registries.Load(registries.Options{Home: dir, Getenv: func(name string) string { return map[string]string{"CONTAINERS_REGISTRIES_CONF": file}[name] }})
	fail.On(t, err)
	for _, tc := range []struct {
		conf *registries.Config
		want []string
	}{
		{nil, []string{"registry.example.com/cat/index:v1", releaseRepository, "charts.example.com/a/web"}},
		{conf, []string{"registry.example.com/cat/index:v1", "registry.example.com/other:v1", releaseRepository, "charts.example.com/a/web"}},
	} {
		var got []string
		for _, r := range registriesOf(m, tc.conf) {
			got = append(got, r.String())
		}
		fail.Diff(t, tc.want, got)
	}
}

// TestDoctorBehindMirror checks that a source is looked for where registries.conf says, with the credentials for that
// registry, and nowhere else.
func TestDoctorBehindMirror(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		password, line string
		want           []string
	}{
		"read by digest": {"right", "mirror-by-digest-only = true\n", []string{"ok registry.invalid", "ok MIRROR"}},
		"wrong password": {"wrong", "", []string{"ok registry.invalid", "problem MIRROR"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if user, password, _ := r.BasicAuth(); user != "u" || password != "right" {
					w.Header().Set("WWW-Authenticate", `Basic realm="mirror"`)
					w.WriteHeader(http.StatusUnauthorized)
				}
			}))
			t.Cleanup(mirror.Close)
			host := strings.TrimPrefix(mirror.URL, "http://")
			dir := t.TempDir()
			file, auth := filepath.Join(dir, "registries.conf"), filepath.Join(dir, "auth.json")
			for name, text := range map[string]string{
				file: "[[registry]]\nprefix = \"registry.invalid\"\nlocation = \"registry.invalid\"\nblocked = true\n" + tc.line + "[[registry.mirror]]\nlocation = \"" + host + "/redhat\"\n",
				auth: `{"auths":{"` + host + `":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("u:"+tc.password)) + `"}}}`,
			} {
				fail.On(t, os.WriteFile(name, []byte(text), 0o600))
			}
			e, done := (&env.Env{Registries: env.Registries{AuthFile: auth}, Home: dir, Getenv: func(name string) string {
				return map[string]string{"CONTAINERS_REGISTRIES_CONF": file}[name]
			}}).OrDefault()
			t.Cleanup(done)
			d := &examination{env: e, result: &DoctorResult{}}
			err := d.examineConfiguration(t.Context(), imageset.Mirror{AdditionalImages: []imageset.Image{{Name: "registry.invalid/org/app@sha256:" + strings.Repeat("a", 64)}}})
			fail.On(t, err)
			var got []string
			for _, f := range d.result.Findings {
				got = append(got, string(f.State)+" "+strings.ReplaceAll(f.Name, host, "MIRROR"))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, d.result.Findings)
			}
			if text := d.result.Findings[0].Text; !strings.Contains(text, "registry.invalid/org/app is read from "+host+"/redhat/org/app (registries.conf), reached at http://"+host) {
				t.Errorf("text %q", text)
			}
		})
	}
}

// TestDoctorUpdateServices checks that the graph of one channel of a product is requested.
func TestDoctorUpdateServices(t *testing.T) {
	t.Parallel()
	requests := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if r.URL.Query().Get("channel") != "stable-4.18" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"nodes":[{"version":"4.18.1","payload":"quay.io/openshift-release-dev/ocp-release@sha256:`+
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"+`","metadata":{"io.openshift.upgrades.graph.release.channels":"stable-4.18"}}],"edges":[]}`)
	}))
	defer web.Close()
	e, done := (&env.Env{Getenv: func(string) string { return "" }}).OrDefault()
	defer done()
	for channel, want := range map[string]doctor.State{"stable-4.18": doctor.OK, "stable-4.99": doctor.Problem} {
		d := &examination{env: e, result: &DoctorResult{}}
		err := d.examineUpdateServices(t.Context(), &imageset.Releases{UpdateService: web.URL + "/graph", Channels: []imageset.ReleaseChannel{{Name: channel, Product: release.OCP}, {Name: "other", Product: release.OCP}}})
		if f := d.result.Findings; err != nil || len(f) != 1 || f[0].State != want || f[0].Name != "channel "+channel {
			t.Errorf("%s: %+v, %v", channel, f, err)
		}
	}
	if requests == 0 {
		t.Error("nothing was requested")
	}
}
