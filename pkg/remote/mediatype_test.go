package remote_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestRefusedMediaTypes checks that a manifest which a registry refuses has the other format as its remedy, unless the
// response is about something else.
func TestRefusedMediaTypes(t *testing.T) {
	const oci, docker, other = "application/vnd.oci.image.manifest.v1+json", manifest.DockerImage, ""
	raw := manifestOf([]byte("{}"), []byte("layer"))
	for _, tc := range []struct {
		status          int
		code, mediaType string
		remedy          string
	}{
		{415, "", oci, "Options.DestFormat docker"},
		{415, "MANIFEST_INVALID", docker, "Options.DestFormat oci"},
		{400, "MANIFEST_INVALID", oci, "Options.DestFormat docker"},
		{422, "UNSUPPORTED", oci, "Options.DestFormat docker"},
		{400, "MANIFEST_BLOB_UNKNOWN", oci, other},
		{400, "TAG_INVALID", oci, other},
		{404, "NAME_UNKNOWN", oci, other},
		{413, "", oci, other},
		{405, "UNSUPPORTED", oci, other},
		{405, "UNSUPPORTED ImageManifest", oci, "Options.DestFormat docker"},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				w.WriteHeader(tc.status)
				code, message, _ := strings.Cut(tc.code, " ")
				_, _ = io.WriteString(w, `{"errors":[{"code":"`+code+`","message":"refused `+message+`"}]}`)
			}
		})
		c := newClient(t, remote.Options{Side: remote.Destination, Clock: newClock()})
		err := c.PushManifest(t.Context(), repoAt(s, "a").WithTag("v1"), tc.mediaType, raw)
		if err == nil || remote.MayRefuseType(err) != (tc.remedy != other) || strings.Contains(advice.Hint(err), "DestFormat") != (tc.remedy != other) || !strings.Contains(advice.Hint(err), tc.remedy) {
			t.Errorf("%+v: %v; %s", tc, err, advice.Hint(err))
		}
	}
}
