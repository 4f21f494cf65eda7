package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// UnlistReferrers removes manifests from the list of referrers of ref's digest under its tag
// (ReferrersTag), at a registry without the referrers API. Other entries stay, unless their manifests do
// not exist and the registry refuses the list because of them. A list that would be empty is deleted, and
// so is the manifest of the list before. A list that does not exist is no error.
func (c *Client) UnlistReferrers(ctx context.Context, ref reference.Reference, gone []digest.Digest) error {
	at, err := c.destination(ref)
	if err != nil {
		return err
	}
	tag := ref.WithDigest("").WithTag(ReferrersTag(ref.Digest))
	g, _ := at.h.listing.LoadOrStore(tag.Path+":"+tag.Tag, newGate())
	lock := g.(gate)
	if err := lock.enter(ctx); err != nil {
		return err
	}
	defer lock.leave()
	before, found, err := c.ManifestExists(ctx, tag)
	if err != nil || !found {
		return err
	}
	list, err := c.taggedReferrers(ctx, ref)
	if err != nil {
		return fmt.Errorf("removing entries from the list of referrers of %s: %w", ref, err)
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(d ocispec.Descriptor) bool { return slices.Contains(gone, d.Digest) })
	if len(kept) == len(list) {
		return nil
	}
	err = c.writeReferrers(ctx, tag, kept)
	if errors.Is(err, ErrBlobUnknown) {
		if kept, err = c.present(ctx, ref.WithTag(""), kept); err == nil {
			err = c.writeReferrers(ctx, tag, kept)
		}
	}
	if err == nil {
		_, err = c.DeleteManifest(ctx, tag.WithTag("").WithDigest(before.Digest))
	}
	if err != nil {
		return fmt.Errorf("removing entries from the list of referrers of %s: %w", ref, err)
	}
	return nil
}

// writeReferrers writes a list of referrers under its tag, unless it is empty.
func (c *Client) writeReferrers(ctx context.Context, tag reference.Reference, list []ocispec.Descriptor) error {
	if len(list) == 0 {
		return nil
	}
	raw, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: list,
	})
	if err != nil {
		return err
	}
	return c.PushManifest(ctx, tag, ocispec.MediaTypeImageIndex, raw)
}
