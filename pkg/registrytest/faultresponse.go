package registrytest

import (
	"io"
	"net/http"
	"strings"
)

// Refuse responds with an error code of the distribution specification (MANIFEST_BLOB_UNKNOWN) and
// its status. It reads the request's body first, and the registry does not see the request.
func Refuse(status int, code string) Action {
	return instead(func(w http.ResponseWriter) { refuse(w, status, code, "") })
}

// Header responds as the registry does, except for one header.
func Header(name, value string) Action {
	return altered(func(a *response) { a.header.Set(name, value) })
}

// Page responds with 200 and a web page, like a captive portal or a proxy that asks for a login. The
// registry does not see the request.
func Page() Action {
	return instead(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>Welcome</title><p>Please log in.\n")
	})
}

// Redirect sends the client to another server, with the same path and a signature in the query, as
// registries redirect to object storage.
func Redirect(to *Server) Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Location", to.url(to.Host)+r.URL.EscapedPath()+"?signature="+strings.Repeat("s", 16))
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}
