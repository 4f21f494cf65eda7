package registrytest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// PushSignature pushes an image like those that cosign makes of a subject, under the tag of this
// ending (".sig", ".att", ".sbom"), and returns its digest. Different texts make different images. No
// signature is valid.
func (c *Client) PushSignature(ctx context.Context, repository string, subject digest.Digest, ending, text string) (digest.Digest, error) {
	img, err := signature(repository+text, subject)
	if err != nil {
		return "", err
	}
	return c.Push(ctx, repository, "sha256-"+subject.Encoded()+ending, img)
}

// A Referrer is a manifest that refers to another one (OCI 1.1): an artifact with one layer.
type Referrer struct {
	Subject      ocispec.Descriptor
	ArtifactType string
	Text         string
	Annotations  map[string]string
}

// Manifest returns the bytes of the referrer's manifest.
func (r Referrer) Manifest() ([]byte, error) {
	empty := ocispec.DescriptorEmptyJSON
	return json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: r.ArtifactType,
		Config: ocispec.Descriptor{MediaType: empty.MediaType, Digest: empty.Digest, Size: empty.Size},
		Layers: []ocispec.Descriptor{{
			MediaType: "application/octet-stream", Digest: digest.FromString(r.Text), Size: int64(len(r.Text)),
		}},
		Subject: &r.Subject, Annotations: r.Annotations,
	})
}

// PushReferrer pushes a referrer by its digest, and returns its descriptor.
func (c *Client) PushReferrer(ctx context.Context, repository string, r Referrer) (ocispec.Descriptor, error) {
	raw, err := r.Manifest()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d, err := c.PushRaw(ctx, repository, "", ocispec.MediaTypeImageManifest, raw, []byte(r.Text), ocispec.DescriptorEmptyJSON.Data)
	return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: d, Size: int64(len(raw)), ArtifactType: r.ArtifactType, Annotations: r.Annotations}, err
}

// PushReferrersTag pushes the list of referrers of a subject under the tag that stands for it at
// registries without the referrers API.
func (c *Client) PushReferrersTag(ctx context.Context, repository string, subject digest.Digest, list ...ocispec.Descriptor) error {
	raw, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: list})
	if err != nil {
		return err
	}
	return c.put(ctx, repository, "manifests/"+strings.Replace(subject.String(), ":", "-", 1), ocispec.MediaTypeImageIndex, raw)
}

// Referrers returns the list of referrers of a subject, by the referrers API.
func (c *Client) Referrers(ctx context.Context, repository string, subject digest.Digest) ([]ocispec.Descriptor, error) {
	resp, err := c.do(ctx, request{method: http.MethodGet, repository: repository, path: "referrers/" + subject.String()}, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var index ocispec.Index
	err = json.NewDecoder(resp.Body).Decode(&index)
	return index.Manifests, err
}

// ReferrersTag returns the list of referrers of a subject under its tag.
func (c *Client) ReferrersTag(ctx context.Context, repository string, subject digest.Digest) ([]ocispec.Descriptor, error) {
	raw, _, err := c.manifest(ctx, repository, strings.Replace(subject.String(), ":", "-", 1))
	var index ocispec.Index
	if err == nil {
		err = json.Unmarshal(raw, &index)
	}
	return index.Manifests, err
}

// Descriptor returns the descriptor of an image or index.
func Descriptor(content Content) (ocispec.Descriptor, error) {
	raw, err := content.RawManifest()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	t, err := content.MediaType()
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("reading the type of an image: %w", err)
	}
	return ocispec.Descriptor{MediaType: string(t), Digest: digest.FromBytes(raw), Size: int64(len(raw))}, nil
}

// signature makes an image like cosign's signatures of a subject. Its signature is not valid.
func signature(repository string, subject digest.Digest) (v1.Image, error) {
	payload := fmt.Sprintf(`{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, repository, subject)
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return mutate.Append(img, mutate.Addendum{
		Layer:       static.NewLayer([]byte(payload), "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": digest.FromString(payload).Encoded()},
	})
}
