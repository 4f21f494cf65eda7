package site

import (
	"context"
	"io"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// MaxReleaseReads is how many release images are read at a time.
const MaxReleaseReads = 16

// MirrorImages reads images of a mirror as they are now, without the workspace's cache. A manifest
// is requested once. It implements proof.Registry.
type MirrorImages struct {
	client *remote.Client

	mu   sync.Mutex
	read map[string]manifestText // by repository and digest
	// whole are the blobs that were checked and are present, by repository and digest.
	whole map[string]bool
}

type manifestText struct {
	desc ocispec.Descriptor
	raw  []byte
}

// NewMirrorImages returns a reader of the images at a mirror.
func NewMirrorImages(client *remote.Client) *MirrorImages {
	return &MirrorImages{client: client, read: map[string]manifestText{}, whole: map[string]bool{}}
}

// Manifest implements image.Reader. A manifest is downloaded once.
func (m *MirrorImages) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
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

// Blob implements image.Reader.
func (m *MirrorImages) Blob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	ref, err := reference.Parse(source)
	if err != nil {
		return nil, err
	}
	return m.client.Blob(ctx, ref.Repository(), desc, offset)
}

// Resolve returns the descriptor that a reference names. If it does not exist, the error matches
// fs.ErrNotExist.
func (m *MirrorImages) Resolve(ctx context.Context, source string) (ocispec.Descriptor, error) {
	ref, err := reference.Parse(source)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return m.client.Resolve(ctx, ref)
}

// Tags returns the tags of a repository.
func (m *MirrorImages) Tags(ctx context.Context, repository string) ([]string, error) {
	ref, err := reference.Parse(repository)
	if err != nil {
		return nil, err
	}
	return m.client.Tags(ctx, ref, 0)
}
