package mirror_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// source returns a registry with one image, and an Origin that reads it.
func source(t *testing.T) (*registrytest.Server, *mirror.Origin, string, string) {
	t.Helper()
	server := registrytest.New(t, registrytest.Options{})
	img, err := registrytest.Image("org/name")
	fail.On(t, err)
	_, err = server.Client().Push(t.Context(), "org/name", "v1", img)
	fail.On(t, err)
	client, err := remote.New(remote.Options{})
	fail.On(t, err)
	t.Cleanup(client.Close)
	dir := t.TempDir()
	cache, err := layout.Create(dir, layout.Options{NoSync: true})
	fail.On(t, err)
	server.ResetLog()
	return server, mirror.NewOrigin(client, cache), server.Host + "/org/name:v1", dir
}

// TestOriginKeepsManifestsInMemory removes the manifest from the cache after it was read, by its tag or from the cache.
func TestOriginKeepsManifestsInMemory(t *testing.T) {
	server, o, ref, dir := source(t)
	desc, raw, err := o.Manifest(t.Context(), ref, "")
	fail.On(t, err)
	client, err := remote.New(remote.Options{})
	fail.On(t, err)
	t.Cleanup(client.Close)
	cache, err := layout.Open(dir)
	fail.On(t, err)
	later := mirror.NewOrigin(client, cache)
	_, _, err = later.Manifest(t.Context(), ref, desc.Digest)
	fail.On(t, err)
	server.ResetLog()
	fail.On(t, cache.Remove(desc))
	for _, o := range []*mirror.Origin{o, later} {
		again, kept, err := o.Manifest(t.Context(), ref, desc.Digest)
		if err != nil || string(kept) != string(raw) || again.MediaType != desc.MediaType || again.Size != desc.Size {
			t.Errorf("got %+v, %v; want %+v", again, err, desc)
		}
	}
	fail.Diff(t, 0, server.Requests()["GET manifest"])
	third := mirror.NewOrigin(client, cache)
	if _, _, err := third.Manifest(t.Context(), ref, desc.Digest); err != nil || server.Requests()["GET manifest"] != 1 {
		t.Errorf("another process: %v, %v", err, server.Requests())
	}
	// By tag, it is requested again: tags move.
	if _, _, err := o.Manifest(t.Context(), ref, ""); err != nil || server.Requests()["GET manifest"] != 2 {
		t.Errorf("by tag: %v, %v", err, server.Requests())
	}
}

func TestOriginKeepsWhatPlanningReads(t *testing.T) {
	server, o, ref, _ := source(t)
	blob := layer(t, o, ref)
	for _, read := range []func() (io.ReadCloser, error){
		func() (io.ReadCloser, error) { return o.Planning().Blob(t.Context(), ref, blob, 0) },
		func() (io.ReadCloser, error) { return o.Planning().Blob(t.Context(), ref, blob, 0) },
		func() (io.ReadCloser, error) { return o.Blob(t.Context(), ref, blob, 0) },
	} {
		body, err := read()
		fail.On(t, err)
		n, err := io.Copy(io.Discard, body)
		if err := errors.Join(err, body.Close()); err != nil || n != blob.Size {
			t.Errorf("%d bytes, %v; want %d", n, err, blob.Size)
		}
	}
	fail.Diff(t, 1, server.Requests()["GET blob"])
}

