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

const (
	// mountWorth is the size, in bytes, from which further repositories are
	// asked for a blob before it is uploaded, and mountTries how many.
	mountWorth = 1 << 20
	mountTries = 3
	// chunk is what a registry or proxy that finds a whole blob too large is
	// sent at a time, in bytes.
	chunk = 8 << 20
	// farewell bounds the request that ends an upload which failed.
	farewell = 2 * time.Second
)

// PushBlob writes a blob to repo. Where from names repositories at the same
// host that have it, the registry is asked to take it from there (a mount), in
// the same request that opens the upload. Otherwise the bytes of open go up in
// one PUT, or with PATCH where the registry refuses that; open is called again
// for each attempt, after a stream at the host is free, and has to yield
// desc.Size bytes. Its errors are returned as they are and not tried again.
func (c *Client) PushBlob(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, from []string, open func(ctx context.Context, offset int64) (io.ReadCloser, error)) (mounted bool, err error) {
	if err := desc.Digest.Validate(); err != nil || desc.Size < 0 {
		return false, fmt.Errorf("pushing a blob to %s: the descriptor %s of %d bytes is malformed", repo.Name(), desc.Digest, desc.Size)
	}
	at, err := c.destination(repo.Repository())
	if err != nil {
		return false, err
	}
	u := &upload{c: c, at: at, desc: desc, from: from, source: open}
	err = c.retry(ctx, func(ctx context.Context) error {
		mounted, err = u.run(ctx)
		return err
	})
	if mounted {
		c.stats.mounts.Add(1)
	}
	return mounted && err == nil, err
}

// An upload brings one blob to one repository.
type upload struct {
	c      *Client
	at     spot
	desc   ocispec.Descriptor
	from   []string // repositories that are still to be asked
	asked  int      // how many were
	source func(ctx context.Context, offset int64) (io.ReadCloser, error)
}

func (u *upload) request(method, op string) *request {
	return &request{
		op: op + " " + u.desc.Digest.String(), kind: "upload", method: method, repo: u.at.ref.Path,
		scopes: []string{push(u.at.ref.Path)}, header: http.Header{},
	}
}

// run is one attempt: open an upload, or have the blob mounted, and send it.
func (u *upload) run(ctx context.Context) (mounted bool, err error) {
	location, mounted, err := u.start(ctx)
	if mounted || err != nil {
		return mounted, err
	}
	u.at.h.mu.Lock()
	patch := u.at.h.noPut
	u.at.h.mu.Unlock()
	small := false
	if !patch {
		err = u.put(ctx, location, u.open)
		u.abandon(ctx, location, err)
		if err == nil || !refusesPut(err) {
			return false, err
		}
		small = refusesSize(err)
		if location, _, err = u.post(ctx, ""); err != nil {
			return false, err
		}
	}
	location, err = u.patch(ctx, location, small)
	if err == nil {
		err = u.put(ctx, location, nil)
	}
	u.abandon(ctx, location, err)
	if err == nil && !patch && !small {
		u.at.h.mu.Lock()
		u.at.h.noPut = true
		u.at.h.mu.Unlock()
	}
	return false, err
}

// start asks the repositories in from one after the other, the last one leaving
// an upload open. Small blobs are sent after the first refusal.
func (u *upload) start(ctx context.Context) (location string, mounted bool, err error) {
	for len(u.from) > 0 && u.asked < mountTries {
		from := u.from[0]
		if from == u.at.ref.Path {
			u.from = u.from[1:]
			continue
		}
		location, mounted, err = u.post(ctx, from)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.again || e.Status == 0) {
			return "", false, err
		}
		u.from, u.asked = u.from[1:], u.asked+1
		if mounted {
			return "", true, nil
		}
		if err != nil {
			continue // the registry does not mount from there: without it, then
		}
		if len(u.from) == 0 || u.asked == mountTries || u.desc.Size < mountWorth {
			u.from = nil
			return location, false, nil
		}
		u.abandon(ctx, location, errNotMounted)
	}
	u.from = nil
	return u.post(ctx, "")
}

var errNotMounted = errors.New("not mounted")

// post opens an upload, or has the blob mounted.
func (u *upload) post(ctx context.Context, from string) (location string, mounted bool, err error) {
	r := u.request(http.MethodPost, "starting the upload of")
	r.path = "/v2/" + u.at.ref.Path + "/blobs/uploads/"
	if from != "" {
		r.op = "mounting " + u.desc.Digest.String() + " from " + from
		r.path += "?mount=" + url.QueryEscape(u.desc.Digest.String()) + "&from=" + url.QueryEscape(from)
		r.scopes = append(r.scopes, pull(from))
	}
	resp, err := u.at.h.do(ctx, r)
	if err != nil {
		return "", false, err
	}
	switch {
	case resp.StatusCode == http.StatusCreated && from != "":
		drain(resp.Body)
		return "", true, nil
	case resp.StatusCode != http.StatusAccepted:
		return "", false, u.at.h.refusal(r, resp)
	}
	defer drain(resp.Body)
	location, err = u.next(r, resp)
	return location, false, err
}

// next is where the upload goes on.
func (u *upload) next(r *request, resp *http.Response) (string, error) {
	to, err := u.at.h.target(resp.Request.URL.String(), resp.Header.Get("Location"))
	if err != nil {
		return "", u.at.h.refused(r, "the upload's location", err)
	}
	return to.String(), nil
}

// put completes the upload, with all of the blob or, where open is nil, after
// it was sent with PATCH.
func (u *upload) put(ctx context.Context, location string, open func(context.Context) (*sourceBody, error)) error {
	r := u.request(http.MethodPut, "uploading")
	to, err := url.Parse(location)
	if err != nil {
		return u.at.h.refused(r, "the upload's location", ErrRefused)
	}
	// What the registry wrote into the query stays as it is.
	if to.RawQuery != "" {
		to.RawQuery += "&"
	}
	to.RawQuery += "digest=" + url.QueryEscape(u.desc.Digest.String())
	r.url = to.String()
	r.header.Set("Content-Type", "application/octet-stream")
	var resp *http.Response
	if open != nil {
		resp, err = u.stream(ctx, r, u.desc.Size, open)
	} else {
		resp, err = u.at.h.do(ctx, r)
	}
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusNoContent {
		return u.at.h.refusal(r, resp)
	}
	defer drain(resp.Body)
	if said := digest.Digest(resp.Header.Get("Docker-Content-Digest")); said != "" && said != u.desc.Digest {
		return u.at.h.failure(r, fmt.Errorf("the registry stored it as %s: %w", said, ErrMismatch))
	}
	return nil
}

// abandon lets the registry forget an upload that failed. It is tried once,
// briefly, even when the run is being ended.
func (u *upload) abandon(ctx context.Context, location string, err error) {
	if err == nil || location == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	r := u.request(http.MethodDelete, "cancelling the upload of")
	r.url = location
	resp, err := u.at.h.do(ctx, r)
	if err != nil {
		u.c.o.Log.Debug("an upload stays open", "host", u.at.h.name, "digest", u.desc.Digest.String(), "err", err)
		return
	}
	drain(resp.Body)
}
