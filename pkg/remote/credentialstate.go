package remote

import (
	"context"
	"encoding/base64"
	"fmt"
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

// deniesRepository reports whether a 401 or 403 response concerns the repository of r, not the
// credential. GHCR responds 403 to a request for a token without scopes if the password is wrong; a firewall does without a code.
func (h *host) deniesRepository(ctx context.Context, r *request, e *Error) bool {
	login := r.kind == "token" && len(r.scopes) == 0 && e.Code != ""
	if r.repo == "" || e.Status == http.StatusForbidden && !login {
		return r.repo != ""
	}
	cred, err := h.credential(context.WithoutCancel(ctx), r.repo)
	return err == nil && !cred.Anonymous() && h.credentialState(cred).accepted.Load()
}

// refusesPassword reports whether a response means that a password is wrong. ECR responds 400 to one at the root of its API.
func (h *host) refusesPassword(r *request, resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusBadRequest && r.kind == "ping" &&
		resp.Request.Header.Get("Authorization") != "" && h.asks().params["service"] == "ecr.amazonaws.com"
}

func (h *host) credential(ctx context.Context, path string) (keychain.Credential, error) {
	if h.c.o.Keychain == nil {
		return keychain.Credential{}, nil
	}
	cred, err := h.c.o.Keychain.Credential(ctx, h.name, path)
	if err != nil {
		return cred, permanentError{fmt.Errorf("finding credentials for %s: %w", h.name, err)}
	}
	return cred, nil
}

func basic(cred keychain.Credential) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(cred.Username+":"+cred.Password))
}

// passwordHeader returns the Authorization header of a server that is not a registry, or "".
func passwordHeader(cred keychain.Credential) string {
	switch {
	case cred.RegistryToken != "":
		return "Bearer " + cred.RegistryToken
	case cred.Username != "" || cred.Password != "":
		return basic(cred)
	}
	return ""
}
