package validate_test

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
)

// Catalogs that look wrong, but that opm and OLM accept.
func TestAcceptedByOLM(t *testing.T) {
	tests := map[string][2]string{
		"versions that differ only in build metadata": {"version: 1.1.1}", "version: 1.1.0+0.1749}"},
		"a skipRange that includes the bundle itself": {">=1.0.0 <1.2.0", "<=1.2.0"},
		"a skipRange of several ranges":               {">=1.0.0 <1.2.0", "1.0.8 || >=1.1.0 <1.2.x !1.1.0-alpha1"},
		"replacing a bundle of another channel":       {"name: fast\nentries:\n- name: crane.v1.2.0", "name: fast\nentries:\n- name: crane.v1.2.0\n  replaces: crane.v1.1.1"},
		"a name skipped twice":                        {"crane.v0.9.9]", "crane.v0.9.9, crane.v1.1.1]"},
		"a cycle among skipped entries":               {"skips: [crane.v1.1.1, crane.v0.9.9]\n  skipRange: \">=1.0.0 <1.2.0\"\n- name: crane.v1.1.1\n  replaces: crane.v1.1.0\n- name: crane.v1.1.0\n  replaces: crane.v1.0.0", "skips: [crane.v1.1.1, crane.v1.1.0]\n- name: crane.v1.1.1\n  replaces: crane.v1.1.0\n- name: crane.v1.1.0\n  replaces: crane.v1.1.1"},
		"a fork that is skipped":                      {"- name: crane.v1.1.1\n  replaces: crane.v1.1.0", "- name: crane.v1.1.1\n  replaces: crane.v1.1.0\n  skips: [crane.v1.1.0]"},
		"a constraint that OLM would refuse":          {"{type: olm.maxOpenShiftVersion, value: \"4.19\"}", "{type: olm.constraint, value: {none: {}}}"},
		"a property without a type":                   {"{type: olm.maxOpenShiftVersion, value: \"4.19\"}", "{value: 1}"},
		"null for a value":                            {"{type: olm.maxOpenShiftVersion, value: \"4.19\"}", "{type: olm.gvk.required, value: null}"},
		"a manifest that only looks like JSON":        {"data: e30=", "data: ew=="},
		"members in any case":                         {"packageName: crane, version: 1.1.0", "PackageName: crane, VERSION: 1.1.0"},
		"an empty icon":                               {"name: crane\ndefaultChannel", "name: crane\nicon: {base64data: '', mediatype: image/none}\ndefaultChannel"},
		"empty deprecations":                          {"entries:\n- reference: {schema: olm.package}\n  message: old package\n- reference: {schema: olm.channel, name: fast}\n  message: old channel\n- reference: {schema: olm.bundle, name: crane.v1.1.0}\n  message: old bundle", "entries: []"},
		"a schema that cannot be served by gRPC":      {"message: old bundle\n", "message: old bundle\n---\nschema: '-not a name-'\npackage: crane\n"},
		"an object of a package that does not exist":  {"message: old bundle\n", "message: old bundle\n---\nschema: com.example.notice\npackage: derrick\n"},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			if strings.Count(valid, change[0]) != 1 {
				t.Fatalf("the catalog does not have %q once", change[0])
			}
			if got := problems(t, strings.Replace(valid, change[0], change[1], 1)); got != nil {
				t.Errorf("got %v", got)
			}
		})
	}
}

// Names of packages are DNS labels.
func TestPackageNames(t *testing.T) {
	for name, takes := range map[string]bool{
		"c": true, "3scale": true, "a--b": true, "0": true, strings.Repeat("a", 63): true,
		strings.Repeat("a", 64): false, "-a": false, "a-": false, "a.b": false, "a_b": false, "Crane": false, "a b": false, "é": false,
	} {
		text := strings.ReplaceAll(valid, "name: crane\n", "name: '"+name+"'\n")
		text = strings.ReplaceAll(text, "package: crane\n", "package: '"+name+"'\n")
		text = strings.ReplaceAll(text, "packageName: crane,", "packageName: '"+name+"',")
		got := problems(t, text)
		if takes != (got == nil) || !takes && (len(got) != 1 || got[0].Rule != validate.PackageName) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
