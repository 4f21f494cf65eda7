package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// What went wrong, for errors.Is. An *Error wraps one of them where it fits.
var (
	// ErrUnauthorized: no credentials, wrong ones, or ones that do not suffice
	// (401 and 403).
	ErrUnauthorized = errors.New("not authorized")
	// ErrDenied: 403, or 401 with credentials that the host has accepted: they do
	// not permit this in one repository. It wraps ErrUnauthorized.
	ErrDenied = fmt.Errorf("not permitted: %w", ErrUnauthorized)
	// ErrNotFound: the registry answers and does not have it. It wraps
	// fs.ErrNotExist.
	ErrNotFound = fmt.Errorf("not found: %w", fs.ErrNotExist)
	// ErrUnreachable: the host's name is not known, nothing listens there, the
	// connection breaks or stalls.
	ErrUnreachable = errors.New("not reachable")
	// ErrBroken: the host is there, and connections to it break or stall, which may
	// be for what is asked of it. It wraps ErrUnreachable.
	ErrBroken = fmt.Errorf("the connection broke: %w", ErrUnreachable)
	// ErrUntrusted: the host's certificate was not accepted, or ours by the host.
	ErrUntrusted = errors.New("not trusted")
	// ErrMismatch: the content is not what its digest or length says.
	ErrMismatch = errors.New("content does not match")
	// ErrBlobUnknown: the registry takes no manifest, since it lacks a blob or a
	// child of it, though it may have said that it stored that before.
	ErrBlobUnknown = errors.New("a blob of the manifest is not there")
	// ErrFailing: the registry answers that it cannot serve now, or fails inside
	// (5xx).
	ErrFailing = errors.New("the registry fails")
	// ErrReadOnly: the registry takes nothing, from nobody.
	ErrReadOnly = errors.New("the registry is read-only")
	// ErrRefused: the registry sends Gantry to an address where it must not go.
	ErrRefused = errors.New("refused")
)

// An Error is an answer of a registry, or the lack of one. Nothing in it is
// secret: no credentials, no tokens, no query of a signed address.
type Error struct {
	Host       string // where the request went: "quay.io", or a CDN behind it
	Repository string // "org/name"; "" for requests that concern no repository
	Op         string // "reading the manifest v1", "mounting sha256:…"
	Status     int    // HTTP status; 0 where there was no answer
	Code       string // the registry's own: "MANIFEST_UNKNOWN"
	Message    string // what the registry, or the network, says
	Hint       string // what to do next; "" where nothing is known
	Err        error  // one of the variables above, and the cause below it

	from  *host         // the registry that was asked
	class class         // what it was asked for
	again bool          // worth another attempt
	away  bool          // the host was not there at all
	after time.Duration // what Retry-After asked for
}

// Error is a sentence: what, where, why, and after a semicolon what to do.
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
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap gives the kind of the error, and its cause.
func (e *Error) Unwrap() error { return e.Err }

// final is an error that must not be tried again here: another place has
// done so already, or it is not about this request.
type final struct{ err error }

func (f final) Error() string { return f.err.Error() }
func (f final) Unwrap() error { return f.err }

// notFound reports whether err says that the content is not there.
func notFound(err error) bool { return errors.Is(err, ErrNotFound) }
