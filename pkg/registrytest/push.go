package registrytest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
)

// Content is an image (v1.Image) or an index (v1.ImageIndex).
type Content interface {
	MediaType() (types.MediaType, error)
	Digest() (v1.Hash, error)
	RawManifest() ([]byte, error)
}

// Push pushes an image or index with all its content to a repository, tags it unless tag is "", and
// returns its digest.
func (c *Client) Push(ctx context.Context, repository, tag string, content Content) (digest.Digest, error) {
	h, err := content.Digest()
	if err != nil {
		return "", err
	}
	if err := c.push(ctx, repository, content); err != nil {
		return "", fmt.Errorf("pushing %s to %s/%s: %w", h, c.host, repository, err)
	}
	if tag != "" {
		if err := c.putManifest(ctx, repository, tag, content); err != nil {
			return "", fmt.Errorf("tagging %s/%s:%s: %w", c.host, repository, tag, err)
		}
	}
	return digest.Digest(h.String()), nil
}

func (c *Client) push(ctx context.Context, repository string, content Content) error {
	h, err := content.Digest()
	if err != nil {
		return err
	}
	switch content := content.(type) {
	case v1.ImageIndex:
		m, err := content.IndexManifest()
		if err != nil {
			return err
		}
		for _, child := range m.Manifests {
			var part Content
			if child.MediaType.IsIndex() {
				part, err = content.ImageIndex(child.Digest)
			} else {
				part, err = content.Image(child.Digest)
			}
			if err != nil {
				return err
			}
			if err := c.push(ctx, repository, part); err != nil {
				return err
			}
		}
	case v1.Image:
		layers, err := content.Layers()
		if err != nil {
			return err
		}
		for _, l := range layers {
			if err := c.pushLayer(ctx, repository, l); err != nil {
				return err
			}
		}
		config, err := content.RawConfigFile()
		if err != nil {
			return err
		}
		if err := c.pushBlob(ctx, repository, config); err != nil {
			return err
		}
	}
	return c.putManifest(ctx, repository, h.String(), content)
}

func (c *Client) pushLayer(ctx context.Context, repository string, l v1.Layer) error {
	rc, err := l.Compressed()
	if err != nil {
		return err
	}
	defer func() { _ = rc.Close() }()
	data, err := io.ReadAll(rc)
	if err != nil {
		return err
	}
	return c.pushBlob(ctx, repository, data)
}

// pushBlob uploads a blob in one piece, unless the repository already has it.
func (c *Client) pushBlob(ctx context.Context, repository string, data []byte) error {
	d := digest.FromBytes(data).String()
	resp, err := c.do(ctx, request{method: http.MethodHead, repository: repository, path: "blobs/" + d}, http.StatusOK, http.StatusNotFound)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	resp, err = c.do(ctx, request{method: http.MethodPost, repository: repository, path: "blobs/uploads/"}, http.StatusAccepted)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	location, err := resp.Location()
	if err != nil {
		return err
	}
	query := location.Query()
	query.Set("digest", d)
	location.RawQuery = query.Encode()
	return c.put(ctx, repository, location.String(), "application/octet-stream", data)
}

func (c *Client) putManifest(ctx context.Context, repository, name string, content Content) error {
	mt, err := content.MediaType()
	if err != nil {
		return err
	}
	raw, err := content.RawManifest()
	if err != nil {
		return err
	}
	return c.put(ctx, repository, "manifests/"+name, string(mt), raw)
}

func (c *Client) put(ctx context.Context, repository, path, contentType string, data []byte) error {
	resp, err := c.do(ctx, request{
		method: http.MethodPut, repository: repository, path: path,
		header: http.Header{"Content-Type": {contentType}},
		body:   func() io.Reader { return bytes.NewReader(data) }, length: int64(len(data)),
	}, http.StatusCreated)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
