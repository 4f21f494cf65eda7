package gantry

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/doctor"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// TestRegistriesOf checks that each registry of a configuration is looked at once, and folders are not.
func TestRegistriesOf(t *testing.T) {
	t.Parallel()
	var got []string
	for _, r := range registriesOf(imageset.Mirror{
		Operators:        []imageset.Operator{{Catalog: "registry.example.com/cat/index:v1"}, {Catalog: "dir:///cat"}},
		AdditionalImages: []imageset.Image{{Name: "registry.example.com/other:v1"}, {Name: "oci:///layout"}},
		Platform:         &imageset.Releases{Channels: []imageset.ReleaseChannel{{Name: "stable-4.18", Product: release.OCP}}},
		Helm:             &imageset.Helm{Repositories: []imageset.HelmRepository{{URL: "oci://charts.example.com/a/", Charts: []imageset.Chart{{Name: "web"}}}, {URL: "https://charts.example.net"}}},
	}) {
		got = append(got, r.String())
	}
	if diff := cmp.Diff([]string{"registry.example.com/cat/index", releaseRepository, "charts.example.com/a/web"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDoctorUpdateServices checks that the graph of one channel of a product is requested.
func TestDoctorUpdateServices(t *testing.T) {
	t.Parallel()
	requests := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if r.URL.Query().Get("channel") != "stable-4.18" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"nodes":[{"version":"4.18.1","payload":"quay.io/openshift-release-dev/ocp-release@sha256:`+
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"+`","metadata":{"io.openshift.upgrades.graph.release.channels":"stable-4.18"}}],"edges":[]}`)
	}))
	defer web.Close()
	e, done := (&Env{Getenv: func(string) string { return "" }}).orDefault()
	defer done()
	for channel, want := range map[string]doctor.State{"stable-4.18": doctor.OK, "stable-4.99": doctor.Problem} {
		d := &examination{env: e, result: &DoctorResult{}}
		err := d.examineUpdateServices(t.Context(), &imageset.Releases{UpdateService: web.URL + "/graph", Channels: []imageset.ReleaseChannel{{Name: channel, Product: release.OCP}, {Name: "other", Product: release.OCP}}})
		if f := d.result.Findings; err != nil || len(f) != 1 || f[0].State != want || f[0].Name != "channel "+channel {
			t.Errorf("%s: %+v, %v", channel, f, err)
		}
	}
	if requests == 0 {
		t.Error("nothing was requested")
	}
}
