package remote

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/pkg/keychain"
)

// A proof is what a host thinks of a credential. Until the host has accepted it,
// one request at a time shows it, and none does once it was refused: some hosts
// lock an account after a few wrong passwords.
type proof struct {
	accepted atomic.Bool
	gate     gate   // held while it is shown, until it is accepted
	refused  *Error // guarded by gate
}

func (h *host) proof(cred keychain.Credential) *proof {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.proofs[cred]
	if p == nil {
		p = &proof{gate: newGate()}
		h.proofs[cred] = p
	}
	return p
}

// show sends r, which holds the user's secret of cred. The refusal of the secret
// is an error, for all who come later too.
func (h *host) show(ctx context.Context, cred keychain.Credential, r *request, authorization string) (*http.Response, error) {
	if cred.Anonymous() {
		return h.roundTrip(ctx, r, authorization)
	}
	p := h.proof(cred)
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
		return nil, final{&e}
	}
	resp, err := h.roundTrip(ctx, r, authorization)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusForbidden, temporary(resp.StatusCode):
		// It says nothing of the secret.
	case resp.StatusCode != http.StatusUnauthorized:
		p.accepted.Store(true)
	case r.kind == "token" || bestChallenge(resp.Header.Values("WWW-Authenticate")).scheme != "bearer":
		p.refused = h.refusal(r, resp)
		return nil, final{p.refused}
	}
	return resp, nil
}

// denies reports whether a host that answers 401 or 403 means the repository of
// r, not the credential.
func (h *host) denies(ctx context.Context, r *request, status int) bool {
	if r.repo == "" || status == http.StatusForbidden {
		return r.repo != ""
	}
	cred, err := h.credential(context.WithoutCancel(ctx), r.repo)
	return err == nil && !cred.Anonymous() && h.proof(cred).accepted.Load()
}
