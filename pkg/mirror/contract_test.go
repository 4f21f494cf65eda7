package mirror_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// content is one image with one layer, which all destinations and sources of the suite share.
type content struct {
	layer, config, manifest []byte
}

func newContent(t *testing.T) *content {
	c := &content{layer: bytes.Repeat([]byte("a layer of some size "), 50_000), config: []byte(`{"architecture":"amd64","os":"linux"}`)}
	raw, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest,
		"config": describe(ocispec.MediaTypeImageConfig, c.config),
		"layers": []ocispec.Descriptor{describe(ocispec.MediaTypeImageLayer, c.layer)},
	})
	fail.On(t, err)
	c.manifest = raw
	return c
}

func (c *content) all() []ocispec.Descriptor {
	return []ocispec.Descriptor{
		describe(ocispec.MediaTypeImageManifest, c.manifest), describe("application/octet-stream", c.config), describe("application/octet-stream", c.layer),
	}
}

func describe(mediaType string, raw []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
}

func opens(raw []byte) mirror.Open {
	return func(_ context.Context, offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(raw[offset:])), nil
	}
}

const repository = "org/name"

// A place is a destination and a source that reads the content written to it.
type place struct {
	sink mirror.Destination
	// has reports whether a blob is stored under its digest.
	has func(desc ocispec.Descriptor) bool
	// source returns a source that reads what was written, after everything is complete.
	source func() (image.Reader, string)
}

// places has a function for each kind of place, which returns an empty one.
var places = map[string]func(t *testing.T, c *content) place{
	"registry": func(t *testing.T, _ *content) place {
		server := registrytest.New(t, registrytest.Options{})
		client, err := remote.New(remote.Options{Side: remote.Destination})
		fail.On(t, err)
		t.Cleanup(client.Close)
		ref := reference.Reference{Host: server.Host, Path: "prefix/" + repository}
		sink := mirror.NewRegistryDestination(client, map[string]reference.Reference{repository: ref})
		return place{
			sink: sink,
			has: func(desc ocispec.Descriptor) bool {
				ok, err := sink.HasBlob(context.WithoutCancel(t.Context()), repository, desc)
				return err == nil && ok
			},
			source: func() (image.Reader, string) { return origin(t, client), ref.WithTag("v1").String() },
		}
	},
	"layout": func(t *testing.T, _ *content) place {
		dir := t.TempDir()
		l, err := layout.Create(dir, layout.Options{})
		fail.On(t, err)
		sink := mirror.NewLayoutDestination(l)
		return place{sink: sink, has: sink.Has, source: func() (image.Reader, string) { return origin(t, nil), "oci://" + dir }}
	},
	"archive": func(t *testing.T, c *content) place {
		dir := t.TempDir()
		w, err := archive.Create(t.Context(), dir, archive.Content{Plan: func(io.Writer) error { return nil }, Entries: slices.Values(c.all())}, archive.Options{})
		fail.On(t, err)
		t.Cleanup(func() { _ = w.Close() })
		return place{sink: w, has: w.Has, source: func() (image.Reader, string) {
			fail.On(t, w.Finish(t.Context()))
			a, err := archive.Open(dir)
			fail.On(t, err)
			t.Cleanup(func() { _ = a.Close() })
			return a, ""
		}}
	},
}

// origin returns an Origin with its own cache.
func origin(t *testing.T, client *remote.Client) *mirror.Origin {
	cache, err := layout.Create(t.TempDir(), layout.Options{NoSync: true})
	fail.On(t, err)
	return mirror.NewOrigin(client, cache)
}

