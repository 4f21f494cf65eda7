package remote_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestTagsAfter checks that tags from a point on take one request, and that it is known whether there
// are more.
func TestTagsAfter(t *testing.T) {
	var queries []string
	s := startRegistry(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/tags/list") {
				return
			}
			queries = append(queries, r.URL.RawQuery)
			if strings.Contains(r.URL.Path, "/many/") {
				w.Header().Set("Link", "<"+r.URL.Path+`?n=1000&last=t1>; rel="next"`)
			}
			_, _ = fmt.Fprint(w, `{"tags":["t1"]}`)
		})
	})
	c := newClient(t, remote.Options{})
	for path, want := range map[string]bool{"few/a": true, "many/a": false} {
		queries = nil
		tags, all, err := c.TagsAfter(t.Context(), repoAt(s, path), "sha256-&")
		if err != nil || all != want || !slices.Equal(tags, []string{"t1"}) || !slices.Equal(queries, []string{"last=sha256-%26&n=1000"}) {
			t.Errorf("%s: %v, all %v, %v, with the queries %v", path, tags, all, err, queries)
		}
	}
}

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
		if _, err := c.Tags(t.Context(), repoAt(s, path), 0); err == nil || !strings.Contains(err.Error(), "does not end") {
			t.Errorf("%s: pages that lead to themselves: %v", path, err)
		}
	}
}

// A registry that invents a page after each page is not followed forever.
func TestInventedTagPages(t *testing.T) {
	requests := 0
	many := `{"tags":["a"` + strings.Repeat(`,"a"`, 500_000) + `]}`
	s := startRegistry(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
