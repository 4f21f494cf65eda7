package remote

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// pushes reports whether r pushes content, or requests a token to push it.
func (r *request) pushes() bool {
	if r.kind == "token" {
		return slices.ContainsFunc(r.scopes, func(s string) bool { return strings.HasSuffix(s, ":pull,push") })
	}
	return r.method == http.MethodPost || r.method == http.MethodPut || r.method == http.MethodPatch
}

// mustCreate returns what to create at a destination that refused a push because it does not create
// organizations, projects or repositories itself; "" if that is not why. These responses are no
// failures of authentication, whatever their status is.
func (h *host) mustCreate(r *request, status int, code, message string) (hint string) {
	if h.c.o.Side != Destination || r.repo == "" {
		return ""
	}
	first, _, nested := strings.Cut(r.repo, "/")
	message = strings.ToLower(message)
	switch {
	case status == http.StatusUnauthorized && code == "UNSUPPORTED":
		// Quay responds so to a push below an organization that does not exist and that the user
		// may not create.
		return fmt.Sprintf("create the organization %s at %s, and permit the user to create repositories in it", first, h.name)
	case status == http.StatusNotFound && code == "NAME_UNKNOWN":
		// Amazon ECR creates no repositories on push, unless a template allows it.
		return fmt.Sprintf("create the repository %s at %s: the registry does not create repositories on push", r.repo, h.name)
	case noProject(message):
		return fmt.Sprintf("create the project %s at %s", first, h.name) // Harbor
	case status == http.StatusBadRequest && strings.Contains(message, "project") && !nested:
		return "add a project to the destination, as in docker://HOST/PROJECT" // Harbor
	}
	return ""
}

// absentProject reports whether Harbor responds that there is no project for a repository. It does that with 401, whatever the
// credentials are.
func absentProject(repository, message string) bool {
	first, _, _ := strings.Cut(repository, "/")
	return first != "" && strings.Contains(message, "project "+first+" not found")
}

// noProject reports whether a message says that a project does not exist.
func noProject(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "project") && (strings.Contains(message, "not found") || strings.Contains(message, "does not exist"))
}

// overQuota reports whether a registry refuses content because it would exceed a quota. Registries do that with 403.
func overQuota(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "quota") || strings.Contains(message, "exceed") || strings.Contains(message, "upper limit")
}

// invalidName reports whether a registry responds that a repository cannot have this name, and so does not exist: Harbor has
// none outside projects.
func invalidName(e *Error) bool {
	return e.Status == http.StatusBadRequest && (e.Code == "NAME_INVALID" || strings.HasPrefix(e.Message, "invalid repository name"))
}
