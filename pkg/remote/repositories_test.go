package remote_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestRepositories checks that a list of repositories is used only if it is complete.
func TestRepositories(t *testing.T) {
	var status int
	var body, link, query string
	requests := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/_catalog" {
			return
		}
		requests++
		query = r.URL.RawQuery
		if link != "" {
			w.Header().Set("Link", link)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	})
	c := newClient(t, remote.Options{})
	for name, tc := range map[string]struct {
		status     int
		body, link string
		want       []string
		err        string
	}{
		"a list":           {200, `{"repositories":["a","b/c"]}`, "", []string{"a", "b/c"}, ""},
		"an empty list":    {200, `{"repositories":[]}`, "", []string{}, ""},
		"as many as asked": {200, `{"repositories":["a","b","c"]}`, "", nil, "more than the 3 repositories"},
		"another page":     {200, `{"repositories":["a"]}`, `</v2/_catalog?n=3&last=a>; rel="next"`, nil, "more than the 1 repositories"},
		"no list":          {200, `{}`, "", nil, "not a JSON list"},
		"a web page":       {200, `<html>`, "", nil, "not a JSON list"},
		"refused":          {403, `{}`, "", nil, "forbidden"},
		"overloaded":       {503, `{}`, "", nil, "service unavailable"},
	} {
		status, body, link, requests = tc.status, tc.body, tc.link, 0
		got, err := c.Repositories(t.Context(), repoAt(s, "org/app"), 3)
		if requests != 1 || query != "n=3" || !slices.Equal(got, tc.want) || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v after %d requests with %s", name, got, err, requests, query)
		}
		if tc.status == http.StatusForbidden && !errors.Is(err, remote.ErrDenied) {
			t.Errorf("%s: %v is not a refusal for one repository", name, err)
		}
	}
}
