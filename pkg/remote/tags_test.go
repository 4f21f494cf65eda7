package remote_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestTagsAfter checks that pages of tags from a point on are requested until the caller has enough.
func TestTagsAfter(t *testing.T) {
	var queries []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/tags/list") {
			return
		}
		queries = append(queries, r.URL.RawQuery)
		if len(queries) < 3 {
			w.Header().Set("Link", fmt.Sprintf(`<%s?n=1000&last=t%d>; rel="next"`, r.URL.Path, len(queries)))
		}
		_, _ = fmt.Fprintf(w, `{"tags":["t%d"]}`, len(queries))
	})
	c := newClient(t, remote.Options{})
	for limit, want := range map[int]string{1: "last=sha256-%26&n=1000", 2: "last=sha256-%26&n=1000 n=1000&last=t1", 9: "last=sha256-%26&n=1000 n=1000&last=t1 n=1000&last=t2"} {
		queries = nil
		var tags []string
		all, err := c.TagPages(t.Context(), repoAt(s, "org/a"), "sha256-&", func(page []string) bool {
			tags = append(tags, page...)
			return len(tags) < limit
		})
		if err != nil || all != (limit == 9) || len(tags) != min(limit, 3) || strings.Join(queries, " ") != want {
			t.Errorf("at most %d: %v, all %v, %v, with the queries %v", limit, tags, all, err, queries)
		}
	}
}

func TestTagPages(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
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
	c := newClient(t, remote.Options{})
	for limit, want := range map[int][]string{
		0: {"t0", "t1", "t2", "t3", "t4", "t5"},
		3: {"t0", "t1", "t2"},
		4: {"t0", "t1", "t2", "t3"},
	} {
		got, err := c.Tags(t.Context(), repoAt(s, "a"), limit)
		fail.On(t, err)
		fail.Diff(t, want, got)
	}
	for _, path := range []string{"loop", "short/loop"} {
		if _, err := c.Tags(t.Context(), repoAt(s, path), 0); err == nil || !strings.Contains(err.Error(), "does not end") {
			t.Errorf("%s: pages that lead to themselves: %v", path, err)
		}
	}
}

// A registry that invents a page after each page is not followed forever.
func TestInventedTagPages(t *testing.T) {
	requests := 0
	many := `{"tags":["a"` + strings.Repeat(`,"a"`, 500_000) + `]}`
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		requests++
		w.Header().Set("Link", fmt.Sprintf(`<%s?n=1000&last=%d>; rel="next"`, r.URL.Path, requests))
		if strings.Contains(r.URL.Path, "/many/") {
			_, _ = fmt.Fprint(w, many)
			return
		}
		_, _ = fmt.Fprintf(w, `{"tags":["t%d"]}`, requests)
	})
	c := newClient(t, remote.Options{})
	for path, want := range map[string]int{"many": 2, "few": 500} {
		requests = 0
		_, err := c.Tags(t.Context(), repoAt(s, path), 0)
		if err == nil || !strings.Contains(err.Error(), "does not end") || requests != want {
			t.Errorf("%s: %v after %d requests, want %d", path, err, requests, want)
		}
	}
}
