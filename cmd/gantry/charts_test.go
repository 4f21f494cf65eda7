package main

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// startCharts starts a chart repository and returns its host.
func startCharts(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(chartRepository())
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// chartRepository returns a chart repository with the password "secret" for the user "ci" below
// /private. Its charts name images of the sample.
func chartRepository() http.Handler {
	files := map[string]string{"podinfo-5.1.0.tgz.prov": "-----BEGIN PGP SIGNED MESSAGE-----\n"}
	var index []string
	for _, c := range []struct{ name, version, image string }{
		{"podinfo", "5.1.0", "images.example.net/tools/netcheck:TAG"},
		{"podinfo", "5.0.0", "images.example.net/tools/netcheck:1.4"},
		{"broken", "1.0.0", "fail"},
	} {
		archive := charttest.Chart(c.name, c.version, c.image)
		files[c.name+"-"+c.version+".tgz"] = string(archive)
		index = append(index, c.name+" "+c.version+" "+digest.FromBytes(archive).Encoded())
	}
	files["index.yaml"] = charttest.Index(index...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, private := strings.CutPrefix(r.URL.Path, "/private")
		user, password, _ := r.BasicAuth()
		text, ok := files[strings.TrimPrefix(name, "/")]
		switch {
		case private && (user != "ci" || password != "secret"):
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			w.WriteHeader(http.StatusUnauthorized)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write([]byte(text))
		}
	})
}

// TestChartsWithPasswords mirrors charts of a repository over https and of a registry, both with a CA and
// a password of their own, over a disk.
func TestChartsWithPasswords(t *testing.T) {
	t.Parallel()
	renderer, err := os.Executable() // TestMain has a renderer
	fail.On(t, err)
	registry := registrytest.Start(t, registrytest.Options{TLS: true, Auth: registrytest.TokenAuth})
	charts := registrytest.Serve(t, registrytest.Options{TLS: true}, chartRepository())
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: registry, mirror: registry}
	w.mkdir("certificates")
	for name, file := range map[string]string{"registry.crt": registry.CAFile, "charts.crt": charts.CAFile} {
		text, err := os.ReadFile(file)
		fail.On(t, err)
		w.write("certificates/"+name, string(text))
	}
	const secret = "Y2k6c2VjcmV0" // ci:secret
	own := base64.StdEncoding.EncodeToString([]byte(registry.Username + ":" + registry.Password))
	w.surroundings(w.write("registries.conf", "[[registry]]\nprefix = \"images.example.net\"\nlocation = \""+registry.Host+"/images.example.net\"\n"),
		w.write("auth.json", `{"auths":{"`+registry.Host+`":{"auth":"`+own+`"},"`+charts.Host+`/private":{"auth":"`+secret+`"}}}`))
	w.pushArtifact("images.example.net/tools/netcheck:1.4", ocispec.Manifest{
		Config: part(ocispec.MediaTypeImageConfig, "{}"), Layers: []ocispec.Descriptor{part(ocispec.MediaTypeImageLayerGzip, "layer")},
	}, "{}", "layer")
	const config = `{"name":"app","version":"1.2.0","apiVersion":"v2"}`
	archive := string(charttest.Chart("app", "1.2.0", "images.example.net/tools/netcheck:1.4"))
	pushed := w.pushArtifact("helm/app:1.2.0", ocispec.Manifest{
		Config: part("application/vnd.cncf.helm.config.v1+json", config), Layers: []ocispec.Descriptor{part("application/vnd.cncf.helm.chart.content.v1.tar+gzip", archive)},
	}, config, archive)
	cfg := w.config("imageset.yaml", "  helm:\n    repositories:\n    - url: https://"+charts.Host+"/private\n      charts: [{name: podinfo, version: 5.0.0, values: {tag: '1.4'}}]\n"+
		"    - url: oci://"+registry.Host+"/helm\n      charts: [{name: app, version: ^1.0.0}]\n")

	w.refuse(exitError, []string{"--src-cert-dir"}, "plan", "-c", cfg, "--helm-renderer", renderer)
	w.must("mirror", "file://"+w.path("disk"), "-c", cfg, "--helm-renderer", renderer, "--src-cert-dir", w.path("certificates"))
	o := w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"), "--dest-cert-dir", w.path("certificates"))
	w.says(o.stdout, "/charts/app --version 1.2.0\n")
	for _, chart := range []string{"app:1.2.0", "podinfo:5.0.0"} {
		name, tag, _ := strings.Cut(chart, ":")
		got, err := registry.Client().Pull(t.Context(), "carried/charts/"+name, tag)
		if err != nil || name == "app" && got.Digest != pushed {
			t.Errorf("%s: %v, %v", chart, got.Digest, err)
		}
	}
	for name, text := range w.tree(".") {
		if name != "auth.json" && strings.Contains(text, secret) {
			t.Errorf("%s contains the password", name)
		}
	}
}
