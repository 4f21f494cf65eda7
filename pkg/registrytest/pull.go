package registrytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Limits on what Pull reads into memory.
const (
	manifestLimit = 8 << 20
	blobLimit     = 1 << 30
)

// Docker's media types, which image-spec does not name.
const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// Pulled is the result of a pull.
type Pulled struct {
	Digest    digest.Digest // of the root manifest
	Manifests int           // index and children, each counted once
	Blobs     int           // configs and layers, each counted once
	Bytes     int64         // of all of these
}

// Pull reads an image or index by tag or digest as a container runtime does, with every child,
// config and layer to the last byte. It is an error if content is missing, does not have the length
// in its descriptor, or does not match its digest.
func (c *Client) Pull(ctx context.Context, repository, tagOrDigest string) (Pulled, error) {
	p := puller{c: c, repository: repository, seen: map[digest.Digest]bool{}}
	want := ocispec.Descriptor{Digest: digest.Digest(tagOrDigest)}
	root, err := p.manifest(ctx, tagOrDigest, want)
	if err != nil {
		return p.Pulled, fmt.Errorf("pulling %s/%s (%s): %w", c.host, repository, tagOrDigest, err)
	}
	p.Digest = root
	return p.Pulled, nil
}

type puller struct {
	Pulled
	c          *Client
	repository string
	seen       map[digest.Digest]bool
}

// A manifest has the fields of manifests and indexes.
type manifest struct {
	MediaType string
	Config    ocispec.Descriptor
	Layers    []ocispec.Descriptor
	Manifests []ocispec.Descriptor
}

func (p *puller) manifest(ctx context.Context, name string, want ocispec.Descriptor) (digest.Digest, error) {
	raw, m, err := p.c.manifest(ctx, p.repository, name)
	if err != nil {
		return "", err
	}
	got := digest.FromBytes(raw)
	if want.Size != 0 && int64(len(raw)) != want.Size {
		return "", fmt.Errorf("manifest %s has %d bytes, its descriptor says %d", name, len(raw), want.Size)
	}
	p.seen[got] = true
	p.Manifests++
	p.Bytes += int64(len(raw))
	for _, child := range m.Manifests {
		if p.seen[child.Digest] {
			continue
		}
		if _, err := p.manifest(ctx, child.Digest.String(), child); err != nil {
			return "", err
		}
	}
	if m.Config.Digest == "" {
		return got, nil
	}
	for _, blob := range append([]ocispec.Descriptor{m.Config}, m.Layers...) {
		if p.seen[blob.Digest] || len(blob.URLs) > 0 { // with URLs, it is not in the registry
			continue
		}
		p.seen[blob.Digest] = true
		if err := p.c.blob(ctx, p.repository, blob, io.Discard); err != nil {
			return "", err
		}
		p.Blobs++
		p.Bytes += blob.Size
	}
	return got, nil
}

// Tags returns the first page of the tags of a repository.
func (c *Client) Tags(ctx context.Context, repository string) ([]string, error) {
	resp, err := c.do(ctx, request{method: http.MethodGet, repository: repository, path: "tags/list"}, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var list struct{ Tags []string }
	err = json.NewDecoder(resp.Body).Decode(&list)
	return list.Tags, err
}

// manifest reads one manifest. If ref is a digest, the manifest has that digest.
func (c *Client) manifest(ctx context.Context, repository, name string) ([]byte, manifest, error) {
	var m manifest
	resp, err := c.do(ctx, request{
		method: http.MethodGet, repository: repository, path: "manifests/" + name,
		header: http.Header{"Accept": {ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest, dockerList, dockerManifest}},
	}, http.StatusOK)
	if err != nil {
		return nil, m, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, manifestLimit))
	if err != nil {
		return nil, m, fmt.Errorf("reading manifest %s: %w", name, err)
	}
	if d, err := digest.Parse(name); err == nil && d != digest.FromBytes(raw) {
		return nil, m, fmt.Errorf("manifest %s is %s", d, digest.FromBytes(raw))
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, m, fmt.Errorf("manifest %s: %w", name, err)
	}
	if t := resp.Header.Get("Content-Type"); m.MediaType != "" && t != m.MediaType {
		return nil, m, fmt.Errorf("manifest %s is served as %s and says %s", name, t, m.MediaType)
	}
	return raw, m, nil
}

// blob copies one blob to w. A negative size is unknown.
func (c *Client) blob(ctx context.Context, repository string, desc ocispec.Descriptor, w io.Writer) error {
	if err := desc.Digest.Validate(); err != nil {
		return fmt.Errorf("blob %q: %w", desc.Digest, err)
	}
	resp, err := c.do(ctx, request{method: http.MethodGet, repository: repository, path: "blobs/" + desc.Digest.String()}, http.StatusOK)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	verifier := desc.Digest.Verifier()
	n, err := io.Copy(io.MultiWriter(w, verifier), io.LimitReader(resp.Body, blobLimit))
	if err != nil {
		return fmt.Errorf("reading blob %s: %w", desc.Digest, err)
	}
	if desc.Size >= 0 && n != desc.Size {
		return fmt.Errorf("blob %s has %d bytes, its descriptor says %d", desc.Digest, n, desc.Size)
	}
	if !verifier.Verified() {
		return fmt.Errorf("blob %s: %w", desc.Digest, errWrongDigest)
	}
	return nil
}

var errWrongDigest = errors.New("the bytes do not have this digest")
