package mirroring

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// TestNearestTags checks that the error of a catalog whose tag does not exist names the nearest tags,
// with one list of tags, and that other errors request none.
func TestNearestTags(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		status       int // of the manifest
		tags         string
		hint         string
		lists        int64
		unauthorized bool
	}{
		{name: "tag", status: 404, tags: `{"tags":["v4.20","v4.18","v4.19","latest"]}`, hint: "tag v4.99 does not exist; the nearest are v4.19, v4.20", lists: 1},
		{name: "one", status: 404, tags: `{"tags":["v4.20"]}`, hint: "tag v4.99 does not exist; the nearest is v4.20", lists: 1},
		{name: "others", status: 404, tags: `{"tags":["nightly"]}`, hint: "tag v4.99 does not exist; check the tag", lists: 1},
		{name: "repository", status: 404, hint: "the repository does not exist; check its name", lists: 1},
		{name: "denied", status: 403, unauthorized: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var lists atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/v2/":
				case strings.HasSuffix(r.URL.Path, "/tags/list"):
					lists.Add(1)
					if tc.tags == "" {
						w.WriteHeader(http.StatusNotFound)
					}
					fmt.Fprint(w, tc.tags)
				default:
					w.WriteHeader(tc.status)
				}
			}))
			t.Cleanup(server.Close)
			e := &env.Env{Registries: env.Registries{Source: env.Side{PlainHTTP: true}}, Home: t.TempDir(), Getenv: func(string) string { return "" }}
			t.Cleanup(e.Close)
			sources, err := workspace.OpenSources(e, t.TempDir())
			fail.On(t, err)
			t.Cleanup(func() { _ = sources.Close() })
			_, err = sources.Open(t.Context(), strings.TrimPrefix(server.URL, "http://")+"/org/index:v4.99")
			if tc.unauthorized {
				if advice.KindOf(err) != advice.Unauthorized || strings.Contains(advice.Text(err), "tag v4.99") {
					t.Errorf("%s", advice.Text(err))
				}
			} else if !errors.Is(err, fs.ErrNotExist) || advice.Hint(err) != tc.hint {
				t.Errorf("%v; %q, want %q", err, advice.Hint(err), tc.hint)
			}
			fail.Diff(t, tc.lists, lists.Load())
		})
	}
}
