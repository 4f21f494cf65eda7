package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
)

// startCharts starts a chart repository with the password "secret" for the user "ci" below /private,
// and returns its host. Its charts name images of the sample.
func startCharts(t *testing.T) string {
	t.Helper()
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
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}
