package validate_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// valid is a small catalog that violates no rule. The tests below depend on its lines, and change
// one of them each.
const valid = `schema: olm.package
name: crane
defaultChannel: stable
---
schema: olm.channel
package: crane
name: stable
entries:
- name: crane.v1.2.0
  replaces: crane.v1.1.0
  skips: [crane.v1.1.1, crane.v0.9.9]
  skipRange: ">=1.0.0 <1.2.0"
- name: crane.v1.1.1
  replaces: crane.v1.1.0
- name: crane.v1.1.0
  replaces: crane.v1.0.0
---
schema: olm.channel
package: crane
name: fast
entries:
- name: crane.v1.2.0
---
schema: olm.bundle
package: crane
name: crane.v1.1.0
image: registry.example.com/crane@sha256:1111111111111111111111111111111111111111111111111111111111111111
properties:
- {type: olm.package, value: {packageName: crane, version: 1.1.0}}
relatedImages:
- {name: "", image: ""}
- {name: crane, image: "registry.example.com/crane:v1"}
---
schema: olm.bundle
package: crane
name: crane.v1.1.1
image: ""
properties:
- {type: olm.package, value: {packageName: crane, version: 1.1.1}}
- {type: olm.bundle.object, value: {data: e30=}}
---
schema: olm.bundle
package: crane
name: crane.v1.2.0
image: registry.example.com/crane:1.2.0
properties:
- {type: olm.gvk, value: {group: example.com, kind: Crane, version: v1}}
- {type: olm.package, value: {packageName: crane, version: 1.2.0+build}}
- {type: olm.csv.metadata, value: {displayName: Crane, keywords: [a, b], annotations: {k: v}}}
- {type: olm.maxOpenShiftVersion, value: "4.19"}
---
schema: olm.deprecations
package: crane
entries:
- reference: {schema: olm.package}
  message: old package
- reference: {schema: olm.channel, name: fast}
  message: old channel
- reference: {schema: olm.bundle, name: crane.v1.1.0}
  message: old bundle
`

// problems reads and checks a catalog.
func problems(t *testing.T, text string) []validate.Problem {
	t.Helper()
	fsys := fstest.MapFS{"catalog.yaml": {Data: []byte(text)}}
	c, err := catalog.Read(t.Context(), fsys, catalog.Options{})
	fail.On(t, err)
	err = validate.Catalog(c)
	sameResult(t, fsys, err)
	if err == nil {
		return nil
	}
	var found *validate.Error
	if !errors.As(err, &found) {
		t.Fatalf("got %T", err)
	}
	return found.Problems
}

// sameResult checks that a Validator, which reads the catalog without text, has the result of the
// whole catalog.
func sameResult(t *testing.T, fsys fs.FS, want error) {
	t.Helper()
	j := validate.NewValidator()
	c, err := catalog.Read(t.Context(), fsys, j.Options())
	fail.On(t, err)
	for _, p := range c.Packages {
		for _, m := range p.Objects() {
			if m.Raw != nil {
				t.Errorf("the text of %s is in memory", m.Name)
			}
		}
	}
	fail.Diff(t, fmt.Sprint(want), fmt.Sprint(j.Catalog(c)))
}

