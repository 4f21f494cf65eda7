package remote_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// pushed pushes an image with tags and returns its digest.
func pushed(t *testing.T, s *registrytest.Server, name string, tags ...string) digest.Digest {
	t.Helper()
	img, err := registrytest.Image(name)
	fail.On(t, err)
	var d digest.Digest
	for _, tag := range tags {
		d, err = registrytest.NewClient(s.Host).Push(t.Context(), "org/name", tag, img)
		fail.On(t, err)
	}
	return d
}

// TestDeleteAtRealRegistry deletes a tag, and a manifest with its tags, at a real registry.
func TestDeleteAtRealRegistry(t *testing.T) {
	t.Parallel()
	if registrytest.Uses("distribution2") || registrytest.Uses("ociregistry") {
		t.Skip("the first deletes no tag without its manifest, and the second no tags with it")
	}
	s := registrytest.Start(t, registrytest.Options{})
	c := newClient(t, remote.Options{Side: remote.Destination, PlainHTTP: true})
	at := hostRef(s)
	d := pushed(t, s, "a", "one", "two", "three")
	other := pushed(t, s, "b", "other")
	if deleted, err := c.DeleteTag(t.Context(), at.WithTag("one")); !deleted || err != nil {
		t.Fatalf("deleting a tag: %v, %v", deleted, err)
	}
	if _, ok, err := c.ManifestExists(t.Context(), at.WithTag("two")); !ok || err != nil {
		t.Errorf("the other tag is there: %v, %v", ok, err)
	}
	for _, want := range []bool{true, false} {
		if deleted, err := c.DeleteManifest(t.Context(), at.WithDigest(d)); deleted != want || err != nil {
			t.Errorf("deleting the manifest: %v, %v", deleted, err)
		}
	}
	tags, err := c.Tags(t.Context(), at, 0)
	if err != nil || len(tags) != 1 || tags[0] != "other" {
		t.Errorf("the tags are %v, %v", tags, err)
	}
	if _, ok, err := c.ManifestExists(t.Context(), at.WithDigest(other)); !ok || err != nil {
		t.Errorf("the other image is there: %v, %v", ok, err)
	}
	d2, err := c.ProbeDeletion(t.Context(), at)
	if d2 != (remote.Deletion{Tags: true}) || err != nil {
		t.Errorf("the probe: %+v, %v", d2, err)
	}
	if tags, err = c.Tags(t.Context(), at, 0); err != nil || len(tags) != 1 {
		t.Errorf("the probe left the tags %v, %v", tags, err)
	}
}

// TestDeleteRefused checks the error of a registry that deletes nothing, and that it is not asked twice.
func TestDeleteRefused(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]string{http.StatusBadRequest: "UNSUPPORTED", http.StatusMethodNotAllowed: "", http.StatusNotAcceptable: "", http.StatusNotFound: ""} {
		s := registrytest.New(t, registrytest.Options{Rules: []registrytest.Rule{
			{Method: http.MethodDelete, Action: registrytest.Refuse(status, code)},
		}})
		c := newClient(t, remote.Options{Side: remote.Destination})
		_, err := c.ProbeDeletion(t.Context(), hostRef(s))
		if hinted := strings.Contains(advice.Hint(err), "REGISTRY_STORAGE_DELETE_ENABLED"); !errors.Is(err, remote.ErrNoDelete) || hinted == (status == http.StatusNotFound) {
			t.Errorf("the error is %v; hint %q", err, advice.Hint(err))
		}
		if n := s.Requests()["DELETE manifest"]; n != 2 { // a tag, and the manifest
			t.Errorf("%d requests: %v", n, s.Requests())
		}
	}
}

// TestDeleteRetries checks that a deletion is retried, and that one whose response was lost counts.
func TestDeleteRetries(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]registrytest.Action{
		"busy": registrytest.Status(http.StatusServiceUnavailable), "lost": registrytest.LoseResponse(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := registrytest.New(t, registrytest.Options{Rules: []registrytest.Rule{{Method: http.MethodDelete, Nth: 1, Action: action}}})
			d := pushed(t, s, "a", "one")
			c := newClient(t, remote.Options{Side: remote.Destination, Retry: remote.Retry{Delay: 1}})
			if deleted, err := c.DeleteManifest(t.Context(), hostRef(s).WithDigest(d)); !deleted || err != nil {
				t.Errorf("%v, %v", deleted, err)
			}
		})
	}
}

// TestProbeDeletesOnlyTags checks that a registry that deletes the manifest with any of its tags is
// recognized, and one that accepts deletions without effect.
func TestProbeDeletesOnlyTags(t *testing.T) {
	t.Parallel()
	s := registrytest.New(t, registrytest.Options{Rules: []registrytest.Rule{
		{Method: http.MethodDelete, Path: `\.probe$`, Action: registrytest.Refuse(http.StatusBadRequest, "DIGEST_INVALID")},
	}})
	c := newClient(t, remote.Options{Side: remote.Destination})
	if d, err := c.ProbeDeletion(t.Context(), hostRef(s)); d != (remote.Deletion{}) || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
	s.Script(registrytest.Rule{Method: http.MethodDelete, Action: registrytest.Status(http.StatusAccepted)})
	if _, err := c.ProbeDeletion(t.Context(), hostRef(s)); !errors.Is(err, remote.ErrNoDelete) {
		t.Errorf("deletions without effect: %v", err)
	}
}

// TestUnlistReferrers removes entries of a list of referrers, and deletes the list with the last.
func TestUnlistReferrers(t *testing.T) {
	t.Parallel()
	s := withoutReferrers(t, nil)
	c := newClient(t, remote.Options{Side: remote.Destination})
	subject := digest.FromString("subject")
	var all []digest.Digest
	for _, text := range []string{"first", "second"} {
		d, err := pushReferrer(t, c, s, subject, text)
		fail.On(t, err)
		all = append(all, d)
	}
	at := hostRef(s).WithDigest(subject)
	fail.On(t, c.UnlistReferrers(t.Context(), at, all[:1]))
	if list := taggedList(t, c, s, subject); len(list) != 1 || list[0].Digest != all[1] {
		t.Errorf("the list is %+v", list)
	}
	for range 2 {
		fail.On(t, c.UnlistReferrers(t.Context(), at, all))
	}
	if _, ok, err := c.ManifestExists(t.Context(), hostRef(s).WithTag(remote.ReferrersTag(subject))); ok || err != nil {
		t.Errorf("the empty list is there: %v, %v", ok, err)
	}
}
