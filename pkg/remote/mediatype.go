package remote

import (
	"errors"
	"net/http"
	"strings"
)

// refusesType reports whether a registry may refuse a manifest because of its media type, or of those in it.
// Registries answer with 415, or with MANIFEST_INVALID or UNSUPPORTED and 400 or 422, also if other
// content of the manifest is wrong. ECR answers with UNSUPPORTED and 405 to fields that it does not know.
func refusesType(status int, code, message string) bool {
	switch status {
	case http.StatusUnsupportedMediaType:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return code == "MANIFEST_INVALID" || code == "UNSUPPORTED"
	case http.StatusMethodNotAllowed:
		return code == "UNSUPPORTED" && strings.Contains(message, "ImageManifest")
	}
	return false
}

// MayRefuseType reports whether err of PushManifest means that the registry refuses the manifest, possibly
// because of its media type or of those in it.
func MayRefuseType(err error) bool {
	var e *Error
	return errors.As(err, &e) && refusesType(e.Status, e.Code, e.Message)
}

// typeHint returns the hint for a manifest of a media type that a registry refused.
func typeHint(mediaType string) string {
	switch {
	case strings.HasPrefix(mediaType, "application/vnd.oci."):
		return "if the registry does not accept the media types of OCI, which gantry registry doctor finds out, mirror with Options.DestFormat docker"
	case strings.HasPrefix(mediaType, "application/vnd.docker."):
		return "if the registry accepts only the media types of OCI, mirror with Options.DestFormat oci"
	}
	return ""
}
