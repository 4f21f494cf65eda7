package registrytest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Refuse answers with a code of the distribution specification ("MANIFEST_BLOB_
// UNKNOWN") and its status. The request's body is read first, and the registry
// sees nothing.
func Refuse(status int, code string) Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":%q,"message":"scripted fault"}]}`, code)
	}
}

// Header answers as the registry does, but for one header.
func Header(name, value string) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := ask(r, next)
		a.header.Set(name, value)
		a.announce(w, len(a.body))
		_, _ = w.Write(a.body)
	}
}

// Page answers 200 with a page for people, as the gate of a guest network or a
// proxy that wants somebody to log in does. The registry sees nothing.
func Page() Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>Welcome</title><p>Please log in.\n")
	}
}

// Endless answers as the registry does, of unknown length, and goes on with
// spaces until the client gives up or the test ends.
func Endless() Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := ask(r, next)
		a.header.Del("Content-Length")
		a.announce(w, 0)
		spaces := bytes.Repeat([]byte{' '}, 32<<10)
		for text := a.body; r.Context().Err() == nil; text = spaces {
			if _, err := w.Write(text); err != nil {
				return
			}
		}
	}
}

// Deny passes the request on without its credentials, as a registry does that
// no longer knows a token that it gave: its answer is what it says to strangers.
func Deny() Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r = r.Clone(r.Context())
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	}
}

// Redirect sends the client to another server, which is asked for the same path
// with a signature in its query, as those of object storage are.
func Redirect(to *Server) Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Location", to.url(to.Host)+r.URL.EscapedPath()+"?signature="+strings.Repeat("s", 16))
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}
