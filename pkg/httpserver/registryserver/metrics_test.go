package registryserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/metrics"
)

func TestMetered(t *testing.T) {
	t.Parallel()
	h := Metered(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/absent" {
			http.Error(w, "1234567", http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte("12345"))
	}), metrics.Metric{Name: "gantry_serve_images", Help: "Images.", Type: metrics.Gauge, Samples: metrics.One(3)})
	get := func(path string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Body.String()
	}
	for _, path := range []string{"/a", "/absent", "/b", metricsPath} {
		get(path)
	}
	text := get(metricsPath)
	for _, line := range []string{
		`gantry_serve_requests_total{code="200"} 2`, `gantry_serve_requests_total{code="404"} 1`, "gantry_serve_sent_bytes_total 18", "gantry_serve_images 3",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	fail.On(t, metrics.Write(io.Discard, h.(*metered).metrics()...))
}
