package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// probe finds out once, with GET /v2/, whether the host supports TLS and how to authenticate. If
// that fails, every request of the run fails with the same error.
func (h *host) probe(ctx context.Context) error {
	if h.probed.Load() {
		return nil
	}
	if err := h.probeGate.enter(ctx); err != nil {
		return err
	}
	defer h.probeGate.leave()
	if h.probed.Load() {
		return nil
	}
	if h.probeErr != nil {
		return h.probeErr
	}
	err := h.c.retry(ctx, h.detect)
	if err != nil {
		err = permanentError{err}
		if ctx.Err() == nil {
			h.mu.Lock()
			h.probeErr = err
			h.mu.Unlock()
		}
		return err
	}
	h.probed.Store(true)
	return nil
}

// probeFailed reports whether probe failed.
func (h *host) probeFailed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.probeErr != nil
}

// detect tries TLS and then, if the user or the address permits it, plain HTTP.
func (h *host) detect(ctx context.Context) error {
	if h.c.o.PlainHTTP {
		return h.ping(ctx, "http")
	}
	err := h.ping(ctx, "https")
	if err == nil || ctx.Err() != nil || !h.mayFallBack(err) {
		return err
	}
	plain := h.ping(ctx, "http")
	var record tls.RecordHeaderError
	if e := registryError(plain); plain == nil || e != nil && (temporary(e.Status) || e.Status == http.StatusNotFound || e.retryable && errors.As(err, &record)) {
		return plain // it speaks HTTP, even if it is busy
	}
	return err
}

// mayFallBack reports whether plain HTTP may be tried after TLS failed with err.
func (h *host) mayFallBack(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Status != 0 {
		return false // it speaks TLS, and responded
	}
	var op *net.OpError
	if _, _, err := net.SplitHostPort(h.addr); err == nil && errors.As(e, &op) && dialing(op) {
		return false // nothing listens at this port; HTTP has another port if none is given
	}
	if h.insecure {
		return true
	}
	var cert *tls.CertificateVerificationError
	return h.loopback() && !errors.As(err, &cert)
}

// ping requests the root of the API and keeps its challenge.
func (h *host) ping(ctx context.Context, scheme string) error {
	r := &request{
		op: "requesting the registry API", kind: "ping", method: http.MethodGet,
		url: scheme + "://" + h.addr + "/v2/",
	}
	if err := h.admit(ctx); err != nil {
		return err
	}
	resp, err := h.roundTrip(ctx, r, "")
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if temporary(resp.StatusCode) || resp.StatusCode == http.StatusBadRequest {
		// TLS servers respond 400 to plain HTTP.
		return h.refusal(r, resp)
	}
	if resp.StatusCode == http.StatusNotFound && resp.Header.Get("Docker-Distribution-Api-Version") == "" {
		e := h.refusal(r, resp)
		if e.Code == "" {
			e.Message, e.Err = "it is no registry: it has no /v2/", ErrUnreachable
			e.Hint = "check the host name and the port, and the paths of the proxy in front of it"
			return e
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scheme = scheme
	h.challenge = challenge{}
	if resp.StatusCode == http.StatusUnauthorized && resp.Request.URL.Host == h.addr {
		h.challenge = bestChallenge(resp.Header.Values("WWW-Authenticate"))
	}
	return nil
}
