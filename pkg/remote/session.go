package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// gracePeriod limits the requests that end an upload session, and the response to the one that
// opens it, when the run ends. Twice that is less than the two seconds of an interrupted run.
const gracePeriod = 800 * time.Millisecond

// registryDelay is the time that a registry needs to notice that a part of an upload broke off.
// Only then is it asked how much it has, or to delete the upload: CNCF distribution counts the
// bytes of the part only when it notices, and would leave them behind after a cancellation.
const registryDelay = 250 * time.Millisecond

// post opens an upload session, or has the blob mounted. The response of a registry is awaited even
// when the run ends: without it, nothing knows the session's URL to cancel it.
func (u *upload) post(ctx context.Context, from string) (mounted bool, err error) {
	r := u.request(http.MethodPost, "starting the upload of")
	r.path = "/v2/" + u.at.ref.Path + "/blobs/uploads/"
	if from != "" {
		r.op = "mounting " + u.desc.Digest.String() + " from " + from
		r.path += "?mount=" + url.QueryEscape(u.desc.Digest.String()) + "&from=" + url.QueryEscape(from)
		r.scopes = append(r.scopes, pull(from))
	}
	r.grace = gracePeriod
	notOpened := u.requests(r)
	resp, err := u.at.h.do(ctx, r)
	if err != nil {
		notOpened(err)
		return false, err
	}
	switch {
	case resp.StatusCode == http.StatusCreated && from != "":
		drain(resp.Body)
		notOpened(nil)
		return true, nil
	case resp.StatusCode != http.StatusAccepted:
		err := u.at.h.refusal(r, resp)
		notOpened(err)
		return false, err
	}
	drain(resp.Body) // and release the stream, which cancelling may need
	u.off, u.sent, u.resumed, u.prefix = 0, 0, false, prefixHash{}
	if err := u.updateLocation(r, resp); err != nil {
		return false, err
	}
	u.opened()
	u.mode.raiseTo(resp.Header.Get("OCI-Chunk-Min-Length"))
	if ctx.Err() != nil {
		u.tryCancel(ctx)
		return false, context.Cause(ctx)
	}
	return false, nil
}

// updateLocation records the session's next URL. Responses without a Location, such as Quay's to
// GET, leave it as it is.
func (u *upload) updateLocation(r *request, resp *http.Response) error {
	location := resp.Header.Get("Location")
	if location == "" && u.location != "" {
		return nil
	}
	to, err := u.at.h.resolveURL(resp.Request.URL.String(), location)
	if err != nil {
		return u.at.h.refused(r, "the upload's location", err)
	}
	u.location = to.String()
	return nil
}

// resume finds out where a broken session continues, or ends it if it cannot continue. there means
// that the blob is complete after all.
//
// CNCF distribution keeps what it received of a broken PATCH or PUT, also when its process was
// killed, and returns how much; from then on, it accepts only the location in that response,
// because the offset is signed into it. Quay keeps complete chunks, and nothing of a PUT.
func (u *upload) resume(ctx context.Context) (there bool, err error) {
	u.waitForRegistry(ctx)
	off, err := u.askOffset(ctx)
	var e *Error
	switch {
	case err == nil && off > 0 && off <= min(u.sent, u.desc.Size):
		u.c.o.Log.Info("continuing an upload", "host", u.at.h.name, "digest", u.desc.Digest.String(), "offset", off)
		u.resumed = true
		u.reached(off)
		return false, nil
	case errors.As(err, &e) && e.Status == http.StatusNotFound:
		u.ended()
		// A session also ends when it is complete and its last response is lost.
		return u.at.hasBlob(ctx, u.desc) == nil, nil
	case errors.As(err, &e) && !e.retryable && ctx.Err() == nil:
		err = nil // it does not return how much it has
	}
	if err == nil {
		u.tryCancel(ctx)
	}
	return false, err
}

