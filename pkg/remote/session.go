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
)

// farewell bounds the requests that end a session, and lets the one that opens
// it come to its end, when the run is over. Twice that is less than the five
// seconds that an interrupted run has.
const farewell = 2 * time.Second

// settling is how long a registry is given to see that a part of an upload broke
// off, before it is asked how much it has, or to forget all of it: CNCF
// distribution counts what came until then only when it does, and would leave
// that behind after a cancelling.
const settling = 250 * time.Millisecond

// post opens a session, or has the blob mounted. A registry that has begun to
// open one is heard even when the run ends: nobody else learns where it is, to
// cancel it.
func (u *upload) post(ctx context.Context, from string) (mounted bool, err error) {
	r := u.request(http.MethodPost, "starting the upload of")
	r.path = "/v2/" + u.at.ref.Path + "/blobs/uploads/"
	if from != "" {
		r.op = "mounting " + u.desc.Digest.String() + " from " + from
		r.path += "?mount=" + url.QueryEscape(u.desc.Digest.String()) + "&from=" + url.QueryEscape(from)
		r.scopes = append(r.scopes, pull(from))
	}
	r.late = farewell
	resp, err := u.at.h.do(ctx, r)
	if err != nil {
		return false, err
	}
	switch {
	case resp.StatusCode == http.StatusCreated && from != "":
		drain(resp.Body)
		return true, nil
	case resp.StatusCode != http.StatusAccepted:
		return false, u.at.h.refusal(r, resp)
	}
	drain(resp.Body) // and with it goes the stream, which the cancelling may need
	u.off, u.sent, u.resumed, u.kept = 0, 0, false, passed{}
	if err := u.next(r, resp); err != nil {
		return false, err
	}
	u.opened()
	u.way.least(resp.Header.Get("OCI-Chunk-Min-Length"))
	if ctx.Err() != nil {
		u.quit(ctx)
		return false, context.Cause(ctx)
	}
	return false, nil
}

// next takes over where the session goes on. Answers without a Location, such
// as Quay's to GET, leave it where it is.
func (u *upload) next(r *request, resp *http.Response) error {
	location := resp.Header.Get("Location")
	if location == "" && u.location != "" {
		return nil
	}
	to, err := u.at.h.target(resp.Request.URL.String(), location)
	if err != nil {
		return u.at.h.refused(r, "the upload's location", err)
	}
	u.location = to.String()
	return nil
}

// resume finds out where a session that broke goes on, or ends it where there is
// nothing to go on from. there means that the blob had arrived all the same.
//
// CNCF distribution keeps what arrived of a broken PATCH or PUT alike, also when
// its process was killed, and tells of it; the location that it gives with the
// answer is the only one that it takes from then on, since the offset is signed
// into it. Quay keeps whole chunks, and nothing of a PUT.
func (u *upload) resume(ctx context.Context) (there bool, err error) {
	u.settle(ctx)
	off, err := u.ask(ctx)
	var e *Error
	switch {
	case err == nil && off > 0 && off <= min(u.sent, u.desc.Size):
		u.c.o.Log.Info("going on with an upload", "host", u.at.h.name, "digest", u.desc.Digest.String(), "offset", off)
		u.resumed = true
		u.reached(off)
		return false, nil
	case errors.As(err, &e) && e.Status == http.StatusNotFound:
		u.ended()
		// A session also ends when it is complete and its last answer is lost.
		return u.at.hasBlob(ctx, u.desc) == nil, nil
	case errors.As(err, &e) && !e.again && ctx.Err() == nil:
		err = nil // it does not tell
	}
	if err == nil {
		u.quit(ctx)
	}
	return false, err
}

// settle waits until the registry has had its time since a part broke off. The
// requests that follow tell when ctx ends.
func (u *upload) settle(ctx context.Context) {
	if d := settling - u.c.o.Clock.Now().Sub(u.broke); u.sent > u.off && d > 0 {
		_ = u.c.o.Clock.Wait(ctx, d)
	}
}

// ask asks the session how many bytes it has.
func (u *upload) ask(ctx context.Context) (int64, error) {
	r := u.request(http.MethodGet, "asking for the state of the upload of")
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
		return 0, u.at.h.failure(r, fmt.Errorf("the registry does not tell how much it has: %w", ErrMismatch))
	}
	return off, u.next(r, resp)
}

// received reads how many bytes a session has from its Range header. "0-99" says
// 100, and "0-0" says none or one, which comes to the same. Quay writes
// "bytes=0-100" for 100.
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

// quit is abandon where there is something else to do about the session. It is tried
// briefly, even when the run is being ended.
func (u *upload) quit(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := u.abandon(ctx); err != nil {
		u.c.o.Log.Debug("an upload stays open", "host", u.at.h.name, "digest", u.desc.Digest.String(), "err", err)
	}
}

// abandon lets the registry forget a session that is not gone on with.
func (u *upload) abandon(ctx context.Context) error {
	if u.location == "" {
		return nil
	}
	u.settle(ctx)
	err := u.c.retry(ctx, u.forget)
	var e *Error
	if errors.As(err, &e) && e.Code != "BLOB_UPLOAD_UNKNOWN" {
		switch e.Status {
		case http.StatusBadRequest, http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable:
			// The location is that of another offset: see resume.
			if _, err = u.ask(ctx); err == nil {
				err = u.forget(ctx)
			}
		}
	}
	if errors.As(err, &e) && e.Status == http.StatusNotFound {
		err = nil // it was forgotten before
	}
	if err != nil {
		u.location = ""
		return err
	}
	u.ended()
	return nil
}

func (u *upload) forget(ctx context.Context) error {
	r := u.request(http.MethodDelete, "cancelling the upload of")
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

// outliving is a context that ends a time after ctx does: late says then how long.
func outliving(ctx context.Context, late func() time.Duration) (context.Context, context.CancelFunc) {
	outer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(late(), func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(outer, func() { t.Stop() })
	})
	return outer, func() {
		stop()
		cancel(nil)
	}
}
