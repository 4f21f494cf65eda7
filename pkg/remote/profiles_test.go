package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/registrytest/profiletest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestProfiles uploads a blob in parts to each profile, also if one of them breaks, reads all tags of a repository, and
// leaves nothing behind when it probes.
func TestProfiles(t *testing.T) {
	t.Parallel()
	blob := noise(11 * mib)
	for _, p := range profiletest.Profiles() {
		for name, rules := range map[string][]registrytest.Rule{
			"whole":              nil,
			"the second breaks":  {{Method: http.MethodPatch, Path: "/blobs/uploads/", Nth: 2, Action: registrytest.CutUpload(mib)}},
			"the last breaks":    {{Method: http.MethodPut, Path: "/blobs/uploads/", Nth: 1, Action: registrytest.CutUpload(mib / 2)}},
			"a response is lost": {{Method: http.MethodPatch, Path: "/blobs/uploads/", Nth: 1, Action: registrytest.LoseResponse()}},
		} {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				model := profiletest.New(p)
				model.Create("org")
				s := registrytest.Serve(t, registrytest.Options{Rules: rules}, model)
				c := newClient(t, remote.Options{Side: remote.Destination, PlainHTTP: true, Retry: remote.Retry{Times: 5, Delay: 1}})
				repo := reference.Reference{Host: s.Host, Path: "org/name"}
				fail.On(t, c.PushInChunks(t.Context(), repo, describe(blob), func(_ context.Context, offset int64) (io.ReadCloser, error) {
					return io.NopCloser(bytes.NewReader(blob[offset:])), nil
				}, 5*mib))
				if there, err := c.BlobExists(t.Context(), repo, describe(blob)); !there || err != nil {
					t.Errorf("the blob is there: %t, %v", there, err)
				}
				for i := range 5 {
					pushed(t, s, "a", fmt.Sprint("t", i))
				}
				if tags, err := c.Tags(t.Context(), repo, 0); err != nil || len(tags) != 5 {
					t.Errorf("the tags are %q, %v", tags, err)
				}
				if tags, err := c.Tags(t.Context(), repo, 2); err != nil || len(tags) != 2 {
					t.Errorf("the first tags are %q, %v", tags, err)
				}
				d, err := c.ProbeDeletion(t.Context(), repo)
				if d.KeepsTags != strings.HasPrefix(p.Name, "Nexus") {
					t.Errorf("it keeps tags: %t", d.KeepsTags)
				}
				tags, listErr := c.Tags(t.Context(), repo, 0)
				if deletes := !errors.Is(err, remote.ErrNoDelete) && !remote.MayRefuseType(err); deletes && (err != nil || len(tags) != 5) || listErr != nil {
					t.Errorf("the probe: %v; it leaves %q, %v", err, tags, listErr)
				}
			})
		}
	}
}

