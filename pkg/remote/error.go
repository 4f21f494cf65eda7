package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// What went wrong, for errors.Is. An *Error wraps one of them if it fits.
var (
	// ErrUnauthorized means that there are no credentials, or that they are wrong or do not suffice
	// (401 and 403). Its kind is advice.Unauthorized.
	ErrUnauthorized = advice.New(advice.Unauthorized, "", "not authorized")
	// ErrDenied means 403, or 401 with credentials that the host has accepted: they do not permit
	// this in one repository. It wraps ErrUnauthorized.
	ErrDenied = fmt.Errorf("not permitted: %w", ErrUnauthorized)
	// ErrNotFound means that the registry responds and does not have the content. It wraps
	// fs.ErrNotExist.
	ErrNotFound = fmt.Errorf("not found: %w", fs.ErrNotExist)
	// ErrUnreachable means that the host's name is unknown, that nothing listens there, or that the
	// connection breaks or stalls.
	ErrUnreachable = errors.New("not reachable")
	// ErrBroken means that the host is there but connections to it break or stall, perhaps because
	// of what is requested. It wraps ErrUnreachable.
	ErrBroken = fmt.Errorf("the connection broke: %w", ErrUnreachable)
	// ErrUntrusted means that the host's certificate was not accepted, or ours by the host.
	ErrUntrusted = errors.New("not trusted")
	// ErrMismatch means that the content does not have its digest or length.
	ErrMismatch = errors.New("content does not match")
	// ErrChanged means that a file on the web is not the version whose part was read earlier, or that its
	// server cannot send a part.
	ErrChanged = errors.New("the file was changed")
	// ErrBlobUnknown means that the registry refuses a manifest because a blob or child manifest is
	// missing, although it may have confirmed to have stored it.
	ErrBlobUnknown = errors.New("a blob of the manifest is missing")
	// ErrFailing means that the registry cannot serve now or fails internally (5xx).
	ErrFailing = errors.New("the registry fails")
	// ErrReadOnly means that the registry accepts no content from any client.
	ErrReadOnly = errors.New("the registry is read-only")
	// ErrRefused means that the registry redirects to an address that Gantry does not follow.
	ErrRefused = errors.New("refused")
)

// An Error is an error response of a registry, or a request without a response. It contains no
// secrets: no credentials, no tokens, no query of a signed URL.
type Error struct {
	Host       string // where the request went: "quay.io", or a CDN behind it
	Repository string // "org/name"; "" for requests that concern no repository
	Op         string // "reading the manifest v1", "mounting sha256:…"
	Status     int    // HTTP status; 0 without a response
	Code       string // the registry's error code: "MANIFEST_UNKNOWN"
	Message    string // the registry's message, or what went wrong in the network
	Hint       string // what to do next; may be empty
	Err        error  // one of the variables above, and its cause

	from        *host         // the registry of the request
	peer        *peer         // what it was sent to, if that did not respond
	class       class         // of the request
	retryable   bool          // worth another attempt
	unreachable bool          // no connection to the host could be made
	after       time.Duration // from Retry-After
	silent      time.Duration // for how long the peer sent nothing
	slow        time.Duration // for how long it was slower than the minimum
}

// Error returns what was done, where, and what went wrong, without the hint.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	b.WriteString(" at ")
	b.WriteString(e.Host)
	if e.Repository != "" {
		b.WriteString("/" + e.Repository)
	}
	b.WriteString(": ")
	switch {
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString("the registry refused")
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d", e.Status)
		if e.Code != "" {
			b.WriteString(" " + e.Code)
		}
		b.WriteString(")")
	}
	return b.String()
}

// Unwrap returns one of the variables above, and its cause.
func (e *Error) Unwrap() error { return e.Err }

// Advice returns the hint. The kind is advice.Unauthorized if the error wraps ErrUnauthorized.
func (e *Error) Advice() (advice.Kind, string) {
	if errors.Is(e.Err, ErrUnauthorized) {
		return advice.Unauthorized, e.Hint
	}
	return advice.Failure, e.Hint
}

// A permanentError is not retried by the caller: it was retried already, or it does not concern
// this request.
type permanentError struct{ err error }

func (f permanentError) Error() string { return f.err.Error() }
func (f permanentError) Unwrap() error { return f.err }

// notFound reports whether err means that the content does not exist.
func notFound(err error) bool { return errors.Is(err, ErrNotFound) }

// registryError returns the registry's error in err, nil if the source ended the upload.
func registryError(err error) *Error {
	var e *Error
	var f permanentError
	if errors.As(err, &f) || !errors.As(err, &e) {
		return nil
	}
	return e
}
