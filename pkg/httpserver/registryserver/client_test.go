package registryserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/httpserver/registryserver"
)

// FuzzRequest sends arbitrary requests. It checks that each gets a response that clients
// understand, and that content is only read for pulls.
func FuzzRequest(f *testing.F) {
	sh := newMemorySource()
	img := sh.image(f, nil, "layer")
	r := registry(f, sh, quiet(), at("acme/app", img, "v1"))
	for _, path := range []string{"/v2/", "/v2/_catalog", "/v2/acme/app/tags/list", "/v2/acme/app/manifests/v1", "/v2/acme/app/blobs/" + img.Blobs[0].Digest.String(), "/v2/acme/app/referrers/" + img.Manifests[0].Digest.String(), "/v2/../x", ""} {
		f.Add("GET", path, "n=1&last=a&artifactType=b", "bytes=1-")
		f.Add("PUT", path, "", "")
	}
	f.Fuzz(func(t *testing.T, method, path, query, ranges string) {
		req := newRequest(t, method, path, query)
		req.Header.Set("Range", ranges)
		sh.reads()
		a := record(t, r, req)
		switch a.StatusCode {
		case http.StatusOK, http.StatusPartialContent:
			if method != http.MethodGet && method != http.MethodHead {
				t.Errorf("%s %s: %s", method, path, a.Status)
			}
		case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestedRangeNotSatisfiable:
			a.want(t, a.StatusCode, a.code(t))
			if reads := sh.reads(); a.StatusCode != http.StatusRequestedRangeNotSatisfiable && reads != nil {
				t.Errorf("%s %s read %v", method, path, reads)
			}
		default:
			t.Errorf("%s %s?%s: %s", method, path, query, a.Status)
		}
		if d := a.Header.Get("Docker-Content-Digest"); a.StatusCode == http.StatusOK && method == http.MethodGet && d != "" && digest.FromString(a.body).String() != d {
			t.Errorf("%s has other content than %s", path, d)
		}
	})
}

// FuzzParseUsers checks that only a user in the file with the correct password gets access, and
// that the error for an invalid file does not repeat its lines.
func FuzzParseUsers(f *testing.F) {
	good := hash(f, "secret", 4)
	f.Add("ann:" + good + "\n# bob\n")
	f.Add(":\n")
	f.Add("ann:$2y$31$" + strings.Repeat("x", 53))
	f.Fuzz(func(t *testing.T, file string) {
		users, err := registryserver.ParseUsers(strings.NewReader(file))
		if err != nil {
			for line := range strings.Lines(file) {
				if line = strings.TrimSpace(line); len(line) > 12 && strings.Contains(err.Error(), line) {
					t.Errorf("the error has the line %q: %v", line, err)
				}
			}
			return
		}
		if strings.Count(file, "$04$") == 0 || strings.Count(file, "\n") > 3 {
			return // it would take too long
		}
		req := newRequest(t, http.MethodGet, "/v2/", "")
		req.SetBasicAuth("nobody", "nothing")
		inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") })
		if a := record(t, users.Guard(quiet(), inside), req); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("an unknown user gets access with %q", file)
		}
	})
}
