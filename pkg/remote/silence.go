package remote

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

// A stallError is the cause of a request that transferred nothing for too long.
type stallError struct {
	peer    *peer
	idle    time.Duration
	storing bool // after the last byte of an upload
	slow    bool // in the middle of a body, and a minimum of it should have passed
}

func (e *stallError) Error() string {
	if e.storing {
		return fmt.Sprintf("no response came for %s after the last byte", e.idle)
	}
	return fmt.Sprintf("no data was transferred for %s", e.idle)
}

// explainWatch completes the error of a request that a watch ended with cause. It reports whether
// that is so.
func explainWatch(e *Error, cause error) bool {
	var stall *stallError
	var slow *slowError
	switch {
	case errors.As(cause, &stall):
		e.peer, e.silent = stall.peer, stall.idle
		if stall.slow {
			e.slow = stall.idle
		}
		e.Message = stall.Error()
	case errors.As(cause, &slow):
		e.slow = slow.took
		e.Message = slow.Error() + " (the minimum is " + slow.least.String() + " per second)"
		e.Hint = "if the network is this slow, lower Options.MinRate; 0 means no minimum"
	default:
		return false
	}
	e.Err = fmt.Errorf("%w: %w", ErrBroken, cause)
	e.retryable = true
	return true
}

// broken returns an Error for a response that could not be read to its end. It is retried unless the
// response is too large.
func (h *host) broken(r *request, err error) *Error {
	e := h.failure(r, err)
	e.retryable = !errors.Is(err, errTooLarge)
	if e.retryable && !explainWatch(e, err) {
		e.Message = "the response was cut short: " + breakCause(err)
		e.Err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return e
}

// handshakeTimedOut reports whether a server did not answer in a TLS handshake. The error of
// net/http has no type.
func handshakeTimedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() && err.Error() == "net/http: TLS handshake timeout"
}

// silent returns an Error for a request to a server that was silent shortly before.
func (h *host) silent(r *request, u *url.URL) *Error {
	e := h.failure(r, fmt.Errorf("it sent nothing for %s and is not requested for another %s: %w", h.c.o.SilentTimeout, h.c.idle(), ErrUnreachable))
	if u.Host != h.addr {
		e.Host = u.Host
	}
	return e
}

// redirectName returns what named the host of a request.
func (r *request) redirectName() string {
	switch r.kind {
	case "token":
		return "the token realm"
	case "upload":
		return "the upload's location"
	}
	return "a redirect"
}

// refusedAddress returns an Error for an address that r must not be sent to.
func (h *host) refusedAddress(r *request, u *url.URL, err error) *Error {
	switch {
	case u.Host == h.addr:
		e := h.failure(r, err)
		e.Hint = "name another server: addresses of this link and of metadata services are not read"
		return e
	case r.page():
		return h.refused(r, r.redirectName(), err)
	}
	e := h.refused(r, r.redirectName(), err)
	e.Hint = "if the registry means this, have it name a host that is as public as itself: set its external address, or turn off redirects to its storage (CNCF distribution: storage.redirect.disable)"
	return e
}
