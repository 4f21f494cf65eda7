package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// subjectOf returns the digest of the manifest that a manifest refers to, "" if it refers to none.
func subjectOf(raw []byte) digest.Digest {
	if !bytes.Contains(raw, []byte(`"subject"`)) {
		return ""
	}
	var m struct {
		Subject *ocispec.Descriptor `json:"subject"`
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.Subject == nil || m.Subject.Digest.Validate() != nil {
		return ""
	}
	return m.Subject.Digest
}

// referrerDescriptor returns the descriptor of a manifest in a list of referrers (distribution
// specification, "Listing Referrers"): with its artifact type and annotations.
func referrerDescriptor(mediaType string, raw []byte) ocispec.Descriptor {
	var m struct {
		ArtifactType string              `json:"artifactType"`
		Config       *ocispec.Descriptor `json:"config"`
		Annotations  map[string]string   `json:"annotations"`
	}
	_ = json.Unmarshal(raw, &m) // subjectOf has read it
	if m.ArtifactType == "" && m.Config != nil {
		m.ArtifactType = m.Config.MediaType
	}
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw)), ArtifactType: m.ArtifactType, Annotations: m.Annotations}
}

// maxListings is how often a list of referrers is written if another program writes it at the same
// time.
const maxListings = 5

// listReferrer adds a manifest to the list of referrers of ref's digest under its tag, at a registry without the
// referrers API. Other entries stay. Registries cannot write a tag only if it is unchanged, so the
// list is read again afterwards: if another program wrote its own in the meantime, the entry is added
// to that. Entries whose manifests were deleted are dropped if the registry refuses the list because of
// them. Within this program, one list is changed by one call at a time.
func (c *Client) listReferrer(ctx context.Context, h *host, ref reference.Reference, entry ocispec.Descriptor) error {
	subject := ref.Digest
	tag := ref.WithTag(ReferrersTag(subject))
	g, _ := h.listing.LoadOrStore(tag.Path+":"+tag.Tag, newGate())
	lock := g.(gate)
	if err := lock.enter(ctx); err != nil {
		return err
	}
	defer lock.leave()
	gone := false // the list names manifests that no longer exist
	for range maxListings {
		list, err := c.taggedReferrers(ctx, ref)
		if err != nil {
			return fmt.Errorf("listing %s as a referrer: %w", entry.Digest, err)
		}
		if slices.ContainsFunc(list, func(d ocispec.Descriptor) bool { return d.Digest == entry.Digest }) {
			return nil
		}
		if gone {
			if list, err = c.present(ctx, ref, list); err != nil {
				return fmt.Errorf("listing %s as a referrer: %w", entry.Digest, err)
			}
		}
		if len(list) >= MaxReferrers {
			return fmt.Errorf("listing %s as a referrer: %s has more than %d", entry.Digest, subject, MaxReferrers)
		}
		raw, err := json.Marshal(ocispec.Index{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: append(slices.Clip(list), entry),
		})
		if err != nil {
			return err
		}
		if len(raw) > manifest.MaxSize {
			return fmt.Errorf("listing %s as a referrer: the list of %s would have %d bytes", entry.Digest, subject, len(raw))
		}
		err = c.PushManifest(ctx, tag, ocispec.MediaTypeImageIndex, raw)
		if errors.Is(err, ErrBlobUnknown) && !gone {
			gone = true
			continue
		}
		if err != nil {
			return fmt.Errorf("listing %s as a referrer: %w", entry.Digest, err)
		}
	}
	return fmt.Errorf("listing %s as a referrer: other programs keep replacing the tag %s", entry.Digest, tag)
}

// present returns the entries of a list whose manifests exist.
func (c *Client) present(ctx context.Context, ref reference.Reference, list []ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	var kept []ocispec.Descriptor
	for _, d := range list {
		_, ok, err := c.ManifestExists(ctx, ref.WithDigest(d.Digest))
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, d)
		}
	}
	return kept, nil
}
