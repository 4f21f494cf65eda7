package registrytest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestBlobsBelongToRepositories checks that a registry in memory and a real one respond alike where
// tests of copying depend on it.
func TestBlobsBelongToRepositories(t *testing.T) {
	t.Parallel()
	img, err := BundleImage("thing", "1.0.0")
	fail.On(t, err)
	config, err := img.ConfigName()
	fail.On(t, err)
	for _, tc := range servers[:3] {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := tc.start(t, tc.o).Client()
			_, err := c.Push(t.Context(), "org/app", "v1", img)
			fail.On(t, err)
			if err := c.putManifest(t.Context(), "org/other", "v1", img); err == nil || !strings.Contains(err.Error(), "MANIFEST_BLOB_UNKNOWN") {
				t.Errorf("a manifest without its blobs: %v", err)
			}
			blob := config.String()
			for _, step := range []struct {
				method, repository, path string
				want                     int
			}{
				{http.MethodHead, "org/app", "blobs/" + blob, http.StatusOK},
				{http.MethodHead, "org/other", "blobs/" + blob, http.StatusNotFound},
				{http.MethodPost, "org/other", "blobs/uploads/?mount=" + blob + "&from=org/none", http.StatusAccepted},
				{http.MethodPost, "org/other", "blobs/uploads/?mount=" + blob + "&from=org/app", http.StatusCreated},
				{http.MethodGet, "org/other", "blobs/" + blob, http.StatusOK},
				{http.MethodDelete, "org/app", "blobs/" + blob, http.StatusAccepted},
				{http.MethodHead, "org/app", "blobs/" + blob, http.StatusNotFound},
				{http.MethodHead, "org/other", "blobs/" + blob, http.StatusOK},
			} {
				resp, err := c.send(t.Context(), request{method: step.method, repository: step.repository, path: step.path})
				fail.On(t, err)
				_ = resp.Body.Close()
				if resp.StatusCode != step.want {
					t.Errorf("%s %s of %s: %s, want %d", step.method, step.path, step.repository, resp.Status, step.want)
				}
			}
		})
	}
}