// waitForRegistry waits until registryDelay has passed since a part broke off. If ctx ends, the
// requests that follow return its error.
func (u *upload) waitForRegistry(ctx context.Context) {
	if d := registryDelay - u.c.o.Clock.Now().Sub(u.brokeAt); u.sent > u.off && d > 0 {
		_ = u.c.o.Clock.Wait(ctx, d)
	}
}

// askOffset asks the session how many bytes it has.
func (u *upload) askOffset(ctx context.Context) (int64, error) {
	r := u.request(http.MethodGet, "requesting the state of the upload of")
	r.url = u.location
	resp, err := u.at.h.do(ctx, r)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusAccepted && resp.StatusCode != http.StatusOK {
		return 0, u.at.h.refusal(r, resp)
	}
	defer drain(resp.Body)
	off, ok := received(resp.Header.Get("Range"))
	if !ok {
		return 0, u.at.h.failure(r, fmt.Errorf("the registry does not return how much it has: %w", ErrMismatch))
	}
	return off, u.updateLocation(r, resp)
}

// received parses how many bytes a session has from its Range header. "0-99" means 100, and "0-0"
// means none or one, which is treated the same. Quay writes "bytes=0-100" for 100.
func received(header string) (n int64, ok bool) {
	s, quay := strings.CutPrefix(header, "bytes=")
	last, ok := strings.CutPrefix(s, "0-")
	end, err := strconv.ParseUint(last, 10, 62)
	if !ok || err != nil {
		return 0, false
	}
	if quay || end == 0 {
		return int64(end), true
	}
	return int64(end) + 1, true
}

// tryCancel cancels the session if its error does not matter. It tries briefly, even when the run
// is ending.
func (u *upload) tryCancel(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gracePeriod)
	defer cancel()
	if err := u.cancel(ctx); err != nil {
		u.c.o.Log.Debug("an upload stays open", "host", u.at.h.name, "digest", u.desc.Digest.String(), "err", err)
	}
}

// cancel asks the registry to delete a session that is not continued.
func (u *upload) cancel(ctx context.Context) error {
	if u.location == "" {
		return nil
	}
	u.waitForRegistry(ctx)
	err := u.c.retry(ctx, u.deleteSession)
	var e *Error
	if errors.As(err, &e) && e.Code != "BLOB_UPLOAD_UNKNOWN" {
		switch e.Status {
		case http.StatusBadRequest, http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable:
			// The location belongs to another offset: see resume.
			if _, err = u.askOffset(ctx); err == nil {
				err = u.deleteSession(ctx)
			}
		}
	}
	if errors.As(err, &e) && e.Status == http.StatusNotFound {
		err = nil // it was already deleted
	}
	if err != nil {
		u.location = ""
		return err
	}
	u.ended()
	return nil
}

func (u *upload) deleteSession(ctx context.Context) error {
	r := u.request(http.MethodDelete, "canceling the upload of")
	r.url = u.location
	resp, err := u.at.h.do(ctx, r)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return u.at.h.refusal(r, resp)
	}
	drain(resp.Body)
	return nil
}

func (u *upload) request(method, op string) *request {
	return &request{
		op: op + " " + u.desc.Digest.String(), kind: "upload", method: method, repo: u.at.ref.Path,
		scopes: []string{push(u.at.ref.Path)}, header: http.Header{},
	}
}

// reached records how much of the blob the session has.
func (u *upload) reached(off int64) {
	u.off, u.best = off, max(u.best, off)
}

// CancelUpload asks a registry to delete an upload session that an earlier run left open, as
// recorded in its SessionLog. An unknown session is not an error.
func (c *Client) CancelUpload(ctx context.Context, repo reference.Reference, blob digest.Digest, location string) error {
	at, err := c.destination(repo.Repository())
	if err != nil {
		return err
	}
	u := &upload{c: c, at: at, desc: ocispec.Descriptor{Digest: blob}}
	to, err := at.h.resolveURL(location, location)
	if err != nil {
		return fmt.Errorf("canceling an upload to %s: %w", repo.Name(), err)
	}
	u.location, u.loggedLocation = to.String(), location
	return u.cancel(ctx)
}
