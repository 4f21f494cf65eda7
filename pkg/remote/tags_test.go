package remote_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

func TestTagPages(t *testing.T) {
	s := startRegistry(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/loop/") {
				next := map[string]string{"": "b", "b": "c", "c": "b"}[r.URL.Query().Get("last")]
				if strings.Contains(r.URL.Path, "/short/") {
					next = ""
				}
				w.Header().Set("Link", "<"+r.URL.Path+"?n=1000&last="+next+`>; rel="next"`)
				_, _ = fmt.Fprint(w, `{"tags":["a"]}`)
				return
			}
			last, _ := strconv.Atoi(r.URL.Query().Get("last"))
			if last < 4 {
				w.Header().Set("Link", fmt.Sprintf(`</v2/a/tags/list?n=2&last=%d>; rel="next"`, last+2))
			}
			_, _ = fmt.Fprintf(w, `{"name":"a","tags":["t%d","t%d"]}`, last, last+1)
		})
	})
	c := newClient(t, remote.Options{})
	for limit, want := range map[int][]string{
		0: {"t0", "t1", "t2", "t3", "t4", "t5"},
		3: {"t0", "t1", "t2"},
		4: {"t0", "t1", "t2", "t3"},
	} {
		got, err := c.Tags(t.Context(), repoAt(s, "a"), limit)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("limit %d: %v %s", limit, err, diff)
		}
	}
	for _, path := range []string{"loop", "short/loop"} {
		if _, err := c.Tags(t.Context(), repoAt(s, path), 0); err == nil || !strings.Contains(err.Error(), "lead nowhere") {
			t.Errorf("%s: pages that lead to themselves: %v", path, err)
		}
	}
}
