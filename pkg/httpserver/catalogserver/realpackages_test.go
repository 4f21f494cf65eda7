package catalogserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver"
)

// realText returns the file of a package of a public catalog.
func realText(t *testing.T, pkg string) string {
	t.Helper()
	const catalogs = "../../../../shared/catalogs"
	if _, err := os.Stat(catalogs); err != nil {
		t.Skip("there are no real catalogs beside the checkout")
	}
	files, err := filepath.Glob(filepath.Join(catalogs, pkg, "catalog.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: got %v, %v", pkg, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSurprisingPackages checks that unusual content of real packages reaches the client unchanged.
func TestSurprisingPackages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		what, pkg, channel, bundle string
		want                       []string // of the printed bundle
		objects                    int      // manifests
	}{
		{"manifests in the catalog", "eda-k8s-operator", "5.0", "eda-openshift-operator.v5.0.0", []string{"csvJson:{"}, 12},
		{"an excerpt in the same package", "eda-k8s-operator", "6.0", "eda-openshift-operator.v6.0.1", []string{"csvJson:{"}, 1},
		{"olm.maxOpenShiftVersion", "3scale-community-operator", "threescale-2.14", "3scale-community-operator.v0.11.0", []string{`map[type:olm.maxOpenShiftVersion value:"4.15"]`}, 1},
		{"olm.constraint", "dbaas-operator", "stable", "dbaas-operator.v0.5.0", []string{
			`map[type:olm.constraint value:{"any":{"constraints":[{"failureMessage":"Package rh-service-binding-operator is needed","package":{"packageName":"rh-service-binding-operator","versionRange":">=1.0.0"}},`,
			`dependencies:[map[type:olm.package value:{"packageName":"ack-rds-controller","version":">=0.0.27 <=0.1.3"}]]`,
		}, 1},
		{"build metadata", "gatekeeper-operator-product", "3.11", "gatekeeper-operator-product.v3.11.2-0.1718224960.p", []string{"version:3.11.2+0.1718224960.p"}, 1},
		{"a part behind a dash", "habana-ai-operator", "stable", "habana-ai-operator.v1.22.2-32-1", []string{"version:1.22.2-32-1", "skipRange:>=1.9.0 <1.22.2-32-1"}, 1},
		{"one bundle in three channels", "kubevirt-wol", "fast-v0", "", nil, 1},
	} {
		t.Run(tc.what, func(t *testing.T) {
			t.Parallel()
			content := read(t, realText(t, tc.pkg))
			if tc.bundle == "" {
				tc.bundle = content.Packages[0].Bundles[0].Name
			}
			c := connect(t, content)
			got, err := c.call(t.Context(), t, "api.Registry", "GetBundle", fmt.Sprintf(`{"pkgName": %q, "channelName": %q, "csvName": %q}`, tc.pkg, tc.channel, tc.bundle))
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprint(got[0])
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("it does not say %s: %.3000s", want, text)
				}
			}
			objects, _ := got[0].(map[string]any)["object"].([]any)
			if len(objects) != tc.objects {
				t.Errorf("it has %d manifests", len(objects))
			}
		})
	}
}

// TestSkipsOfNothing checks that names of bundles that do not exist, even ten thousand, are listed
// among the skips, and that requests with these names find the bundle.
func TestSkipsOfNothing(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "  - kubecost-operator.v0.0.%d\n", i)
	}
	const head = "- name: kubecost-operator.v2.8.2\n  skips:\n"
	c := connect(t, read(t, strings.Replace(realText(t, "kubecost-operator"), head, head+many.String(), 1)))
	list, err := c.call(t.Context(), t, "api.Registry", "ListBundles", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		b := b.(map[string]any)
		if skips, _ := b["skips"].([]any); b["csvName"] == "kubecost-operator.v2.8.2" && len(skips) != 10_005 {
			t.Errorf("it has %d skips", len(skips))
		}
	}
	got, err := c.call(t.Context(), t, "api.Registry", "GetBundleThatReplaces", `{"csvName": "kubecost-operator.v0.0.9999", "pkgName": "kubecost-operator", "channelName": "alpha"}`)
	if err != nil || got[0].(map[string]any)["csvName"] != "kubecost-operator.v2.8.2" {
		t.Errorf("got %v", err)
	}
}

// TestBrokenRealPackages checks that a real package with a broken channel is either refused by
// name, or that every request is still answered.
func TestBrokenRealPackages(t *testing.T) {
	t.Parallel()
	const tail = "- name: jumpstarter-operator.v0.8.0\n"
	for name, tc := range map[string]struct{ old, new, want string }{
		"two heads": {"  replaces: jumpstarter-operator.v0.9.0-rc.2\n", "", "channel alpha has 2 heads (jumpstarter-operator.v0.9.0, jumpstarter-operator.v0.9.0-rc.2), but needs exactly one"},
		"no head":   {tail, tail + "  replaces: jumpstarter-operator.v0.9.0\n", "channel alpha has 0 heads"},
		"a cycle":   {tail, tail + "  replaces: jumpstarter-operator.v0.8.1\n", ""},
		"skipRange": {"'>=0.8.1 <0.9.0-rc.1'", "'<v0.9.0-rc.1'", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := realText(t, "jumpstarter-operator")
			if !strings.Contains(text, tc.old) {
				t.Fatalf("the package does not have %q", tc.old)
			}
			content := read(t, strings.Replace(text, tc.old, tc.new, 1))
			if _, err := catalogserver.Registry(content); err != nil {
				if !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "alpha") {
					t.Errorf("got %v", err)
				}
				return
			}
			c := connect(t, content)
			for method, request := range map[string]string{
				"ListBundles":                  `{}`,
				"GetBundleForChannel":          `{"pkgName": "jumpstarter-operator", "channelName": "alpha"}`,
				"GetBundleThatReplaces":        `{"pkgName": "jumpstarter-operator", "channelName": "alpha", "csvName": "jumpstarter-operator.v0.8.1"}`,
				"GetChannelEntriesThatReplace": `{"csvName": "jumpstarter-operator.v0.8.1"}`,
			} {
				if got, err := c.call(t.Context(), t, "api.Registry", method, request); err != nil || len(got) == 0 {
					t.Errorf("%s: got %v, %v", method, got, err)
				}
			}
		})
	}
}
