package registrytest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestFaults(t *testing.T) {
	t.Parallel()
	img, err := Image("faults")
	fail.On(t, err)
	raw, err := img.RawManifest()
	fail.On(t, err)
	for _, tc := range servers[:3] {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := tc.start(t, tc.o)
			if _, err := s.Client().Push(t.Context(), "org/app", "v1", img); err != nil {
				t.Fatal(err)
			}
			full := len(raw)

			s.Script(Rule{Path: "/manifests/", Action: Status(http.StatusTooManyRequests, "Retry-After", "7")})
			if status, _, body, err := fetch(t.Context(), s); err != nil || status != http.StatusTooManyRequests || !strings.Contains(string(body), "SCRIPTED") {
				t.Errorf("Status: %d %s %v", status, body, err)
			}

			s.Script(Rule{Method: http.MethodGet, Action: Reset()})
			if _, _, _, err := fetch(t.Context(), s); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
				t.Errorf("Reset: %v, want a reset connection", err)
			}

			s.Script(Rule{Action: Cut(10)})
			if _, announced, body, err := fetch(t.Context(), s); !errors.Is(err, io.ErrUnexpectedEOF) || announced != full || len(body) != 10 {
				t.Errorf("Cut: %d of %d bytes, announced %d, %v", len(body), full, announced, err)
			}

			s.Script(Rule{Action: ShortBody(10)})
			if _, announced, body, err := fetch(t.Context(), s); err != nil || announced != 10 || len(body) != 10 {
				t.Errorf("ShortBody: %d bytes, announced %d, %v", len(body), announced, err)
			}

			s.Script(Rule{Action: WrongBytes()})
			if _, _, body, err := fetch(t.Context(), s); err != nil || len(body) != full || string(body) == string(raw) {
				t.Errorf("WrongBytes: %d of %d bytes, %v", len(body), full, err)
			}
			if _, err := s.Client().Pull(t.Context(), "org/app", hash(raw).String()); err == nil {
				t.Error("a pull of wrong bytes succeeded")
			}

			s.Script(Rule{Action: Stall(10)})
			for wait := 100 * time.Millisecond; ; wait *= 4 {
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				_, _, body, err := fetch(ctx, s)
				cancel()
				if errors.Is(err, context.DeadlineExceeded) && len(body) == 0 && wait < time.Minute {
					continue // the machine is busy
				}
				if !errors.Is(err, context.DeadlineExceeded) || len(body) != 10 {
					t.Errorf("Stall: %d bytes, %v, want 10 and a timeout", len(body), err)
				}
				break
			}

			s.Script()
			if _, _, body, err := fetch(t.Context(), s); err != nil || string(body) != string(raw) {
				t.Errorf("without a script: %d bytes, %v", len(body), err)
			}
		})
	}
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
	if diff := cmp.Diff([]int{501, 200, 503, 200}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}
