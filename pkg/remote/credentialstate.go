package remote

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// A credentialState is whether a host accepts a credential. Until the host has accepted it, one
// request at a time sends it, and none does after it was refused: some hosts lock an account after
// a few wrong passwords.
type credentialState struct {
	accepted atomic.Bool
	gate     gate   // entered by requests with it, until it is accepted
	refused  *Error // guarded by gate
}

func (h *host) credentialState(cred keychain.Credential) *credentialState {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.credentials[cred]
	if p == nil {
		p = &credentialState{gate: newGate()}
		h.credentials[cred] = p
	}
	return p
}

// sendCredential sends r, which contains the secret of cred. Its refusal is an error, also for all
// later requests.
func (h *host) sendCredential(ctx context.Context, cred keychain.Credential, r *request, authorization string) (*http.Response, error) {
	if cred.Anonymous() {
		return h.roundTrip(ctx, r, authorization)
	}
	p := h.credentialState(cred)
	if p.accepted.Load() {
		return h.roundTrip(ctx, r, authorization)
	}
	if err := p.gate.enter(ctx); err != nil {
		return nil, err
	}
	if p.accepted.Load() {
		p.gate.leave()
		return h.roundTrip(ctx, r, authorization)
	}
	defer p.gate.leave()
	if p.refused != nil {
		e := *p.refused
		e.Op, e.Repository = r.op, r.repo
		return nil, permanentError{&e}
	}
	resp, err := h.roundTrip(ctx, r, authorization)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusForbidden, temporary(resp.StatusCode):
		// This says nothing about the secret.
	case resp.StatusCode != http.StatusUnauthorized:
		p.accepted.Store(true)
	case r.kind == "token" || bestChallenge(resp.Header.Values("WWW-Authenticate")).scheme != "bearer":
		e := h.refusal(r, resp)
		if !errors.Is(e, ErrDenied) { // that is about one repository
			p.refused = e
		}
		return nil, permanentError{e}
	}
	return resp, nil
}

// deniesRepository reports whether a 401 or 403 response concerns the repository of r, not the
// credential.
func (h *host) deniesRepository(ctx context.Context, r *request, status int) bool {
	if r.repo == "" || status == http.StatusForbidden {
		return r.repo != ""
	}
	cred, err := h.credential(context.WithoutCancel(ctx), r.repo)
	return err == nil && !cred.Anonymous() && h.credentialState(cred).accepted.Load()
}
