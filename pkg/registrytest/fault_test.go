package registrytest

import (
	"net/http"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestRulesCount(t *testing.T) {
	t.Parallel()
	s := New(t, Options{Rules: []Rule{
		{Method: http.MethodGet, Path: "^/v2/$", Nth: 1, Action: Status(501)},
		{Method: http.MethodGet, Path: "^/v2/$", Nth: 3, Action: Status(503)},
		{Path: "^/v2/other", Action: Status(504)},
	}})
	for range 4 {
		resp, err := s.Client().send(t.Context(), request{method: http.MethodGet, path: "/v2/"})
		fail.On(t, err)
		_ = resp.Body.Close()
	}
	got := elements.Map(s.Log(), func(r Request) int { return r.Status })
	fail.Diff(t, []int{501, 200, 503, 200}, got)
}
