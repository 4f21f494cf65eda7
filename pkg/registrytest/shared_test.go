package registrytest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestSharedProcess checks that servers with one process look like separate registries.
func TestSharedProcess(t *testing.T) {
	t.Parallel()
	img, err := Image("shared")
	fail.On(t, err)
	one, other := Start(t, Options{}), Start(t, Options{})
	if one.process != other.process || one.namespace == other.namespace {
		t.Fatalf("namespaces %q and %q in one process: %t", one.namespace, other.namespace, one.process == other.process)
	}
	for _, name := range []string{"org/app", "org/tool"} {
		_, err := one.Client().Push(t.Context(), name, "v1", img)
		fail.On(t, err)
	}
	_, err = other.Client().Push(t.Context(), "team/app", "v2", img)
	fail.On(t, err)
	get := func(s *Server, path string) (int, string) {
		t.Helper()
		resp, err := http.Get(s.URL() + path)
		fail.On(t, err)
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		fail.On(t, err)
		if strings.Contains(string(text)+resp.Header.Get("Link"), "namespace") {
			t.Errorf("%s shows the namespace: %s %s", path, text, resp.Header.Get("Link"))
		}
		return resp.StatusCode, string(text)
	}
	for s, want := range map[*Server][]string{one: {"org/app", "org/tool"}, other: {"team/app"}} {
		var list struct{ Repositories []string }
		_, text := get(s, "/v2/_catalog?n=100")
		fail.On(t, json.Unmarshal([]byte(text), &list))
		fail.Diff(t, want, list.Repositories)
		stored, err := s.Repositories(".")
		if err != nil || len(stored) != len(want) || stored[0].Name != want[0] {
			t.Errorf("stored: %+v, %v", stored, err)
		}
	}
	if _, text := get(one, "/v2/org/app/tags/list"); !strings.Contains(text, `"org/app"`) {
		t.Errorf("tags: %s", text)
	}
	if status, text := get(other, "/v2/org/app/manifests/v1"); status != http.StatusNotFound {
		t.Errorf("a manifest of the other server: %d %s", status, text)
	}
	if got, err := one.Client().Pull(t.Context(), "org/app", "v1"); err != nil || got.Blobs == 0 {
		t.Errorf("pulling: %+v, %v", got, err)
	}
}
