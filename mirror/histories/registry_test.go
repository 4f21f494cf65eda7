package histories

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A gotManifest is a manifest as a registry has it.
type gotManifest struct {
	MediaType string
	Manifests []ocispec.Descriptor
	Layers    []ocispec.Descriptor
	Config    ocispec.Descriptor
	Subject   *ocispec.Descriptor
	digest    digest.Digest
	raw       []byte
}

// readManifest reads a manifest by its tag or digest, nil if the registry does not have it.
func readManifest(ctx context.Context, at *rt.Server, repository, name string) (*gotManifest, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.URL()+"/v2/"+repository+"/manifests/"+name, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header["Accept"] = []string{
		ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest,
		"application/vnd.docker.distribution.manifest.list.v2+json", "application/vnd.docker.distribution.manifest.v2+json",
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil || resp.StatusCode == http.StatusNotFound {
		return nil, err
	}
	m := &gotManifest{digest: digest.FromBytes(raw), raw: raw}
	if err := json.Unmarshal(raw, m); err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading %s of %s: %s %w", name, repository, resp.Status, err)
	}
	m.MediaType = resp.Header.Get("Content-Type")
	return m, nil
}

// listTag is the tag of the list of a manifest's referrers, for a registry without the referrers API.
func listTag(subject digest.Digest) string { return "sha256-" + subject.Encoded() }

// signatureTag is the tag of a manifest's cosign signature.
func signatureTag(subject digest.Digest) string { return listTag(subject) + ".sig" }

// remove deletes a manifest of a registry.
func remove(ctx context.Context, at *rt.Server, repository string, d digest.Digest) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, at.URL()+"/v2/"+repository+"/manifests/"+d.String(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("deleting %s@%s: %s %w", repository, d, resp.Status, err)
	}
	return nil
}

// splitTag divides REPOSITORY:TAG.
func splitTag(name string) (repository, tag string) {
	i := strings.LastIndexByte(name, ':')
	return name[:i], name[i+1:]
}

// A place is a manifest in a repository.
type place struct {
	repository string
	digest     digest.Digest
}

func (p place) String() string { return p.repository + "@" + p.digest.String() }
