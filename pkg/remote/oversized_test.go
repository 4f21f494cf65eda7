package remote_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestOversizedLists checks that a registry cannot fill the memory with what it lists, though each response is within its
// limit.
func TestOversizedLists(t *testing.T) {
	const large = 8_000_000
	descriptor := `{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":1,"digest":"%s","annotations":{"a":"` + strings.Repeat("a", large) + `"}}`
	requests := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		requests++
		switch {
		case r.URL.Path == "/token":
			_, _ = w.Write([]byte(`{"token":"` + strings.Repeat("a", 2<<20) + `"}`))
			return
		case strings.Contains(r.URL.Path, "/guarded/"):
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		case strings.Contains(r.URL.Path, "/denied/"):
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"errors":[{"code":"DENIED","message":"` + strings.Repeat("a", 40_000) + `"}]}`))
			return
		}
		w.Header().Set("Link", fmt.Sprintf(`<%s?page=%d>; rel="next"`, r.URL.Path, requests))
		switch {
		case strings.Contains(r.URL.Path, "/referrers/"):
			_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"manifests":[`+descriptor+`]}`, digest.FromString(r.URL.RawQuery))
		case strings.Contains(r.URL.Path, "/manifests/"):
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			_, _ = w.Write([]byte(`{"schemaVersion":2,"layers":[{}` + strings.Repeat(`,{}`, large/3) + `]}`))
		default:
			_, _ = fmt.Fprintf(w, `{"tags":["%d`+strings.Repeat("a", 2*large)+`"]}`, requests)
		}
	})
	c := newClient(t, remote.Options{})
	repo := repoAt(s, "a")
	for name, tc := range map[string]struct {
		read func() error
		want string
		most int // requests
	}{
		"tags":      {func() error { _, err := c.Tags(t.Context(), repo, 0); return err }, "does not end after", 18},
		"referrers": {func() error { _, err := c.Referrers(t.Context(), repo.WithDigest(digest.FromString("x"))); return err }, "more than 32 MiB", 5},
		"a token": {func() error {
			_, err := newClient(t, remote.Options{}).Tags(t.Context(), repoAt(s, "guarded/a"), 0)
			return err
		}, "larger than its limit", 2},
		"an error":   {func() error { _, err := c.Tags(t.Context(), repoAt(s, "denied/a"), 0); return err }, "aaa…", 1},
		"a manifest": {func() error { _, _, err := c.Manifest(t.Context(), repo.WithTag("v1")); return err }, "is not a manifest", 1},
		"a list of referrers": {func() error {
			_, err := remote.ParseReferrers([]byte(`{"manifests":[{}` + strings.Repeat(`,{}`, manifest.MaxSize/3) + `]}`))
			return err
		}, "is not a manifest", 0},
	} {
		requests = 0
		if err := tc.read(); err == nil || !strings.Contains(err.Error(), tc.want) || requests > tc.most || len(err.Error()) > 1000 {
			t.Errorf("%s: %d requests, %.200v; want %q", name, requests, err, tc.want)
		}
	}
}