func TestOriginRepairsItsCache(t *testing.T) {
	server, o, ref, dir := source(t)
	blob := layer(t, o, ref)
	body, err := o.Planning().Blob(t.Context(), ref, blob, 0)
	fail.On(t, err)
	fail.On(t, body.Close())
	damage := func() {
		path := filepath.Join(dir, "blobs", "sha256", blob.Digest.Encoded())
		text, err := os.ReadFile(path)
		fail.On(t, err)
		text[len(text)/2] ^= 1
		fail.On(t, os.Chmod(path, 0o600))
		fail.On(t, os.WriteFile(path, text, 0o600))
	}
	// Another process reads the source instead, also from the middle of a blob.
	for _, planning := range []bool{true, false} {
		for _, offset := range []int64{0, blob.Size - 1} {
			damage()
			client, err := remote.New(remote.Options{})
			fail.On(t, err)
			t.Cleanup(client.Close)
			cache, err := layout.Open(dir)
			fail.On(t, err)
			later := mirror.NewOrigin(client, cache)
			server.ResetLog()
			read := later.Blob
			if planning {
				read = later.Planning().Blob
			}
			body, err := read(t.Context(), ref, blob, offset)
			fail.On(t, err)
			n, err := io.Copy(io.Discard, body)
			if err := errors.Join(err, body.Close()); err != nil || n != blob.Size-offset || server.Requests()["GET blob"] != 1 {
				t.Errorf("planning %t, from byte %d: %d bytes, %v, %v", planning, offset, n, err, server.Requests())
			}
			fail.Diff(t, planning, cache.Has(blob))
			if !planning { // back into the cache
				body, err := later.Planning().Blob(t.Context(), ref, blob, 0)
				fail.On(t, errors.Join(err, body.Close()))
			}
		}
	}
	// This process has written it and notices the damage at the end.
	damage()
	body, err = o.Blob(t.Context(), ref, blob, 0)
	fail.On(t, err)
	_, err = io.Copy(io.Discard, body)
	if errors.Join(err, body.Close()) == nil {
		t.Fatal("damage in the cache was not found")
	}
	body, err = o.Blob(t.Context(), ref, blob, 0)
	fail.On(t, err)
	n, err := io.Copy(io.Discard, body)
	if err := errors.Join(err, body.Close()); err != nil || n != blob.Size {
		t.Errorf("the second attempt: %d bytes, %v", n, err)
	}
}

func TestOriginWithoutCache(t *testing.T) {
	_, o, _, _ := source(t)
	absent := describe("application/octet-stream", []byte("no source has this"))
	for _, from := range []string{"dir:///folder", "oci://" + t.TempDir() + "/none", "not a reference"} {
		if _, err := o.Blob(t.Context(), from, absent, 0); err == nil {
			t.Errorf("a blob of %s was found", from)
		}
		_, _, err := o.Manifest(t.Context(), from, absent.Digest)
		if err == nil || strings.HasPrefix(from, "dir://") && !strings.Contains(err.Error(), "make the plan again") {
			t.Errorf("a manifest of %s: %v", from, err)
		}
	}
}

// layer returns the first layer of the image that ref names.
func layer(t *testing.T, o *mirror.Origin, ref string) ocispec.Descriptor {
	t.Helper()
	_, raw, err := o.Manifest(t.Context(), ref, "")
	fail.On(t, err)
	var m ocispec.Manifest
	fail.On(t, json.Unmarshal(raw, &m))
	return m.Layers[0]
}

// TestOriginListsAllTags checks that a list of more than 10,000 tags, on pages of 1,000, is complete.
func TestOriginListsAllTags(t *testing.T) {
	server, o, ref, _ := source(t)
	const tags = 10_500
	server.Script(registrytest.Rule{Path: "/tags/list$", Action: func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		first, _ := strconv.Atoi(r.URL.Query().Get("last"))
		last := min(first+1000, tags)
		if last < tags {
			w.Header().Set("Link", fmt.Sprintf(`<%s?n=1000&last=%d>; rel="next"`, r.URL.Path, last))
		}
		names := make([]string, 0, last-first)
		for i := first; i < last; i++ {
			names = append(names, fmt.Sprintf("v1.0.%d", i))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "org/name", "tags": names})
	}})
	all, err := o.AllTags(t.Context(), strings.TrimSuffix(ref, ":v1"))
	if err != nil || len(all) != tags || all[tags-1] != fmt.Sprintf("v1.0.%d", tags-1) {
		t.Errorf("%d tags, %v", len(all), err)
	}
	fail.Diff(t, 11, server.Requests()["GET tags"])
}

// TestOriginWithoutTags checks that a repository has no tags if the registry says that it does not know it, as CNCF
// distribution does of one whose manifests have none. Another 404 means that the registry does not list tags.
func TestOriginWithoutTags(t *testing.T) {
	server, o, ref, _ := source(t)
	for code, all := range map[string]bool{"NAME_UNKNOWN": true, "NOT_FOUND": false, "": false} {
		server.Script(registrytest.Rule{Path: "/tags/list$", Action: registrytest.Refuse(http.StatusNotFound, code)})
		pages := 0
		got, err := o.TagPages(t.Context(), ref, "", func(page []string) bool {
			pages += 1 + len(page)
			return true
		})
		if got != all || errors.Is(err, errors.ErrUnsupported) == all || all && (err != nil || pages != 1) {
			t.Errorf("%q: %v, %v; %d pages", code, got, err, pages)
		}
	}
}
