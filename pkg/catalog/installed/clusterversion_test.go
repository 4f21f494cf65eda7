package installed_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestReadClusterVersions(t *testing.T) {
	t.Parallel()
	printed, err := os.ReadFile(filepath.Join("testdata", "clusterversion.json"))
	fail.On(t, err)
	object := func(spec, status string) string {
		return `{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersion","metadata":{"name":"version"},"spec":` + spec + `,"status":` + status + `}`
	}
	const subscription = `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"s","namespace":"n"},"spec":{"name":"p"},"status":{"installedCSV":"p.v1"}}`
	of := func(version, channel string) installed.ClusterVersion {
		return installed.ClusterVersion{Version: version, Channel: channel, Origin: "f: ClusterVersion version"}
	}
	inProgress := of("4.20.1", "c")
	inProgress.Origin += " (update in progress)"
	const id = "f: ClusterVersion 5d3f8c1a-0000-4000-8000-1b2c3d4e5f60"
	for name, tc := range map[string]struct {
		input     string
		want      []installed.ClusterVersion
		operators int
	}{
		"an update in progress": {input: string(printed), want: []installed.ClusterVersion{
			{Version: "4.19.2", Channel: "eus-4.20", Multi: true, Origin: id + " (update in progress)"},
			{Version: "4.18.5", Channel: "eus-4.20", Multi: true, Origin: id},
		}},
		"no update":          {input: object(`{"channel":"stable-4.20"}`, `{"desired":{"version":"4.20.2"},"history":[{"state":"Completed","version":"4.20.2"},{"state":"Completed","version":"4.20.1"}]}`), want: []installed.ClusterVersion{of("4.20.2", "stable-4.20")}},
		"no channel":         {input: object(`{}`, `{"history":[{"state":"Completed","version":"4.20.2"}]}`), want: []installed.ClusterVersion{of("4.20.2", "")}},
		"being installed":    {input: object(`{"channel":"c"}`, `{"desired":{"version":"4.20.1"},"history":[{"state":"Partial","version":"4.20.1"}]}`), want: []installed.ClusterVersion{inProgress}},
		"an unknown version": {input: object(`{"channel":"c"}`, `{"history":[{"state":"Partial","version":""},{"state":"Completed","version":"4.20.0"}]}`), want: []installed.ClusterVersion{of("4.20.0", "c")}},
		"no history":         {input: object(`{}`, `{"desired":{"version":"4.20.2"},"history":null}`), want: []installed.ClusterVersion{of("4.20.2", "")}},
		"two clusters": {input: object(`{}`, `{"desired":{"version":"4.20.2"}}`) + object(`{}`, `{"desired":{"version":"4.20.2"}}`), want: []installed.ClusterVersion{
			of("4.20.2", ""), of("4.20.2", ""),
		}},
		"with operators": {
			input: `{"apiVersion":"v1","kind":"List","items":[` + subscription + "," + object(`{}`, `{"desired":{"version":"4.20.2"}}`) + `]}`,
			want:  []installed.ClusterVersion{of("4.20.2", "")}, operators: 1,
		},
		"a list of its kind": {
			input: `{"apiVersion":"config.openshift.io/v1","items":[{"metadata":{"name":"version"},"status":{"desired":{"version":"4.20.2"}}}],"kind":"ClusterVersionList"}`,
			want:  []installed.ClusterVersion{of("4.20.2", "")},
		},
		"YAML": {input: "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nstatus: {desired: {version: 4.20.2}}\n", want: []installed.ClusterVersion{of("4.20.2", "")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := installed.Read("f", strings.NewReader(tc.input))
			fail.On(t, err)
			fail.Diff(t, tc.want, c.Versions)
			fail.Diff(t, tc.operators, len(c.Operators))
		})
	}
	for name, tc := range map[string]struct{ input, want string }{
		"another group": {`{"apiVersion":"example.com/v1","kind":"ClusterVersion","metadata":{"name":"version"}}`, "it has ClusterVersion of example.com/v1; the input must be"},
		"no version":    {object(`{}`, `{}`), "nothing is installed: none of its 1 objects is an installed operator or a running cluster"},
		"wrong type":    {object(`{"channel":[]}`, `{}`), "ClusterVersion version: spec.channel has a JSON ["},
		"wrong history": {object(`{}`, `{"history":{}}`), "ClusterVersion version: status.history has a JSON {"},
	} {
		_, err := installed.Read("f", strings.NewReader(tc.input))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %s", name, err, tc.want)
		}
	}
}
