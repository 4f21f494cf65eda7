package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Open opens a blob at an offset, 0 to its size, and gives the rest of it.
type Open = func(ctx context.Context, offset int64) (io.ReadCloser, error)

// PushBlob writes a blob to repo. Where from names repositories at the same
// host that have it, the registry is asked to take it from there (a mount), in
// the same request that opens the upload. Otherwise the bytes of open go up: up
// to 64 MiB in one PUT, more in chunks of that size, and in other ways where the
// registry refuses these.
//
// An upload that breaks goes on where the registry says that it has come, or
// else begins anew; who cannot be brought to take it is asked to forget it. open
// is called for each such beginning with the byte to begin at, after a stream at
// the host is free, and has to yield the rest of desc.Size bytes. Its errors are
// returned as they are and not tried again.
func (c *Client) PushBlob(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, from []string, open Open) (mounted bool, err error) {
	return c.push(ctx, repo, desc, from, open, chunk)
}

func (c *Client) push(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, from []string, open Open, most int64) (mounted bool, err error) {
	if err := desc.Digest.Validate(); err != nil || desc.Size < 0 {
		return false, fmt.Errorf("pushing a blob to %s: the descriptor %s of %d bytes is malformed", repo.Name(), desc.Digest, desc.Size)
	}
	at, err := c.destination(repo.Repository())
	if err != nil {
		return false, err
	}
	u := &upload{c: c, at: at, desc: desc, from: from, open: open, way: at.h.way(most)}
	var t tries
	for {
		if mounted, err = u.run(ctx); err == nil {
			if mounted {
				c.stats.mounts.Add(1)
			}
			return mounted, nil
		}
		if err := t.again(ctx, c, err, u.best); err != nil {
			u.quit(ctx)
			return false, err
		}
	}
}

// An upload brings one blob to one repository, through as many sessions of the
// registry as that takes.
type upload struct {
	c     *Client
	at    spot
	desc  ocispec.Descriptor
	from  []string // repositories that are still to be asked
	asked int      // how many were
	open  Open
	src   *source // what open gave, while it serves
	kept  passed  // what the source before it gave

	way     way
	refused refusals

	location string    // where the session goes on; "" where none is open
	noted    string    // where it began, as the log of sessions has it
	off      int64     // bytes that it has, as the registry says
	sent     int64     // bytes that it can have at most
	broke    time.Time // when a part broke off, or was refused, last
	resumed  bool      // it broke and went on
	best     int64     // the highest off of all sessions
}

func (u *upload) request(method, op string) *request {
	return &request{
		op: op + " " + u.desc.Digest.String(), kind: "upload", method: method, repo: u.at.ref.Path,
		scopes: []string{push(u.at.ref.Path)}, header: http.Header{},
	}
}

// run is one attempt: it goes on with a session that broke, or has the blob
// mounted, or opens a session, and sends what is left. A session that broke stays open
// for the next attempt, which learns from it how much of the blob is there, and cannot
// always be had forgotten before.
func (u *upload) run(ctx context.Context) (mounted bool, err error) {
	if u.location != "" {
		if there, err := u.resume(ctx); there || err != nil {
			return false, err
		}
	}
	if u.location == "" {
		if mounted, err = u.start(ctx); mounted || err != nil {
			return mounted, err
		}
	}
	for {
		if err = u.send(ctx); err == nil {
			u.at.h.learnWay(u.way, u.refused)
			return false, nil
		}
		if e := answer(err); ctx.Err() == nil && e != nil && e.again {
			return false, err
		}
		u.quit(ctx)
		if ctx.Err() != nil || !u.fallBack(err) {
			return false, err
		}
		if _, err := u.post(ctx, ""); err != nil {
			return false, err
		}
	}
}

// send sends what the session lacks and completes it. Its stream is kept from
// the first request to the last, so that who holds a source never waits for a
// stream.
func (u *upload) send(ctx context.Context) error {
	if err := u.at.h.streams.acquire(ctx); err != nil {
		return err
	}
	defer u.at.h.streams.release()
	defer u.closeSource()
	for u.desc.Size-u.off > u.way.most || u.way.bare && u.off < u.desc.Size {
		if err := u.patch(ctx, u.off+min(u.desc.Size-u.off, u.way.most)); err != nil {
			return err
		}
	}
	return u.put(ctx)
}

// patch sends the blob up to a byte, without completing it (distribution
// specification, "Pushing a blob in chunks"). The Range of the answer is not
// looked at: ECR and releases of zot tell less than they have taken, and the
// digest of the whole is compared in the end anyhow.
func (u *upload) patch(ctx context.Context, to int64) error {
	r := u.request(http.MethodPatch, "uploading a part of")
	r.url = u.location
	if to-u.off < u.desc.Size {
		r.header.Set("Content-Range", fmt.Sprintf("%d-%d", u.off, to-1))
	}
	resp, err := u.stream(ctx, r, to)
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusAccepted, http.StatusNoContent, http.StatusCreated: // the last is ECR's
	default:
		return u.at.h.refusal(r, resp)
	}
	if err := u.next(r, resp); err != nil {
		return err
	}
	u.reached(to)
	return nil
}

// put completes the upload with the rest of the blob.
func (u *upload) put(ctx context.Context) error {
	r := u.request(http.MethodPut, "uploading")
	r.late = farewell
	to, err := url.Parse(u.location)
	if err != nil {
		return u.at.h.refused(r, "the upload's location", ErrRefused)
	}
	// What the registry wrote into the query stays as it is.
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
	if said := digest.Digest(resp.Header.Get("Docker-Content-Digest")); said != "" && said != u.desc.Digest {
		return u.at.h.failure(r, fmt.Errorf("the registry stored it as %s: %w", said, ErrMismatch))
	}
	return nil
}

// answer is the registry's part in err, nil where the source ended the upload.
func answer(err error) *Error {
	var e *Error
	var f final
	if errors.As(err, &f) || !errors.As(err, &e) {
		return nil
	}
	return e
}

// reached notes how much of the blob the session has.
func (u *upload) reached(off int64) {
	u.off, u.best = off, max(u.best, off)
}
