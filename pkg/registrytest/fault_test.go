package registrytest

import (
	"context"
	"io"
	"net/http"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// fetch reads the manifest org/app:v1 and returns the status, the announced length and the body.
func fetch(ctx context.Context, s *Server) (status, announced int, body []byte, err error) {
	c := s.Client()
	defer c.http.CloseIdleConnections()
	resp, err := c.send(ctx, request{method: http.MethodGet, repository: "org/app", path: "manifests/v1",
		header: http.Header{"Accept": {dockerManifest, ocispec.MediaTypeImageManifest}}})
	if err != nil {
		return 0, 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, int(resp.ContentLength), body, err
}

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
	var got []int
	for _, r := range s.Log() {
		got = append(got, r.Status)
	}
	fail.Diff(t, []int{501, 200, 503, 200}, got)
}
