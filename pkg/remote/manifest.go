package remote

import (
	"cmp"
	"context"
	_ "crypto/sha256" // the digests that manifests have
	_ "crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

var accept = strings.Join([]string{
	ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest, manifest.DockerList, manifest.DockerImage,
}, ", ")

// Resolve returns the descriptor of ref's manifest: media type, digest and size. It makes one HEAD
// request, and a GET if the registry does not return the digest. A reference with neither tag nor
// digest is an error. If there is no such manifest, the error wraps ErrNotFound.
func (c *Client) Resolve(ctx context.Context, ref reference.Reference) (ocispec.Descriptor, error) {
	var desc ocispec.Descriptor
	err := c.readManifest(ctx, ref, func(ctx context.Context, at hostRef) error {
		var err error
		desc, err = c.head(ctx, at)
		if errors.Is(err, errNoDigest) {
			desc, _, err = c.get(ctx, at)
		}
		return err
	})
	return desc, err
}

// ManifestExists is Resolve, but "not found" is not an error.
func (c *Client) ManifestExists(ctx context.Context, ref reference.Reference) (ocispec.Descriptor, bool, error) {
	desc, err := c.Resolve(ctx, ref)
	if notFound(err) {
		return ocispec.Descriptor{}, false, nil
	}
	return desc, err == nil, err
}

// Manifest returns ref's manifest, of at most 8 MiB, and its descriptor. The digest is computed
// from the bytes. If it is not the one of ref or the one that the registry returns, twice, the error wraps
// ErrMismatch.
func (c *Client) Manifest(ctx context.Context, ref reference.Reference) (ocispec.Descriptor, []byte, error) {
	var desc ocispec.Descriptor
	var raw []byte
	err := c.readManifest(ctx, ref, func(ctx context.Context, at hostRef) error {
		var err error
		if desc, raw, err = c.get(ctx, at); errors.Is(err, ErrMismatch) {
			desc, raw, err = c.get(ctx, at) // bytes may change on the way
		}
		return err
	})
	return desc, raw, err
}

func (c *Client) readManifest(ctx context.Context, ref reference.Reference, f func(context.Context, hostRef) error) error {
	if ref.Identifier() == "" {
		return fmt.Errorf("reading the manifest of %s: the reference has neither tag nor digest", ref)
	}
	return c.read(ctx, ref, ref.Digest != "", func(ctx context.Context, at hostRef) error {
		return c.retry(ctx, func(ctx context.Context) error { return f(ctx, at) })
	})
}

func manifestRequest(method, op string, at hostRef) *request {
	return &request{
		op: op + " " + at.ref.Identifier(), kind: "manifest", method: method, repo: at.ref.Path,
		scopes: []string{pull(at.ref.Path)},
		path:   "/v2/" + at.ref.Path + "/manifests/" + at.ref.Identifier(),
		header: http.Header{"Accept": {accept}},
	}
}

// errNoDigest means that the response to HEAD is no complete descriptor.
var errNoDigest = errors.New("the registry does not return the digest")

func (c *Client) head(ctx context.Context, at hostRef) (ocispec.Descriptor, error) {
	r := manifestRequest(http.MethodHead, "looking for the manifest", at)
	resp, err := at.h.do(ctx, r)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode == http.StatusMethodNotAllowed {
			drain(resp.Body)
			return ocispec.Descriptor{}, errNoDigest
		}
		return ocispec.Descriptor{}, at.h.refusal(r, resp)
	}
	defer drain(resp.Body)
	desc := ocispec.Descriptor{
		MediaType: mediaType(resp.Header.Get("Content-Type")),
		Digest:    digest.Digest(resp.Header.Get("Docker-Content-Digest")),
		Size:      resp.ContentLength,
	}
	if !reference.IsKnownDigest(desc.Digest) || desc.Size <= 0 || desc.MediaType == "" {
		return ocispec.Descriptor{}, errNoDigest
	}
	if at.ref.Digest != "" && desc.Digest != at.ref.Digest {
		return ocispec.Descriptor{}, at.h.failure(r, fmt.Errorf("the registry returns %s for that digest: %w", desc.Digest, ErrMismatch))
	}
	return desc, nil
}

