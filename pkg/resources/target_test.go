package resources

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]Target{
		"openshift":      {},
		"openshift-4.20": {Version: OpenShiftVersion{4, 20}},
		"openshift-5.0":  {Version: OpenShiftVersion{5, 0}},
		"kubernetes":     {Kubernetes: true},
		"update-service": {Components: []string{"update-service"}},
		"openshift-4.9, update-service,trusted-ca,trusted-ca": {Version: OpenShiftVersion{4, 9}, Components: []string{"trusted-ca", "update-service"}},
	} {
		got, err := ParseTarget(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, diff)
		}
		if again, err := ParseTarget(got.String()); err != nil || !cmp.Equal(again, got) {
			t.Errorf("%s is written as %s, which is %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                              "neither openshift-VERSION nor kubernetes",
		"openshift-4":                   "such as openshift-4.20",
		"openshift-4.20.3":              "such as openshift-4.20",
		"openshift-":                    "such as openshift-4.20",
		"openshift-3.11":                "such as openshift-4.20",
		"kubernetes-1.33":               "neither",
		"kubernetes,trusted-ca":         "trusted-ca is for OpenShift; name kubernetes alone",
		"openshift-4.20,kubernetes":     "name one platform",
		"update-service,openshift-4.20": "name one platform, before the components",
		"openshift-4.20,update-servise": `did you mean`,
		"openshift-4.20,olm-v1":         "no component that can be added",
	} {
		if _, err := ParseTarget(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	f.Add("openshift-4.20,update-service")
	f.Fuzz(func(t *testing.T, text string) {
		target, err := ParseTarget(text)
		if err != nil {
			return
		}
		if again, err := ParseTarget(target.String()); err != nil || !cmp.Equal(again, target) {
			t.Errorf("%q is %+v, which becomes %+v, %v", text, target, again, err)
		}
	})
}

func TestOldestVersion(t *testing.T) {
	tagged := func(tags ...string) (all []Catalog) {
		for _, tag := range tags {
			all = append(all, Catalog{Mirror: reference.Reference{Host: "m", Path: "index", Tag: tag}})
		}
		return all
	}
	for _, tt := range []struct {
		releases []string
		catalogs []Catalog
		want     string
	}{
		{nil, nil, "0.0"},
		{[]string{"4.20.3", "4.9.12"}, tagged("v4.8"), "4.9"},
		{nil, tagged("v4.20", "latest", "v4.18"), "4.18"},
		{nil, tagged("latest", "1.2", "v3.11"), "0.0"},
	} {
		fail.Diff(t, tt.want, OldestVersion(tt.releases, tt.catalogs).String())
	}
}