// TestDestinationContract checks what every Destination guarantees: content that PutBlob accepted
// is complete under its digest, and no other content is stored.
func TestDestinationContract(t *testing.T) {
	gone := errors.New("gone")
	c := newContent(t)
	layer := describe("application/octet-stream", c.layer)
	wrong := bytes.Clone(c.layer)
	wrong[len(wrong)/2] ^= 1
	for kind, newPlace := range places {
		for name, bad := range map[string]mirror.Open{
			"wrong bytes": opens(wrong),
			"too short":   opens(c.layer[:len(c.layer)-1]),
			"too long":    opens(append(bytes.Clone(c.layer), 'x')),
			"no source":   func(context.Context, int64) (io.ReadCloser, error) { return nil, gone },
			"broken source": func(context.Context, int64) (io.ReadCloser, error) {
				return io.NopCloser(io.MultiReader(bytes.NewReader(c.layer[:1000]), failing{gone})), nil
			},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				p := newPlace(t, c)
				err := p.sink.PutBlob(t.Context(), repository, layer, verified(t, bad, layer))
				if err == nil || p.has(layer) {
					t.Fatalf("PutBlob = %v; the blob is stored: %v", err, p.has(layer))
				}
				if wantGone := name == "no source" || name == "broken source"; wantGone != errors.Is(err, gone) {
					t.Errorf("PutBlob = %v, wrapping the source's error: %v", err, !wantGone)
				}
				if err := p.sink.PutBlob(t.Context(), repository, layer, opens(c.layer)); err != nil || !p.has(layer) {
					t.Errorf("the right bytes afterwards: %v, there: %v", err, p.has(layer))
				}
			})
		}
		t.Run(kind+"/cancelled", func(t *testing.T) {
			p := newPlace(t, c)
			ctx, cancel := context.WithCancel(t.Context())
			err := p.sink.PutBlob(ctx, repository, layer, func(context.Context, int64) (io.ReadCloser, error) {
				cancel()
				return io.NopCloser(bytes.NewReader(c.layer)), nil
			})
			if err == nil || p.has(layer) {
				t.Errorf("PutBlob = %v; the blob is stored: %v", err, p.has(layer))
			}
		})
	}
}

// verified opens a blob like sources do: reading ends with an error if the bytes were wrong.
func verified(t *testing.T, open mirror.Open, desc ocispec.Descriptor) mirror.Open {
	t.Helper()
	return func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		body, err := open(ctx, offset)
		if err != nil {
			return nil, err
		}
		return layout.Rest(ctx, body, desc, offset, "the test")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestSourceContract writes an image to every destination, twice, and reads it back through its
// source.
func TestSourceContract(t *testing.T) {
	c := newContent(t)
	for kind, newPlace := range places {
		t.Run(kind, func(t *testing.T) {
			p := newPlace(t, c)
			for range 2 {
				for _, raw := range [][]byte{c.config, c.layer} {
					fail.On(t, p.sink.PutBlob(t.Context(), repository, describe("application/octet-stream", raw), opens(raw)))
				}
				fail.On(t, p.sink.PutManifest(t.Context(), repository, describe(ocispec.MediaTypeImageManifest, c.manifest), c.manifest, []string{"v1"}))
			}
			source, from := p.source()
			desc, raw, err := source.Manifest(t.Context(), from, digest.FromBytes(c.manifest))
			if err != nil || !bytes.Equal(raw, c.manifest) || desc.MediaType != ocispec.MediaTypeImageManifest || desc.Size != int64(len(raw)) {
				t.Errorf("Manifest = %+v, %d bytes, %v", desc, len(raw), err)
			}
			for _, want := range [][]byte{c.config, c.layer} {
				body, err := source.Blob(t.Context(), from, describe("application/octet-stream", want), 0)
				fail.On(t, err)
				got, err := io.ReadAll(body)
				if err := errors.Join(err, body.Close()); err != nil || !bytes.Equal(got, want) {
					t.Errorf("Blob: %d bytes, %v; want %d", len(got), err, len(want))
				}
			}
			absent := describe("application/octet-stream", []byte("never pushed"))
			if body, err := source.Blob(t.Context(), from, absent, 0); err == nil {
				if _, err = io.ReadAll(body); err == nil {
					t.Error("a blob that was never stored was read")
				}
			}
			if _, _, err := source.Manifest(t.Context(), from, absent.Digest); err == nil {
				t.Error("a manifest that was never stored was read")
			}
		})
	}
}

func TestRegistryDestinationRefusesAnotherManifest(t *testing.T) {
	c := newContent(t)
	p := places["registry"](t, c)
	desc := describe(ocispec.MediaTypeImageManifest, c.manifest)
	if err := p.sink.PutManifest(t.Context(), repository, desc, append(c.manifest, ' '), []string{"v1"}); err == nil {
		t.Error("other bytes were put under the manifest's digest")
	}
}