func (c *Client) get(ctx context.Context, at hostRef) (ocispec.Descriptor, []byte, error) {
	var none ocispec.Descriptor
	r := manifestRequest(http.MethodGet, "reading the manifest", at)
	resp, err := at.h.do(ctx, r)
	if err != nil {
		return none, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return none, nil, at.h.refusal(r, resp)
	}
	raw, err := readAll(resp, manifest.MaxSize)
	if err != nil {
		return none, nil, at.h.broken(r, err)
	}
	typ := mediaType(resp.Header.Get("Content-Type"))
	if manifest.IsSchema1(typ) {
		e := at.h.failure(r, errors.New("the image has Docker's manifest schema 1, which is not supported"))
		e.Hint = "build or push the image again with a current tool"
		return none, nil, e
	}
	if isPage(raw) {
		return none, nil, at.h.unexpected(r, raw, "a manifest")
	}
	if err := manifest.CheckDensity(raw); err != nil {
		return none, nil, at.h.failure(r, err)
	}
	named, got := digest.Digest(resp.Header.Get("Docker-Content-Digest")), at.ref.Digest
	if named != "" {
		if err := matches(named, raw); err != nil {
			return none, nil, at.h.failure(r, fmt.Errorf("the registry returns %s as its digest, but %w", named, err))
		}
	}
	if got != "" && got != named {
		if err := matches(got, raw); err != nil {
			return none, nil, at.h.failure(r, err)
		}
	}
	if got == "" {
		got = digest.FromBytes(raw)
	}
	// The manifest's own media type is covered by its digest.
	var own struct {
		MediaType string `json:"mediaType"`
	}
	if json.Unmarshal(raw, &own) == nil && own.MediaType != "" {
		typ = own.MediaType
	}
	return ocispec.Descriptor{MediaType: typ, Digest: got, Size: int64(len(raw))}, raw, nil
}

// matches compares raw with a digest from elsewhere.
func matches(want digest.Digest, raw []byte) error {
	if !reference.IsKnownDigest(want) {
		return fmt.Errorf("that is an unknown kind of digest: %w", ErrMismatch)
	}
	if got := want.Algorithm().FromBytes(raw); got != want {
		return fmt.Errorf("the content has the digest %s: %w", got, ErrMismatch)
	}
	return nil
}

// mediaType returns a Content-Type without parameters, or "" if it is generic.
func mediaType(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil || t == "application/json" || t == "application/octet-stream" || strings.HasPrefix(t, "text/") {
		return ""
	}
	return t
}

// PushManifest writes raw under ref's tag, or under its digest if it has no tag. If the registry
// changes it, the error wraps ErrMismatch. If the registry lacks content of the manifest, the error
// wraps ErrBlobUnknown: the blobs have to be pushed again, and then the manifest. A manifest with a
// subject is listed as its referrer afterwards: by the registry, or else under ReferrersTag.
func (c *Client) PushManifest(ctx context.Context, ref reference.Reference, mediaType string, raw []byte) error {
	at, err := c.destination(ref)
	if err != nil {
		return err
	}
	identifier := cmp.Or(ref.Tag, ref.Digest.String())
	switch {
	case identifier == "":
		return fmt.Errorf("pushing the manifest of %s: the reference has neither tag nor digest", ref)
	case ref.Digest != "":
		if err := matches(ref.Digest, raw); err != nil {
			return fmt.Errorf("pushing the manifest %s: %w", ref, err)
		}
	}
	subject := subjectOf(raw)
	listed := false
	err = c.retry(ctx, func(ctx context.Context) error {
		r := &request{
			op: "pushing the manifest " + identifier, kind: "manifest", method: http.MethodPut, repo: at.ref.Path,
			scopes: []string{push(at.ref.Path)},
			path:   "/v2/" + at.ref.Path + "/manifests/" + identifier,
			header: http.Header{"Content-Type": {mediaType}}, body: raw,
			storing: c.o.SilentTimeout, // some registries only now join the blobs
		}
		resp, err := at.h.do(ctx, r)
		if err != nil {
			return err
		}
		switch resp.StatusCode {
		case http.StatusCreated, http.StatusOK, http.StatusAccepted:
		default:
			e := at.h.refusal(r, resp)
			if lacksContent(e.Code, e.Message) {
				e.Err, e.Hint, e.retryable = ErrBlobUnknown, "", false
			}
			return e
		}
		defer drain(resp.Body)
		if named := digest.Digest(resp.Header.Get("Docker-Content-Digest")); named != "" {
			if err := matches(named, raw); err != nil {
				return at.h.failure(r, fmt.Errorf("the registry stored it as %s: %w", named, ErrMismatch))
			}
		}
		listed = resp.Header.Get("OCI-Subject") != ""
		return nil
	})
	switch {
	case err != nil || subject == "":
		return err
	case listed:
		at.h.referrersAPI.Store(apiPresent)
		return nil
	}
	entry := referrerDescriptor(mediaType, raw)
	if at.h.referrersAPI.Load() == apiPresent {
		// A registry may have the API and not say so in its response.
		list, err := c.Referrers(ctx, ref.WithDigest(subject))
		if err == nil && slices.ContainsFunc(list, func(d ocispec.Descriptor) bool { return d.Digest == entry.Digest }) {
			return nil
		}
	}
	return c.listReferrer(ctx, at.h, ref.WithDigest(subject), entry)
}

// lacksContent reports whether a registry that refuses a manifest lacks a blob or a child of it. Quay and the registry of
// cuelabs.dev/go/oci/ociregistry say so only in the message, the latter with 500.
func lacksContent(code, message string) bool {
	switch code {
	case "MANIFEST_BLOB_UNKNOWN", "BLOB_UNKNOWN", "MANIFEST_UNKNOWN": // the last is a child
		return true
	}
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{"unknown blob", "could not find child manifest", "invalid manifest: blob for", "invalid manifest: manifest for"},
		func(words string) bool { return strings.Contains(message, words) })
}
