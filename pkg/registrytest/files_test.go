package registrytest

import (
	"net/http"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestServe checks that the front logs the requests to any server and applies faults to them.
func TestServe(t *testing.T) {
	t.Parallel()
	s := Serve(t, Options{TLS: true, Rules: []Rule{{Path: "^/b$", Action: Page()}}}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	client := s.Client().http
	for path, want := range map[string]int{"/a": http.StatusTeapot, "/b": http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, http.NoBody)
		fail.On(t, err)
		resp, err := client.Do(req)
		fail.On(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	fail.Diff(t, 2, len(s.Log()))
}
