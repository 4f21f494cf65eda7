package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// Login sends the credential that the keychain has for the repository path at host, which may be
// "", without requesting anything. asked is false if the registry does not ask for credentials at
// its API's root, so that the credential could not be tried. If the registry refuses it, the error
// wraps ErrUnauthorized.
func (c *Client) Login(ctx context.Context, host, path string) (asked bool, err error) {
	at, err := c.destination(reference.Reference{Host: host, Path: strings.Trim(path, "/")})
	if err != nil {
		return false, err
	}
	err = c.retry(ctx, func(ctx context.Context) error {
		r := &request{op: "logging in", kind: "ping", method: http.MethodGet, repo: at.ref.Path, path: "/v2/"}
		resp, err := at.h.do(ctx, r)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return at.h.refusal(r, resp)
		}
		drain(resp.Body)
		return nil
	})
	return at.h.asks().scheme != "", err
}

// A narrowKeychain knows whether there are credentials for repositories below a path.
type narrowKeychain interface {
	Narrower(host, path string) bool
}

// A fileKeychain knows which files it looks for credentials in.
type fileKeychain interface{ Files() []string }

// CheckAccess finds out how the host of ref is reached and how to authenticate, so that the first
// request there need not wait for it, and sends the keychain's credential once. It returns an error if
// the host cannot be reached after the usual retries, if its token service cannot be used, or if the credential is
// unavailable or refused, which wraps ErrUnauthorized. With push, that there is no credential where one is required is such an
// error, too. The requests that follow return every other error. If there are other credentials for
// repositories below ref, none is sent. Where a source is read from is decided as for Contact.
func (c *Client) CheckAccess(ctx context.Context, ref reference.Reference, push bool) error {
	return c.reach(ctx, ref, func(ctx context.Context, at hostRef) error { return c.checkAccess(ctx, at, push) })
}

func (c *Client) checkAccess(ctx context.Context, at hostRef, push bool) error {
	h := at.h
	if err := h.probe(ctx); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the run has ended
		}
		return err
	}
	cred, err := h.credential(ctx, at.ref.Path)
	if err != nil || cred.RegistryToken != "" {
		return err
	}
	if k, ok := h.c.o.Keychain.(narrowKeychain); ok && k.Narrower(h.name, at.ref.Path) {
		return nil
	}
	if cred.Anonymous() {
		required := false
		if push {
			required, err = h.requiresLogin(ctx, at.ref.Path)
		}
		if required {
			return h.noCredential(at.ref.Path)
		}
		return withoutToken(ctx, err)
	}
	err = h.tryCredential(ctx, cred, at.ref.Path)
	if e, ok := errors.AsType[*Error](err); ok && errors.Is(err, ErrUnauthorized) && !errors.Is(err, ErrDenied) {
		return h.wrongPassword(cred, *e)
	}
	return withoutToken(ctx, err)
}

// withoutToken returns err if it is about a token service that cannot be used, so that every request would fail.
func withoutToken(ctx context.Context, err error) error {
	e, ok := errors.AsType[*Error](err)
	if ok && ctx.Err() == nil && strings.HasPrefix(e.Op, tokenOp) && e.Status == 0 && !e.retryable {
		return err
	}
	return nil
}

// requiresLogin reports whether a registry certainly refuses what is pushed without credentials below a
// path: it asks for a password, or its tokens for everyone do not allow it.
func (h *host) requiresLogin(ctx context.Context, path string) (bool, error) {
	switch ch := h.asks(); ch.scheme {
	case "basic":
		return true, nil
	case "bearer":
		repository := strings.TrimPrefix(path+"/gantry", "/")
		t, err := h.fetchToken(ctx, ch, keychain.Credential{}, &request{op: "logging in", kind: "ping", method: http.MethodGet, repo: repository, scopes: []string{push(repository)}})
		if e, ok := errors.AsType[*Error](err); ok {
			return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden, err
		}
		return err == nil && deniesPush(t.value), err
	}
	return false, nil
}

// deniesPush reports whether a token is a JSON Web Token that lists what it allows, as those of the
// distribution project do, without a push.
func deniesPush(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims struct {
		Access *[]struct {
			Actions []string `json:"actions"`
		} `json:"access"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Access == nil {
		return false
	}
	for _, a := range *claims.Access {
		if slices.Contains(a.Actions, "push") || slices.Contains(a.Actions, "*") {
			return false
		}
	}
	return true
}

// noCredential returns the error for a registry that requires a credential if there is none.
func (h *host) noCredential(path string) error {
	e := &Error{
		Host: h.name, Op: "logging in", Message: "it requires a login to push, and no credentials for it were found", Err: ErrUnauthorized, from: h,
		Hint: "run gantry registry login " + strings.TrimSuffix(h.name+"/"+path, "/") + ", or set " + h.c.o.Side.option("AuthFile"),
	}
	if k, ok := h.c.o.Keychain.(fileKeychain); ok {
		if files := k.Files(); len(files) > 0 {
			e.Message += " in " + strings.Join(files, ", ")
		}
	}
	return permanentError{e}
}

// tryCredential sends a credential once.
func (h *host) tryCredential(ctx context.Context, cred keychain.Credential, path string) error {
	ch := h.asks()
	r := &request{op: "logging in", kind: "ping", method: http.MethodGet, repo: path, url: h.base() + "/v2/"}
	switch ch.scheme {
	case "basic":
		if err := h.admit(ctx); err != nil {
			return err
		}
		resp, err := h.sendCredential(ctx, cred, r, basic(cred))
		if err == nil {
			drain(resp.Body)
		}
		return err
	case "bearer":
		_, err := h.fetchToken(ctx, ch, cred, r)
		return err
	}
	return nil
}

// wrongPassword returns e, the refusal of a credential, as an error that names its user.
func (h *host) wrongPassword(cred keychain.Credential, e Error) error {
	e.Hint = "run gantry registry login " + h.name + ", or set " + h.c.o.Side.option("AuthFile")
	if cred.Source != "" {
		e.Hint += "; the refused credentials are from " + cred.Source
	}
	what := "the credentials"
	if cred.Username != "" {
		what = fmt.Sprintf("the password for user %q", cred.Username)
	}
	return fmt.Errorf("the mirror refused %s: %w", what, &e)
}
