package remote_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestMustCreate checks that a push which needs an organization, a project or a repository says what
// to create, and is no refusal of the credentials as a whole.
func TestMustCreate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status        int
		code, message string
		want          string
		is            error
	}{
		{http.StatusUnauthorized, "UNSUPPORTED", "The operation is unsupported.", "create the organization org at", remote.ErrDenied},
		{http.StatusNotFound, "NAME_UNKNOWN", "The repository with name 'org/a' does not exist", "create the repository org/a at", remote.ErrNotFound},
		{http.StatusNotFound, "NOT_FOUND", "project org not found", "create the project org at", remote.ErrNotFound},
		{http.StatusUnauthorized, "UNAUTHORIZED", "project org not found", "create the project org at", remote.ErrDenied},
		{http.StatusUnauthorized, "UNAUTHORIZED", "authentication required", "gantry registry login", remote.ErrUnauthorized},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				return
			}
			w.WriteHeader(tc.status)
			fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, tc.code, tc.message)
		})
		c := newClient(t, remote.Options{Side: remote.Destination, PlainHTTP: true})
		ref := reference.Reference{Host: strings.TrimPrefix(s.URL, "http://"), Path: "org/a", Tag: "v1"}
		err := c.PushManifest(t.Context(), ref, "application/vnd.oci.image.manifest.v1+json", []byte("{}"))
		if !errors.Is(err, tc.is) || !strings.Contains(advice.Text(err), tc.want) {
			t.Errorf("%d %s: %s", tc.status, tc.code, advice.Text(err))
		}
		if denied := errors.Is(err, remote.ErrDenied); denied != errors.Is(tc.is, remote.ErrDenied) {
			t.Errorf("%d %s: denied %t", tc.status, tc.code, denied)
		}
	}
}

// TestMustCreateKeepsCredential checks that Quay's 401 for an organization that does not exist, as the
// first response to a credential, is no refusal of the credential: pushes to others go on.
func TestMustCreateKeepsCredential(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"Basic", "Bearer"} {
		unsupported := func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"errors":[{"code":"UNSUPPORTED","message":"The operation is unsupported."}]}`)
		}
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			missing := strings.Contains(r.URL.String(), "missing")
			switch {
			case r.URL.Path == "/token" && missing:
				unsupported(w)
			case r.URL.Path == "/token":
				fmt.Fprint(w, `{"token":"t"}`)
			case r.Header.Get("Authorization") == "":
				w.Header().Set("WWW-Authenticate", fmt.Sprintf("%s realm=%q", scheme, "http://"+r.Host+"/token"))
				w.WriteHeader(http.StatusUnauthorized)
			case missing:
				unsupported(w)
			default:
				w.WriteHeader(http.StatusCreated)
			}
		})
		c := newClient(t, remote.Options{Side: remote.Destination, PlainHTTP: true, Keychain: keys{Username: "me", Password: "pw"}})
		push := func(path string) error {
			ref := reference.Reference{Host: strings.TrimPrefix(s.URL, "http://"), Path: path, Tag: "v1"}
			return c.PushManifest(t.Context(), ref, "application/vnd.oci.image.manifest.v1+json", []byte("{}"))
		}
		for range 2 {
			if err := push("missing/a"); !errors.Is(err, remote.ErrDenied) || !strings.Contains(advice.Text(err), "create the organization missing at") {
				t.Errorf("%s: %s", scheme, advice.Text(err))
			}
		}
		if err := push("org/a"); err != nil {
			t.Errorf("%s: after the refusal of an organization: %v", scheme, err)
		}
	}
}
