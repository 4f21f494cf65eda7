package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// MaxReferrers is how many referrers of one manifest are read, and maxReferrerText how many bytes all pages of the list
// have. A longer list is an error.
const (
	MaxReferrers    = 1000
	maxReferrerText = 4 * manifest.MaxSize
)

// ErrNoReferrersAPI means that a registry does not have the referrers API of the distribution
// specification 1.1: it lists referrers by tag (ReferrersTag), if at all.
var ErrNoReferrersAPI = errors.New("the registry has no referrers API")

// ReferrersTag returns the tag under which registries without the referrers API list the referrers of
// a manifest (distribution specification, "Referrers Tag Schema").
func ReferrersTag(subject digest.Digest) string {
	algorithm, encoded, _ := strings.Cut(string(subject), ":")
	algorithm, encoded = algorithm[:min(len(algorithm), 32)], encoded[:min(len(encoded), 64)]
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("+.", c) {
			return '-'
		}
		return c
	}, algorithm) + "-" + encoded
}

// Referrers returns the descriptors of the manifests that refer to ref's digest, on as many pages as
// the registry needs, by the referrers API. If the registry does not have it, or responds with
// anything but an index, the error wraps ErrNoReferrersAPI; that is found out once for each host. Of
// several mirrors, the first that answers decides: the others may be unreachable.
func (c *Client) Referrers(ctx context.Context, ref reference.Reference) (list []ocispec.Descriptor, err error) {
	var absent error
	err = c.read(ctx, ref, true, func(ctx context.Context, at hostRef) error {
		var err error
		if list, err = c.referrers(ctx, at); errors.Is(err, ErrNoReferrersAPI) {
			absent, err = err, nil
		}
		return err
	})
	if err == nil && absent != nil {
		return nil, absent
	}
	return list, err
}

// What is known of the referrers API of a host.
const (
	apiUnknown int32 = iota
	apiPresent
	apiAbsent
)

func (c *Client) referrers(ctx context.Context, at hostRef) (all []ocispec.Descriptor, err error) {
	h := at.h
	if h.referrersAPI.Load() == apiUnknown {
		// The first request decides for all others, which wait for it.
		if err := h.referrersGate.enter(ctx); err != nil {
			return nil, err
		}
		if h.referrersAPI.Load() != apiUnknown {
			h.referrersGate.leave()
		} else {
			defer h.referrersGate.leave()
		}
	}
	if h.referrersAPI.Load() == apiAbsent {
		return nil, noReferrersAPI(h)
	}
	r := &request{
		op: "listing the referrers of " + at.ref.Digest.String(), kind: "referrers", method: http.MethodGet, repo: at.ref.Path,
		scopes: []string{pull(at.ref.Path)}, path: "/v2/" + at.ref.Path + "/referrers/" + at.ref.Digest.String(),
		header: http.Header{"Accept": {ocispec.MediaTypeImageIndex}},
	}
	visited, read := map[string]bool{}, 0
	for {
		page, size, next, err := c.referrersPage(ctx, at, r)
		if err != nil {
			return nil, err
		}
		h.referrersAPI.CompareAndSwap(apiUnknown, apiPresent)
		all = append(all, page...)
		visited[r.url] = true
		if read += size; len(all) > MaxReferrers || read > maxReferrerText || next != "" && (len(page) == 0 || visited[next]) {
			return nil, h.failure(r, fmt.Errorf("the registry lists more than %d referrers, or more than %d MiB, or a list without end", MaxReferrers, maxReferrerText>>20))
		}
		if next == "" {
			return all, nil
		}
		r.url = next
	}
}

func noReferrersAPI(h *host) error { return fmt.Errorf("%s: %w", h.name, ErrNoReferrersAPI) }

// referrersPage reads one page of size bytes and the URL of the next.
func (c *Client) referrersPage(ctx context.Context, at hostRef, r *request) (page []ocispec.Descriptor, size int, next string, err error) {
	h := at.h
	err = c.retry(ctx, func(ctx context.Context) error {
		resp, err := h.do(ctx, r)
		if err != nil {
			return err
		}
		first := h.referrersAPI.Load() == apiUnknown
		absent := func(why string) error {
			h.c.o.Log.Debug("the registry has no referrers API", "host", h.name, "reason", why)
			h.referrersAPI.Store(apiAbsent)
			return permanentError{noReferrersAPI(h)}
		}
		if status := resp.StatusCode; status != http.StatusOK {
			e := h.refusal(r, resp)
			// 404 may also mean that there is no such repository yet.
			if first && status >= 400 && status < 500 && !e.retryable && !errors.Is(e, ErrUnauthorized) && e.Code != "NAME_UNKNOWN" {
				return absent(resp.Status)
			}
			return e
		}
		raw, err := readAll(resp, manifest.MaxSize)
		if err != nil {
			return h.broken(r, err)
		}
		if page, err = ParseReferrers(raw); err != nil {
			if first {
				return absent(err.Error())
			}
			return h.failure(r, err)
		}
		size = len(raw)
		next, err = nextPage(h, r, resp)
		return err
	})
	return page, size, next, err
}

// ParseReferrers reads a list of referrers: an index whose entries have valid digests and sizes.
func ParseReferrers(raw []byte) ([]ocispec.Descriptor, error) {
	var index struct {
		MediaType string               `json:"mediaType"`
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := manifest.CheckDensity(raw); err != nil {
		return nil, fmt.Errorf("reading the list of referrers: %w", err)
	}
	if err := json.Unmarshal(raw, &index); err != nil || index.Manifests == nil || index.MediaType != "" && !manifest.IsIndex(index.MediaType) {
		return nil, errors.New("the list of referrers is not an index")
	}
	for _, d := range index.Manifests {
		if err := d.Digest.Validate(); err != nil || d.Size < 0 {
			return nil, fmt.Errorf("the list of referrers has the digest %.100q and the size %d", d.Digest, d.Size)
		}
	}
	return index.Manifests, nil
}

// ListedReferrers returns the descriptors of the manifests that refer to ref's digest, by the referrers
// API, or else by the tag that stands for it. A list that does not exist is empty.
func (c *Client) ListedReferrers(ctx context.Context, ref reference.Reference) ([]ocispec.Descriptor, error) {
	list, err := c.Referrers(ctx, ref)
	if !errors.Is(err, ErrNoReferrersAPI) && !notFound(err) {
		return list, err
	}
	return c.taggedReferrers(ctx, ref)
}

// taggedReferrers returns the list under the tag for referrers. A manifest that is no list is an error, except for the subject itself, which has
// such a tag in mirrors.
func (c *Client) taggedReferrers(ctx context.Context, ref reference.Reference) ([]ocispec.Descriptor, error) {
	tag := ref.WithDigest("").WithTag(ReferrersTag(ref.Digest))
	desc, raw, err := c.Manifest(ctx, tag)
	switch {
	case notFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case desc.Digest == ref.Digest:
		return nil, nil
	case !manifest.IsIndex(desc.MediaType):
		return nil, fmt.Errorf("the tag %s is reserved for the referrers of %s, but it names another image", tag, ref.Digest)
	}
	return ParseReferrers(raw)
}
