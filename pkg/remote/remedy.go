package remote

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Remedy returns what usually helps, or "" if that depends on what was asked for.
func (e *Error) Remedy() string {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(e.Message), word) })
	}
	pushes := e.from != nil && e.from.c.o.Side == Destination
	switch {
	case errors.Is(e.Err, ErrUnauthorized), errors.Is(e.Err, ErrNotFound) && !strings.HasPrefix(e.Op, "reading the blob "):
		return ""
	case errors.Is(e.Err, ErrNotFound):
		return "push the image again there: the registry does not have all of it"
	case errors.Is(e.Err, ErrMismatch):
		return "run again; if it stays, look for what alters content: the registry, or a proxy or cache in front of it"
	case errors.Is(e.Err, ErrBlobUnknown):
		return "run again with Options.CheckBlobs: the registry does not have what it confirmed"
	case e.Status == http.StatusTooManyRequests:
		return "wait, or lower Options.ParallelImages or set Options.Limits; many registries permit more after gantry registry login " + e.Host
	case e.Status == http.StatusInsufficientStorage, says(fullDisk, "disk full", "insufficient storage"):
		return "free or add disk space at the registry; gantry prune deletes what is no longer needed there"
	case pushes && e.Status != 0 && overQuota(e.Message):
		return "raise the quota at the registry, or delete what is no longer needed there with gantry prune"
	case pushes && (says("immutab") || strings.Contains(strings.ToLower(e.Code), "immutab") || strings.Contains(e.Code, "AlreadyExists")):
		return "permit changes of this tag at the registry, or set targetTag to one that is not used there"
	case e.Status >= http.StatusInternalServerError:
		return "run again later; if it stays, the log of the server, or of the proxy in front of it, has the cause"
	case errors.Is(e.Err, ErrBroken):
		return "run again; if it stays, check the network, and the firewalls and proxies on the way"
	case pushes && e.Status >= http.StatusBadRequest:
		return "run gantry registry doctor docker://" + e.from.name + ", which finds out what the registry is able to do"
	}
	return ""
}

// fullDisk is the message of a registry without space.
const fullDisk = "no space left on device"

// detailed returns a message with what the details of a registry's error add. CNCF distribution has only a number there,
// the one of the operating system, if its disk is full. Quay has the cause there, and the same message for all of them.
func detailed(message string, detail json.RawMessage) string {
	var more struct {
		Err     any    `json:"Err"`
		Message string `json:"message"`
	}
	switch err := json.Unmarshal(detail, &more); {
	case strings.Contains(string(detail), fullDisk), err == nil && more.Err == float64(28):
		return fullDisk
	case err == nil && more.Message != "" && more.Message != message:
		return message + ": " + more.Message
	}
	return message
}

// breakCause returns why a connection ended, without the words of net/http.
func breakCause(err error) string {
	var op *net.OpError
	var call *os.SyscallError
	switch text := err.Error(); {
	case errors.As(err, &call):
		return call.Err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed it"
	case errors.As(err, &op):
		return op.Err.Error()
	case strings.Contains(text, "malformed HTTP"):
		return "the server does not speak HTTP"
	default:
		_, rest, ok := strings.Cut(text, "http: ") // also net/http
		if !ok {
			return text
		}
		return rest
	}
}

// distrust returns why a certificate was not accepted.
func distrust(v *tls.CertificateVerificationError) string {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(v.Err, &unknown):
		return "an unknown authority signed it"
	case errors.As(v.Err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		if from := invalid.Cert.NotBefore; from.After(time.Now()) {
			return "it is valid from " + from.UTC().Format(time.DateOnly) + " on"
		}
		return "it expired on " + invalid.Cert.NotAfter.UTC().Format(time.DateOnly)
	}
	return strings.TrimPrefix(v.Err.Error(), "x509: ")
}

// unexpected returns an Error for a response that is not what was requested.
func (h *host) unexpected(r *request, response []byte, what string) *Error {
	e := h.failure(r, fmt.Errorf("the response is not %s", what))
	if isPage(response) {
		e.Message = "the response is a web page, not " + what
		e.Hint = "check the host name and the port, and whether a proxy or a login portal responds in place of the registry"
	}
	return e
}

// isPage reports whether a response is HTML.
func isPage(response []byte) bool {
	return strings.HasPrefix(http.DetectContentType(response), "text/html")
}
