package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// BlobProblem requests the blobs of an image without children from the mirror, or reads them, each
// once. It returns what is wrong with the first that is missing or damaged, "" if none is.
func (m *MirrorImages) BlobProblem(ctx context.Context, image string, read bool) (string, error) {
	ref, err := reference.Parse(image)
	if err != nil {
		return "", err
	}
	_, raw, err := m.Manifest(ctx, image, "")
	if err != nil {
		if errors.Is(err, remote.ErrMismatch) {
			return fmt.Sprintf("its manifest is damaged: %v", err), nil
		}
		return "", err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return "", fmt.Errorf("reading the manifest %s: %w", image, err)
	}
	for _, desc := range append([]ocispec.Descriptor{manifest.Config}, manifest.Layers...) {
		key := ref.Repository().WithDigest(desc.Digest).String()
		m.mu.Lock()
		checked := m.whole[key]
		m.mu.Unlock()
		if checked {
			continue
		}
		has, err := m.hasBlob(ctx, ref.Repository(), desc, read)
		switch {
		case errors.Is(err, remote.ErrMismatch):
			return fmt.Sprintf("its blob %s is damaged: %v", desc.Digest, err), nil
		case err != nil:
			return "", err
		case !has:
			return fmt.Sprintf("its blob %s is missing", desc.Digest), nil
		}
		m.mu.Lock()
		m.whole[key] = true
		m.mu.Unlock()
	}
	return "", nil
}

// hasBlob requests a blob, or reads it.
func (m *MirrorImages) hasBlob(ctx context.Context, at reference.Reference, desc ocispec.Descriptor, read bool) (bool, error) {
	if !read {
		return m.client.BlobExists(ctx, at, desc)
	}
	body, err := m.client.Blob(ctx, at, desc, 0)
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		err = errors.Join(err, body.Close())
	}
	if errors.Is(err, remote.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
