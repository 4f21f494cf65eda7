package remote

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzNextPage checks that a Link leads to the same registry, with the same protection.
func FuzzNextPage(f *testing.F) {
	f.Add(`</v2/a/tags/list?last=b>; rel="next"`)
	f.Add(`<http://other.example/v2/>; rel="next"`)
	f.Add(`<//user:pw@a.example/x>;rel=next, <`)
	u, err := url.Parse("https://a.example/v2/a/tags/list")
	fail.On(f, err)
	h := &host{addr: "a.example", name: "a.example"}
	f.Fuzz(func(t *testing.T, link string) {
		resp := &http.Response{Header: http.Header{"Link": {link}}, Request: &http.Request{URL: u}}
		next, err := nextPage(h, &request{op: "listing"}, resp)
		if err != nil || next == "" {
			return
		}
		if !strings.HasPrefix(next, "https://a.example/") && !strings.HasPrefix(next, "https://a.example?") && next != "https://a.example" && !strings.HasPrefix(next, "https://a.example:443") {
			t.Errorf("%q leads to %q", link, next)
		}
	})
}

// FuzzToken checks that an accepted token can be sent in a header, and expires.
func FuzzToken(f *testing.F) {
	f.Add([]byte(`{"token":"abc","expires_in":300}`))
	f.Add([]byte(`{"access_token":"a\nb","expires_in":-1e300}`))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := parseToken(body, now)
		if err != nil {
			if text := err.Error(); json.Valid(body) && len(body) > 40 && strings.Contains(text, string(body)) {
				t.Errorf("the error shows the response: %v", err)
			}
			return
		}
		if got.value == "" || strings.ContainsAny(got.value, "\r\n \x00") || got.expires.Before(now) || got.expires.After(now.Add(25*time.Hour)) {
			t.Errorf("%q until %v", got.value, got.expires)
		}
	})
}