func TestCatalog(t *testing.T) {
	if got := problems(t, valid); got != nil {
		t.Fatalf("the unchanged catalog is not valid: %v", got)
	}
	bundle := func(text string) string {
		return "\n---\nschema: olm.bundle\npackage: crane\nimage: a/b\n" + text
	}
	tests := []struct {
		name     string
		old, new string // replaced once, or appended if old is empty
		rule     validate.Rule
		line     int
		words    string
	}{
		{"package without a name", "", "\n---\nschema: olm.package", validate.PackageName, 62, "no name"},
		{"package twice", "", "\n---\n{schema: olm.package, name: crane, defaultChannel: stable}", validate.PackageDuplicate, 62, `"crane" is a duplicate`},
		{"channel of no package", "", "\n---\n{schema: olm.channel, name: stable, package: derrick}", validate.PackageUnknown, 62, `channel "stable" names package "derrick"`},
		{"channel that names none", "", "\n---\n{schema: olm.channel, name: stable}", validate.PackageUnknown, 62, `channel "stable" names no package`},
		{"bundle of no package", "", "\n---\n{schema: olm.bundle, name: b, package: derrick}", validate.PackageUnknown, 62, `bundle "b" names package "derrick"`},
		{"bundle that names none", "", "\n---\n{schema: olm.bundle, name: b}", validate.PackageUnknown, 62, `bundle "b" names no package`},
		{"deprecations of no package", "", "\n---\n{schema: olm.deprecations, package: derrick}", validate.PackageUnknown, 62, `deprecations names package "derrick"`},
		{"deprecations that name none", "", "\n---\n{schema: olm.deprecations}", validate.PackageUnknown, 62, `deprecations names no package`},
		{"package without channels", "", "\n---\n{schema: olm.package, name: derrick, defaultChannel: a}", validate.PackageChannels, 62, `package "derrick" has no channel`},
		{"package name", "", "\n---\n{schema: olm.package, name: De.rrick, defaultChannel: a}\n---\n" +
			"{schema: olm.channel, name: a, package: De.rrick, entries: [{name: x}]}\n---\n" +
			"{schema: olm.bundle, name: x, package: De.rrick, image: a, properties: [{type: olm.package, value: {packageName: De.rrick, version: 1.0.0}}]}",
			validate.PackageName, 62, `"De.rrick"`},

		{"no default channel", "defaultChannel: stable", "", validate.DefaultChannel, 1, "has no default channel"},
		{"default channel absent", "defaultChannel: stable", "defaultChannel: staple", validate.DefaultChannel, 1, `"staple" is not one of its channels`},

		{"channel without a name", "", "\n---\n{schema: olm.channel, package: crane}", validate.ChannelName, 62, `"crane" has a channel without a name`},
		{"channel twice", "", "\n---\n{schema: olm.channel, package: crane, name: fast}", validate.ChannelDuplicate, 62, `duplicate channel "fast"`},
		{"channel empty", "", "\n---\n{schema: olm.channel, package: crane, name: slow}", validate.ChannelEmpty, 62, `channel "slow" has no entries`},
		{"entry twice", "name: fast\nentries:", "name: fast\nentries:\n- name: crane.v1.2.0", validate.EntryDuplicate, 18, `duplicate entry "crane.v1.2.0"`},
		{"entry without a bundle", "  replaces: crane.v1.0.0", "  replaces: crane.v1.0.0\n- name: crane.v0.9.9", validate.EntryBundle, 5, `entry "crane.v0.9.9"`},
		{"no head", "  replaces: crane.v1.0.0", "  replaces: crane.v1.2.0", validate.ChannelHeads, 5, "has no head"},
		{"two heads", "skips: [crane.v1.1.1, crane.v0.9.9]", "skips: []", validate.ChannelHeads, 5, "2 heads, entries that no other replaces or skips: crane.v1.1.1, crane.v1.2.0"},
		{"cycle", "", "\n---\n{schema: olm.channel, package: crane, name: slow, entries: [{name: crane.v1.2.0, replaces: crane.v1.1.1}, {name: crane.v1.1.1, replaces: crane.v1.1.0}, {name: crane.v1.1.0, replaces: crane.v1.1.1}]}",
			validate.ChannelCycle, 62, "crane.v1.1.1 -> crane.v1.1.0 -> crane.v1.1.1"},
		{"stranded", "", "\n---\n{schema: olm.channel, package: crane, name: slow, entries: [{name: crane.v1.2.0}, {name: crane.v1.1.1, replaces: crane.v1.1.0}, {name: crane.v1.1.0, replaces: crane.v1.1.1}]}",
			validate.ChannelStranded, 62, "crane.v1.1.0, crane.v1.1.1"},
		{"entry without a name", "", "\n---\n{schema: olm.channel, package: crane, name: slow, entries: [{name: crane.v1.2.0}, {skips: [crane.v1.2.0], replaces: x}]}", validate.EntryBundle, 62, `"slow": entries[1] has no name`},
		{"empty skip", "crane.v0.9.9]", `""]`, validate.EntrySkip, 5, "skips[1] is empty"},
		{"skip range", ">=1.0.0 <1.2.0", "<v1.2.0", validate.EntrySkipRange, 5, `skipRange "<v1.2.0"`},

		{"bundle twice", "", bundle("name: crane.v1.1.0"), validate.BundleDuplicate, 62, `duplicate bundle "crane.v1.1.0"`},
		{"bundle without a name", "", bundle("properties: [{type: olm.package, value: {packageName: crane, version: 0.0.1}}]"), validate.BundleName, 62, `"crane" has a bundle without a name`},
		{"orphan", "", bundle("name: orphan\nproperties: [{type: olm.package, value: {packageName: crane, version: 0.0.1}}]"), validate.BundleOrphan, 62, `"orphan" is in no channel`},
		{"no olm.package property", "- {type: olm.package, value: {packageName: crane, version: 1.1.0}}", "", validate.BundlePackage, 24, "has 0"},
		{"two olm.package properties", "- {type: olm.bundle.object, value: {data: e30=}}", "- {type: olm.bundle.object, value: {data: e30=}}\n- {type: olm.package, value: {packageName: crane, version: 1.1.1}}", validate.BundlePackage, 34, "has 2"},
		{"property of another package", "packageName: crane, version: 1.1.0", "packageName: derrick, version: 1.1.0", validate.BundlePackage, 24, `names package "derrick"`},
		{"version", "version: 1.1.0", "version: v1.1.0", validate.BundleVersion, 24, `"v1.1.0" is not a semantic version`},
		{"version is no text", "version: 1.1.0", "version: 1.1", validate.BundleProperty, 24, "properties[0] (olm.package): version must be a string, not a number"},
		{"property without a value", "- {type: olm.maxOpenShiftVersion, value: \"4.19\"}", "- {type: olm.maxOpenShiftVersion}", validate.BundleProperty, 42, "properties[3] (olm.maxOpenShiftVersion) has no value"},
		{"gvk", "kind: Crane", "kind: [Crane]", validate.BundleProperty, 42, "properties[0] (olm.gvk): kind must be a string, not a list"},
		{"manifest is not base64", "data: e30=", "data: e3", validate.BundleProperty, 34, "properties[1] (olm.bundle.object): data is not base64"},
		{"manifest is not YAML", "data: e30=", "data: YTogWw==", validate.BundleProperty, 34, "properties[1] (olm.bundle.object): the manifest in data is not YAML"},
		{"csv metadata", "annotations: {k: v}", "annotations: {k: 1}", validate.BundleProperty, 42, "properties[2] (olm.csv.metadata): annotations.k must be a string, not a number"},
		{"channel priority", "- {type: olm.maxOpenShiftVersion, value: \"4.19\"}", "- {type: olm.channel, value: {channelName: stable, priority: \"1\"}}", validate.BundleProperty, 42, "properties[3] (olm.channel): priority must be a number, not a string"},
		{"channel priority with a fraction", "- {type: olm.maxOpenShiftVersion, value: \"4.19\"}", "- {type: olm.channel, value: {priority: 1.5}}", validate.BundleProperty, 42, "properties[3] (olm.channel): priority must be an integer of 64 bits, not 1.5"},
		{"channel name", "- {type: olm.maxOpenShiftVersion, value: \"4.19\"}", "- {type: olm.channel, value: {channelName: 1}}", validate.BundleProperty, 42, "properties[3] (olm.channel): channelName must be a string, not a number"},
		{"crd descriptions", "displayName: Crane,", "displayName: Crane, crdDescriptions: {owned: [{name: 1}]},", validate.BundleProperty, 42, "properties[2] (olm.csv.metadata): crdDescriptions.owned[0].name must be a string, not a number"},
		{"descriptors", "displayName: Crane,", "displayName: Crane, crdDescriptions: {required: [{specDescriptors: [{value: {a: 1}, x-descriptors: [1]}]}]},", validate.BundleProperty, 42, "crdDescriptions.required[0].specDescriptors[0].x-descriptors[0] must be a string"},
		{"port of an API", "displayName: Crane,", "displayName: Crane, apiServiceDefinitions: {owned: [{containerPort: 2147483648}]},", validate.BundleProperty, 42, "apiServiceDefinitions.owned[0].containerPort must be an integer of 32 bits"},
		{"install mode", "displayName: Crane,", "displayName: Crane, installModes: [{type: AllNamespaces, supported: \"true\"}],", validate.BundleProperty, 42, "installModes[0].supported must be true or false, not a string"},
		{"maintainer", "displayName: Crane,", "displayName: Crane, maintainers: [{email: 1}],", validate.BundleProperty, 42, "maintainers[0].email must be a string"},
		{"native API", "displayName: Crane,", "displayName: Crane, nativeAPIs: [{group: 1}],", validate.BundleProperty, 42, "nativeAPIs[0].group must be a string"},
		{"release", "version: 1.1.0}", "version: 1.1.0, release: '01'}", validate.BundleVersion, 24, `release "01"`},
		{"long release", "version: 1.1.0}", "version: 1.1.0, release: a.b.c.d.e.f.g.h.i.j.k}", validate.BundleVersion, 24, `longer than 20`},
		{"name of a release", "version: 1.1.0}", "version: 1.1.0, release: '2'}", validate.BundleName, 24, `must be named "crane-v1.1.0-2"`},
		{"version twice", "version: 1.1.1", "version: 1.1.0", validate.VersionTwice, 34, "1.1.0 more than once: crane.v1.1.0, crane.v1.1.1"},
		{"no image", "image: registry.example.com/crane:1.2.0", "image: ''", validate.BundleImage, 42, `"crane.v1.2.0" has no image`},
		{"image", "image: registry.example.com/crane:1.2.0", "image: https://registry.example.com/crane", validate.BundleImage, 42, "not a reference"},
		{"related image", `image: "registry.example.com/crane:v1"`, `image: "registry.example.com/Crane:v1"`, validate.RelatedImage, 24, "relatedImages[1]"},

		{"deprecations twice", "", "\n---\n{schema: olm.deprecations, package: crane}", validate.DeprecationTwice, 62, "second olm.deprecations"},
		{"deprecated twice", "{schema: olm.channel, name: fast}", "{schema: olm.package}", validate.DeprecationTwice, 52, "entries[1] duplicates an earlier entry"},
		{"deprecated package named", "{schema: olm.package}", "{schema: olm.package, name: crane}", validate.DeprecationTarget, 52, "must not have a name"},
		{"deprecated channel absent", "{schema: olm.channel, name: fast}", "{schema: olm.channel, name: last}", validate.DeprecationTarget, 52, `channel "last", which does not exist`},
		{"deprecated bundle absent", "{schema: olm.bundle, name: crane.v1.1.0}", "{schema: olm.bundle, name: crane.v1.0.0}", validate.DeprecationTarget, 52, `bundle "crane.v1.0.0", which does not exist`},
		{"deprecated schema", "{schema: olm.channel, name: fast}", "{schema: olm.image, name: fast}", validate.DeprecationTarget, 52, `schema "olm.image"`},
		{"deprecated nothing", "{schema: olm.channel, name: fast}", "{name: fast}", validate.DeprecationTarget, 52, "has no schema"},
		{"deprecated without a message", "message: old channel", "message: ''", validate.DeprecationText, 52, "entries[1] has no message"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := strings.TrimSuffix(valid, "\n") + test.new
			if test.old != "" {
				if strings.Count(valid, test.old) == 0 {
					t.Fatalf("the catalog does not have %q", test.old)
				}
				text = strings.Replace(valid, test.old, test.new, 1)
			}
			got := problems(t, text)
			if len(got) != 1 {
				t.Fatalf("want one problem, got %d: %v", len(got), got)
			}
			if got[0].Rule != test.rule || got[0].Line != test.line || got[0].File != "catalog.yaml" {
				t.Errorf("got %v, want rule %s at line %d", got[0], test.rule, test.line)
			}
			if !strings.Contains(got[0].Message, test.words) {
				t.Errorf("got message %q, want %q in it", got[0].Message, test.words)
			}
		})
	}
}

