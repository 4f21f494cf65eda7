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
				w.Header().Set("Link", "<"+r.URL.RequestURI()+`>; rel="next"`)
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
	if _, err := c.Tags(t.Context(), repoAt(s, "loop"), 0); err == nil {
		t.Error("pages that lead to themselves: no error")
	}
}
