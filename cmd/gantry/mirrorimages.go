package main

import (
	"context"
	"io"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// maxReleaseReads is how many release images are read at a time.
const maxReleaseReads = 16

// mirrorImages reads images of a mirror as they are there now: nothing comes out of
// the workspace's cache. A manifest is asked for once. It is a proof.Registry.
type mirrorImages struct {
	client *remote.Client

	mu   sync.Mutex
	read map[string]manifestText // by repository and digest
}

type manifestText struct {
	desc ocispec.Descriptor
	raw  []byte
}

func newMirrorImages(client *remote.Client) *mirrorImages {
	return &mirrorImages{client: client, read: map[string]manifestText{}}
}

func (m *mirrorImages) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	ref, err := reference.Parse(source)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	if d != "" {
		ref = ref.Repository().WithDigest(d)
	}
	m.mu.Lock()
	known, ok := m.read[ref.String()]
	m.mu.Unlock()
	if ok {
		return known.desc, known.raw, nil
	}
	desc, raw, err := m.client.Manifest(ctx, ref)
	if err == nil {
		m.mu.Lock()
		m.read[ref.Repository().WithDigest(desc.Digest).String()] = manifestText{desc, raw}
		m.mu.Unlock()
	}
	return desc, raw, err
}

func (m *mirrorImages) Blob(ctx context.Context, source string, desc ocispec.Descriptor) (io.ReadCloser, error) {
	ref, err := reference.Parse(source)
	if err != nil {
		return nil, err
	}
	return m.client.Blob(ctx, ref.Repository(), desc, 0)
}

func (m *mirrorImages) Resolve(ctx context.Context, source string) (ocispec.Descriptor, error) {
	ref, err := reference.Parse(source)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return m.client.Resolve(ctx, ref)
}

func (m *mirrorImages) Tags(ctx context.Context, repository string) ([]string, error) {
	ref, err := reference.Parse(repository)
	if err != nil {
		return nil, err
	}
	return m.client.Tags(ctx, ref, 0)
}
