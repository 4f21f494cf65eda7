package remote_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// startRegistry serves an empty registry from memory behind wrap.
func startRegistry(t testing.TB, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// serve serves HTTP with a function.
func serve(t testing.TB, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

func newClient(t testing.TB, o remote.Options) *remote.Client {
	t.Helper()
	if o.CertDirs == nil {
		o.CertDirs = []string{}
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyURL(nil)
	}
	c, err := remote.New(o)
	fail.On(t, err)
	t.Cleanup(c.Close)
	return c
}

func repoAt(s *httptest.Server, path string) reference.Reference {
	_, host, _ := strings.Cut(s.URL, "://")
	return reference.Reference{Host: host, Path: path}
}

func describe(b []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: "application/octet-stream", Digest: digest.FromBytes(b), Size: int64(len(b))}
}

func opener(b []byte) func(context.Context, int64) (io.ReadCloser, error) {
	return func(_ context.Context, offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b[offset:])), nil
	}
}

func manifestOf(blobs ...[]byte) []byte {
	var layers []string
	for _, b := range blobs {
		d := describe(b)
		layers = append(layers, `{"mediaType":"application/octet-stream","digest":"`+d.Digest.String()+`","size":`+strconv.FormatInt(d.Size, 10)+`}`)
	}
	return []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":` + layers[0] + `,"layers":[` + strings.Join(layers[1:], ",") + `]}`)
}

func TestRoundTrip(t *testing.T) {
	s := startRegistry(t, nil)
	ctx := t.Context()
	c := newClient(t, remote.Options{Side: remote.Destination})
	repo := repoAt(s, "org/name")
	big := bytes.Repeat([]byte("gantry "), 300_000)
	blobs := [][]byte{[]byte("{}"), big, {}}

	for _, b := range blobs {
		desc := describe(b)
		if ok, err := c.BlobExists(ctx, repo, desc); ok || err != nil {
			t.Fatalf("BlobExists before the push: %v, %v", ok, err)
		}
		if mounted, err := c.PushBlob(ctx, repo, desc, nil, opener(b)); mounted || err != nil {
			t.Fatalf("PushBlob of %d bytes: %v, %v", len(b), mounted, err)
		}
		if ok, err := c.BlobExists(ctx, repo, desc); !ok || err != nil {
			t.Fatalf("BlobExists after the push: %v, %v", ok, err)
		}
		r, err := c.Blob(ctx, repo, desc, 0)
		fail.On(t, err)
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("Blob of %d bytes came back as %d bytes, %v", len(b), len(got), err)
		}
	}

	raw := manifestOf(blobs...)
	want := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	byTag, byDigest := repo.WithTag("v1"), repo.WithDigest(want.Digest)
	if _, ok, err := c.ManifestExists(ctx, byTag); ok || err != nil {
		t.Fatalf("ManifestExists before the push: %v, %v", ok, err)
	}
	fail.On(t, c.PushManifest(ctx, byTag, ocispec.MediaTypeImageManifest, raw))
	for _, ref := range []reference.Reference{byTag, byDigest} {
		desc, err := c.Resolve(ctx, ref)
		if diff := cmp.Diff(want, desc); diff != "" || err != nil {
			t.Errorf("Resolve(%s): %v %s", ref, err, diff)
		}
		desc, got, err := c.Manifest(ctx, ref)
		if diff := cmp.Diff(want, desc); diff != "" || err != nil || !bytes.Equal(got, raw) {
			t.Errorf("Manifest(%s): %v %s", ref, err, diff)
		}
	}
	fail.On(t, c.PushManifest(ctx, repo.WithTag("v2"), ocispec.MediaTypeImageManifest, raw))
	tags, err := c.Tags(ctx, repo, 0)
	fail.On(t, err)
	fail.Diff(t, []string{"v1", "v2"}, tags)

	_, err = c.Tags(ctx, repoAt(s, "no/such"), 0)
	if !errors.Is(err, remote.ErrNotFound) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Tags of a repository that is not there: %v", err)
	}
	wantRequests := map[string]int64{
		"GET ping": 1, "HEAD blob": 6, "POST upload": 3, "PUT upload": 3, "GET blob": 3,
		"HEAD manifest": 3, "GET manifest": 2, "PUT manifest": 2, "GET tags": 2,
	}
	// Pings: one with TLS, which a server of plain http does not understand.
	wantRequests["GET ping"]++
	fail.Diff(t, wantRequests, c.Stats().Requests)
}