// TestPropertiesThatOPMAccepts checks unusual values that opm accepts.
func TestPropertiesThatOPMAccepts(t *testing.T) {
	for _, property := range []string{
		`{"type": "olm.channel", "value": {"channelName": "stable", "priority": -3}}`,
		`{"type": "olm.channel", "value": {"priority": 1.0}}`, // opm writes it as 1 before it decodes it
		`{"type": "olm.channel", "value": {"PRIORITY": 1e2, "other": []}}`,
		`{"type": "olm.channel", "value": {"priority": null}}`,
		`{"type": "olm.channel", "value": null}`,
		`{"type": "olm.csv.metadata", "value": {"customResourceDefinitions": []}}`, // the name in a CSV, not here
		`{"type": "olm.csv.metadata", "value": {"crdDescriptions": {"owned": [{"specDescriptors": [{"value": {"a": [1]}}]}]}}}`,
		`{"type": "olm.csv.metadata", "value": {"installModes": [{"supported": false}, null], "provider": null}}`,
		`{"type": "olm.csv.metadata", "value": {"apiServiceDefinitions": {"owned": [{"containerPort": 443}]}}}`,
	} {
		if got := problems(t, strings.Replace(valid, `- {type: olm.maxOpenShiftVersion, value: "4.19"}`, "- "+property, 1)); got != nil {
			t.Errorf("%s: %v", property, got)
		}
	}
}

func TestReleaseWithBuildMetadata(t *testing.T) {
	text := strings.ReplaceAll(valid, "crane.v1.2.0", "crane-v1.2.0+build-3")
	text = strings.Replace(text, "version: 1.2.0+build", `version: 1.2.0+build, release: "3"`, 1)
	got := problems(t, text)
	if len(got) != 1 || got[0].Rule != validate.BundleVersion || !strings.Contains(got[0].Message, "build metadata") {
		t.Errorf("got %v", got)
	}
}

func TestError(t *testing.T) {
	err := &validate.Error{Problems: []validate.Problem{
		{Rule: validate.ChannelEmpty, File: "a/catalog.json", Line: 3, Message: "it is empty"},
		{Rule: validate.BundleImage, Message: "it has none"},
	}}
	many := &validate.Error{Problems: make([]validate.Problem, 60)}
	if !strings.HasSuffix(many.Error(), "\n  and 10 more") {
		t.Errorf("got %s", many)
	}
	want := "OLM rejects the catalog for 2 reasons:\n  a/catalog.json:3: it is empty (channel-empty)\n  it has none (bundle-image)"
	fail.Diff(t, want, err.Error())
}
