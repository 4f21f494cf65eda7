package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// The probe of VerifiesUploads, which administrators may find in the log of their registry, and
// wrong bytes of the same length.
const (
	probeText  = "Gantry checks whether this registry compares uploads with their digest: yes\n"
	wrongProbe = "Gantry checks whether this registry compares uploads with their digest: no.\n"
)

// VerifiesUploads reports whether the registry refuses content that does not have the digest under
// which it is uploaded. It uploads a line of wrong content to repo. If the response names the digest
// as the reason of the refusal (DIGEST_INVALID), that is proof. If it names another one, as Quay
// does, the right content must be accepted, too. Anything else is no proof: the result is false, and
// nothing is tried again.
//
// A registry keeps a line that it accepted until it collects its garbage.
func (c *Client) VerifiesUploads(ctx context.Context, repo reference.Reference) bool {
	at, err := c.destination(repo.Repository())
	if err != nil {
		return false
	}
	desc := ocispec.Descriptor{Digest: digest.FromString(probeText), Size: int64(len(probeText))}
	err = c.uploadOnce(ctx, at, desc, wrongProbe)
	e := registryError(err)
	verifies := e != nil && (e.Code == "DIGEST_INVALID" || refusesContent(e) && c.uploadOnce(ctx, at, desc, probeText) == nil)
	c.o.Log.Debug("uploaded wrong content to see whether the registry refuses it", "host", at.h.name, "refuses", verifies, "response", err)
	return verifies
}

// uploadOnce uploads text with one attempt in one mode.
func (c *Client) uploadOnce(ctx context.Context, at hostRef, desc ocispec.Descriptor, text string) error {
	open := func(context.Context, int64) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	u := &upload{c: c, at: at, desc: desc, open: open, mode: at.h.uploadMode(defaultChunk)}
	if _, err := u.post(ctx, ""); err != nil {
		return err
	}
	err := u.send(ctx)
	if err == nil {
		return nil
	}
	if e := registryError(err); e != nil && e.Status != 0 {
		u.off = u.sent // the registry has read all of it
	}
	u.tryCancel(ctx)
	return err
}

// refusesContent reports whether a response to an upload may mean that its content is wrong.
func refusesContent(e *Error) bool {
	return e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError && !e.retryable && !errors.Is(e, ErrUnauthorized)
}
