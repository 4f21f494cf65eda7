package prune

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestDeleteTagThatMoved deletes a tag only if it still names the manifest that a plan says.
func TestDeleteTagThatMoved(t *testing.T) {
	t.Parallel()
	if registrytest.Uses("distribution2") {
		t.Skip("it deletes no tag without its manifest")
	}
	s := registrytest.Start(t, registrytest.Options{})
	client, err := remote.New(remote.Options{Side: remote.Destination})
	fail.On(t, err)
	at := s.Client()
	push := func(name, tag string) {
		t.Helper()
		img, err := registrytest.Image(name)
		if err == nil {
			_, err = at.Push(t.Context(), "pre/x", tag, img)
		}
		fail.On(t, err)
	}
	registry := &Registry{Client: client, Host: s.Host}
	push("one", "v1")
	one, err := registry.Resolve(t.Context(), "pre/x", "v1")
	if err != nil || one == "" {
		t.Fatal(one, err)
	}
	push("one", "v2")
	push("two", "v1") // another client replaces it
	for tag, want := range map[string]bool{"v1": false, "v2": true, "v3": false} {
		deleted, err := registry.DeleteTag(t.Context(), "pre/x", tag, one)
		if err != nil || deleted != want {
			t.Errorf("%s: deleted %t, %v", tag, deleted, err)
		}
	}
	if tags, err := registry.Tags(t.Context(), "pre/x"); err != nil || len(tags) != 1 || tags[0] != "v1" {
		t.Errorf("%v, %v", tags, err)
	}
	if d, err := registry.Resolve(t.Context(), "pre/x", one.String()); err != nil || d != one {
		t.Errorf("the image is gone: %v", err)
	}
}