// TestRefusalsOfProfiles checks what refusals mean whose status says something else.
func TestRefusalsOfProfiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		status         int
		code, message  string
		detail         string
		read, write    error // nil: none of the kinds
		means, notThat string
	}{
		{name: "Harbor's project", status: 401, code: "UNAUTHORIZED", message: "project org not found", read: remote.ErrNotFound, write: remote.ErrDenied, means: "create the project org"},
		{name: "Harbor's names", status: 400, code: "BAD_REQUEST", message: "invalid repository name: org", read: remote.ErrNotFound},
		{name: "a quota", status: 403, code: "DENIED", message: "Quota has been exceeded on namespace", read: remote.ErrUnauthorized, means: "raise the quota", notThat: "login"},
		{name: "Artifactory's tags", status: 403, code: "MANIFEST_INVALID", message: "manifest invalid", read: remote.ErrUnauthorized, means: "overwrite tags", notThat: "login"},
		{name: "Quay's blobs", status: 400, code: "MANIFEST_INVALID", message: "manifest invalid", detail: "Unknown blob `x`", write: remote.ErrBlobUnknown, notThat: "DestFormat"},
		{name: "distribution's layers", status: 500, code: "UNKNOWN", message: "unknown error", detail: "invalid URL on layer", means: "manifests.urls.allow", notThat: "attempts"},
		{name: "ociregistry's blobs", status: 500, code: "UNKNOWN", message: "invalid manifest: blob for layers[0] not found", read: remote.ErrFailing, write: remote.ErrBlobUnknown},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				return
			}
			w.WriteHeader(tc.status)
			_, _ = fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q,"detail":{"message":%q}}]}`, tc.code, tc.message, tc.detail)
		})
		c := newClient(t, remote.Options{Side: remote.Destination, PlainHTTP: true, Clock: newClock()})
		_, err := c.Tags(t.Context(), repoAt(s, "org/a"), 0)
		if tc.read != nil && !errors.Is(err, tc.read) {
			t.Errorf("%s: reading: %v", tc.name, err)
		}
		err = c.PushManifest(t.Context(), repoAt(s, "org/a").WithTag("v1"), "application/vnd.oci.image.manifest.v1+json", []byte("{}"))
		hint := advice.Text(err)
		if tc.write != nil && !errors.Is(err, tc.write) || tc.write == nil && errors.Is(err, remote.ErrUnauthorized) || !strings.Contains(hint, tc.means) || tc.notThat != "" && strings.Contains(hint, tc.notThat) {
			t.Errorf("%s: %s", tc.name, hint)
		}
	}
}

// TestCredentialsOfProfiles tries credentials with each profile: a wrong password differs from a missing permission, and a
// token that expired is renewed, whatever the registry answers.
func TestCredentialsOfProfiles(t *testing.T) {
	t.Parallel()
	for _, p := range profiletest.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			model := profiletest.New(p)
			model.Create("org")
			user := model.Protect()
			s := registrytest.Serve(t, registrytest.Options{}, model)
			repo := reference.Reference{Host: s.Host, Path: "org/name"}
			client := func(password string) *remote.Client {
				return newClient(t, remote.Options{Side: remote.Destination, PlainHTTP: true, Keychain: keys{Username: user, Password: password, Source: "/auth.json"}})
			}
			wrong := client("wrong")
			_, loginErr := wrong.Login(t.Context(), s.Host, "")
			for _, err := range []error{loginErr, wrong.CheckAccess(t.Context(), repo, true)} {
				if !errors.Is(err, remote.ErrUnauthorized) || errors.Is(err, remote.ErrDenied) {
					t.Errorf("a wrong password: %v", err)
				}
			}
			for _, password := range []string{"wrong", profiletest.ReadPassword} {
				s.ResetLog()
				c := client(password)
				for range 5 {
					if err := c.PushManifest(t.Context(), repo.WithTag("v1"), "application/vnd.oci.image.manifest.v1+json", []byte("{}")); err == nil {
						t.Error("a push is permitted")
					}
				}
				sent := 0
				for _, r := range s.Log() {
					if !strings.HasPrefix(r.Path, "/v2/org/") && r.Path != "/v2/" {
						sent++
					}
				}
				if most := 2; sent > most && p.Name != "GHCR" { // which does not say that a password is wrong
					t.Errorf("%d requests for tokens with the password %s, want at most %d", sent, password, most)
				}
			}
			blob := noise(5000)
			open := func(context.Context, int64) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(blob)), nil }
			if _, err := client(profiletest.ReadPassword).PushBlob(t.Context(), repo, describe(blob), nil, open); !errors.Is(err, remote.ErrDenied) {
				t.Errorf("a missing permission: %v", err)
			}
			c := client(profiletest.Password)
			_, err := c.PushBlob(t.Context(), repo, describe(blob), nil, open)
			fail.On(t, err)
			if strings.HasPrefix(p.Name, "ECR") {
				return // it has no tokens
			}
			model.Expire(1)
			for range 3 {
				if there, err := c.BlobExists(t.Context(), repo, describe(blob)); err != nil || !there {
					t.Errorf("after tokens expired, the blob is there: %t, %v", there, err)
				}
			}
			_, err = c.DeleteTag(t.Context(), repo.WithTag("none"))
			if err != nil && !errors.Is(err, remote.ErrNoDelete) {
				t.Errorf("deleting: %v", err)
			}
			if _, err := c.AllRepositories(t.Context(), s.Host); err != nil && p.Name != "Harbor" {
				t.Errorf("listing repositories: %v", err)
			}
		})
	}
}
