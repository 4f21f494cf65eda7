package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Open opens a blob at an offset, from 0 to its size, and returns the rest of it.
type Open = func(ctx context.Context, offset int64) (io.ReadCloser, error)

// PushBlob writes a blob to repo. If from names repositories at the same host that have it, the
// registry is asked to mount it from there, in the same request that starts the upload. Otherwise,
// the bytes of open are sent: up to 64 MiB in one PUT, more in chunks of that size, and in other
// modes if the registry refuses these.
//
// An upload that breaks continues where the registry's copy ends, or starts again. If the blob
// cannot be uploaded, the registry is asked to delete the upload. open is called for each start
// with the offset to begin at, after a stream at the host is free, and must return the rest of
// desc.Size bytes. Its errors are returned as they are and not retried.
func (c *Client) PushBlob(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, from []string, open Open) (mounted bool, err error) {
	return c.push(ctx, repo, desc, from, open, defaultChunk)
}

func (c *Client) push(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, from []string, open Open, most int64) (mounted bool, err error) {
	if err := desc.Digest.Validate(); err != nil || desc.Size < 0 {
		return false, fmt.Errorf("pushing a blob to %s: the descriptor %s of %d bytes is malformed", repo.Name(), desc.Digest, desc.Size)
	}
	at, err := c.destination(repo.Repository())
	if err != nil {
		return false, err
	}
	u := &upload{c: c, at: at, desc: desc, from: from, open: open, mode: at.h.uploadMode(most)}
	var t attempts
	for {
		if mounted, err = u.run(ctx); err == nil {
			if mounted {
				c.stats.mounts.Add(1)
			}
			return mounted, nil
		}
		if err := t.next(ctx, c, err, u.best); err != nil {
			u.tryCancel(ctx)
			return false, err
		}
	}
}

// An upload sends one blob to one repository, in as many upload sessions as necessary.
type upload struct {
	c           *Client
	at          hostRef
	desc        ocispec.Descriptor
	from        []string // repositories to mount from that are not yet tried
	mountsTried int      // how many were tried
	open        Open
	src         *source    // the opened blob, as long as it can be read
	prefix      prefixHash // the hash of what the previous source read

	mode    uploadMode
	refused refusals

	location       string    // the session's next URL; "" if none is open
	loggedLocation string    // the session's URL in the session log
	off            int64     // bytes that it has, according to the registry
	sent           int64     // bytes that it may have at most
	brokeAt        time.Time // when a part last broke off or was refused
	resumed        bool      // it broke and was continued
	best           int64     // the highest off of all sessions
}

// run is one attempt: it continues a broken session, or has the blob mounted, or opens a session,
// and sends what is left. A broken session stays open for the next attempt, which learns from it
// how much of the blob is stored, and which could not always have it deleted before.
func (u *upload) run(ctx context.Context) (mounted bool, err error) {
	if u.location != "" {
		if there, err := u.resume(ctx); there || err != nil {
			return false, err
		}
	}
	if u.location == "" {
		if mounted, err = u.openSession(ctx); mounted || err != nil {
			return mounted, err
		}
	}
	for {
		if err = u.send(ctx); err == nil {
			u.at.h.learnUploadMode(u.mode, u.refused)
			return false, nil
		}
		if e := registryError(err); ctx.Err() == nil && e != nil && e.retryable {
			return false, err
		}
		u.tryCancel(ctx)
		if ctx.Err() != nil || !u.fallBack(err) {
			return false, err
		}
		if _, err := u.post(ctx, ""); err != nil {
			return false, err
		}
	}
}

// send sends what the session lacks and completes it. It keeps its stream from the first request to
// the last, so that no request with an open source waits for a stream.
func (u *upload) send(ctx context.Context) error {
	if err := u.at.h.streams.acquire(ctx); err != nil {
		return err
	}
	defer u.at.h.streams.release()
	defer u.closeSource()
	for u.desc.Size-u.off > u.mode.chunk || u.mode.emptyPut && u.off < u.desc.Size {
		if err := u.patch(ctx, u.off+min(u.desc.Size-u.off, u.mode.chunk)); err != nil {
			return err
		}
	}
	return u.put(ctx)
}

// patch sends the blob up to a byte, without completing it (distribution specification, "Pushing a
// blob in chunks"). The Range of the response is ignored: ECR and some releases of zot return less
// than they have stored, and the digest of the whole is compared at the end.
func (u *upload) patch(ctx context.Context, to int64) error {
	r := u.request(http.MethodPatch, "uploading a part of")
	r.url, r.storing = u.location, u.c.storing(u.desc.Size)
	if to-u.off < u.desc.Size {
		r.header.Set("Content-Range", fmt.Sprintf("%d-%d", u.off, to-1))
	}
	resp, err := u.stream(ctx, r, to)
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusAccepted, http.StatusNoContent, http.StatusCreated: // ECR sends the last
	default:
		return u.at.h.refusal(r, resp)
	}
	if err := u.updateLocation(r, resp); err != nil {
		return err
	}
	u.reached(to)
	return nil
}

// put completes the upload with the rest of the blob.
func (u *upload) put(ctx context.Context) error {
	r := u.request(http.MethodPut, "uploading")
	r.grace, r.storing = gracePeriod, u.c.storing(u.desc.Size)
	to, err := url.Parse(u.location)
	if err != nil {
		return u.at.h.refused(r, "the upload's location", ErrRefused)
	}
	// The registry's own query is kept unchanged.
	if to.RawQuery != "" {
		to.RawQuery += "&"
	}
	to.RawQuery += "digest=" + url.QueryEscape(u.desc.Digest.String())
	r.url = to.String()
	if u.off > 0 && u.off < u.desc.Size {
		r.header.Set("Content-Range", fmt.Sprintf("%d-%d", u.off, u.desc.Size-1))
	}
	resp, err := u.stream(ctx, r, u.desc.Size)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusNoContent {
		return u.at.h.refusal(r, resp)
	}
	defer drain(resp.Body)
	u.ended()
	if named := digest.Digest(resp.Header.Get("Docker-Content-Digest")); named != "" && named != u.desc.Digest {
		return u.at.h.failure(r, fmt.Errorf("the registry stored it as %s: %w", named, ErrMismatch))
	}
	return nil
}
