package bundle_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

const tidewaterImage = "quay.io/harbour/tidewater-bundle:v1.2.0"

func TestRead(t *testing.T) {
	b, err := bundle.Read(os.DirFS("testdata/tidewater"))
	fail.On(t, err)
	want := &bundle.Bundle{
		Name:    "tidewater.v1.2.0",
		Package: "tidewater",
		Version: "1.2.0",
		Warnings: []string{
			"manifests/README.md: the file is neither JSON nor YAML and is ignored",
			"manifests/tidewater.clusterserviceversion.yaml:55: 1 related images without an image are ignored",
		},
	}
	fail.Diff(t, want, b, cmpopts.IgnoreUnexported(bundle.Bundle{}))
}

// small is a bundle with only what is required.
func small() fstest.MapFS {
	return files(map[string]string{
		"metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.package.v1: lantern
`,
		"manifests/csv.yaml": `kind: ClusterServiceVersion
metadata:
  name: lantern.v0.1.0
spec:
  version: 0.1.0
`,
	})
}

func files(texts map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range texts {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// with returns a file system with changed files; "" removes a file.
func with(fsys fstest.MapFS, changes map[string]string) fstest.MapFS {
	changed := maps.Clone(fsys)
	for name, text := range changes {
		changed[name] = &fstest.MapFile{Data: []byte(text)}
		if text == "" {
			delete(changed, name)
		}
	}
	return changed
}

func TestReadRefuses(t *testing.T) {
	const (
		csv         = "manifests/csv.yaml"
		annotations = "metadata/annotations.yaml"
		begin       = "kind: ClusterServiceVersion\nmetadata:\n  name: a.v1\n"
	)
	for name, tc := range map[string]struct {
		change map[string]string
		want   string
	}{
		"nothing": {
			map[string]string{csv: "", annotations: ""},
			"reading the bundle: missing folder metadata; a bundle needs the folders metadata and manifests: open metadata: file does not exist",
		},
		"no manifests": {
			map[string]string{csv: ""},
			"reading the bundle: missing folder manifests; a bundle needs the folders metadata and manifests: open manifests: file does not exist",
		},
		"no annotations": {
			map[string]string{annotations: "", "metadata/other.yaml": "annotations: {other: x}"},
			"metadata: no file has the annotation operators.operatorframework.io.bundle.package.v1 or another annotation of a bundle",
		},
		"no package": {
			map[string]string{annotations: "annotations:\n  operators.operatorframework.io.bundle.channels.v1: stable\n"},
			"metadata/annotations.yaml:1: the annotation operators.operatorframework.io.bundle.package.v1 is missing; set it to the name of the package",
		},
		"another media type": {
			map[string]string{annotations: `annotations:
  operators.operatorframework.io.bundle.package.v1: lantern

  operators.operatorframework.io.bundle.mediatype.v1: plain+v0
`},
			"metadata/annotations.yaml:4: the media type of the bundle is plain+v0; only registry+v1 is supported in catalogs",
		},
		"manifests outside": {
			map[string]string{annotations: `annotations:
  operators.operatorframework.io.bundle.package.v1: lantern
  operators.operatorframework.io.bundle.manifests.v1: ../../etc
`},
			`metadata/annotations.yaml:3: the folder of the manifests, "../../etc", is not inside of the bundle`,
		},
		"an annotation that is not text": {
			map[string]string{annotations: `annotations:
  operators.operatorframework.io.bundle.package.v1: {}
`},
			"metadata/annotations.yaml:1: annotations must be a string, not an object",
		},
		"broken annotations": {
			map[string]string{annotations: "annotations:\n\tpackage: x\n"},
			"metadata/annotations.yaml:2: the YAML is broken: found character that cannot start any token",
		},
		"broken manifest": {
			map[string]string{"manifests/crd.yml": "# a definition\nkind: [CustomResourceDefinition\n"},
			"manifests/crd.yml:2: the YAML is broken: did not find expected ',' or ']'",
		},
		"broken JSON": {
			map[string]string{"manifests/crd.json": "{\"kind\": \"CustomResourceDefinition\",\n  \"spec\" }\n  [\n"},
			"manifests/crd.json:2: the JSON is broken: invalid character '}' after object key",
		},
		"no ClusterServiceVersion": {
			map[string]string{csv: "", "manifests/service.yaml": "kind: Service\n"},
			"manifests: the folder has 1 files but no ClusterServiceVersion; a bundle needs exactly one",
		},
		"two ClusterServiceVersions": {
			map[string]string{"manifests/other.yaml": "# the other one\n" + begin},
			"manifests/other.yaml:1: the bundle has a second ClusterServiceVersion; the first is manifests/csv.yaml; create one bundle per version",
		},
		"no version": {
			map[string]string{csv: begin + "spec:\n  displayName: A\n"},
			"manifests/csv.yaml:4: the ClusterServiceVersion has no spec.version",
		},
		"an invalid version and no name": {
			map[string]string{csv: "kind: ClusterServiceVersion\nmetadata:\n  labels: {}\nspec:\n  displayName: A\n  version: v1.2\n"},
			"2 problems in the catalog:\n" +
				"  manifests/csv.yaml:2: the ClusterServiceVersion has no name\n" +
				"  manifests/csv.yaml:6: the version \"v1.2\" is not a semantic version such as 1.2.3: No Major.Minor.Patch elements found",
		},
		"a version that is a number": {
			map[string]string{csv: begin + "spec:\n  version: 1.2\n"},
			"manifests/csv.yaml:5: spec.version must be a string, not a number",
		},
		"keywords that are not a list": {
			map[string]string{csv: "# a comment\n---\n" + begin + "spec:\n  version: 1.2.3\n  keywords: moon\n"},
			"manifests/csv.yaml:8: spec.keywords must be a list, not a string",
		},
		"a member that only OLM decodes": {
			map[string]string{csv: "# a comment\n---\n" + begin + "spec:\n  version: 1.2.3\n  skips: moon\n"},
			"manifests/csv.yaml:8: spec.skips must be a list, not a string",
		},
		"a missing owned definition": {
			map[string]string{csv: begin + `spec:
  version: 1.2.3
  customresourcedefinitions:
    owned:
    - {name: tides.sea.example.com, version: v1, kind: Tide}
    - {name: tides, version: v1, kind: Tide}
`},
			"2 problems in the catalog:\n" +
				"  manifests/csv.yaml:8: the bundle has no CustomResourceDefinition tides.sea.example.com with version v1 and kind Tide, which the ClusterServiceVersion owns\n" +
				"  manifests/csv.yaml:9: the name \"tides\" of an owned definition is not of the form plural.group",
		},
		"a required definition without a group": {
			map[string]string{csv: begin + "spec:\n  version: 1.2.3\n  customresourcedefinitions: {required: [{name: tides}]}\n"},
			"manifests/csv.yaml:6: the name \"tides\" of a required definition is not of the form plural.group",
		},
		"dependencies that are not a list": {
			map[string]string{"metadata/dependencies.yaml": "\ndependencies: {type: olm.package}\n"},
			"metadata/dependencies.yaml:2: dependencies must be a list of elements with a type and a value",
		},
		"a dependency without a value": {
			map[string]string{"metadata/dependencies.yaml": "dependencies:\n- {type: olm.label, value: {label: a}}\n- type: olm.package\n"},
			"metadata/dependencies.yaml:3: an element of dependencies, of type olm.package, has no value",
		},
		"a dependency of another shape": {
			map[string]string{"metadata/dependencies.yaml": "dependencies:\n- {type: olm.package, value: [lantern]}\n"},
			"metadata/dependencies.yaml:2: reading a dependency of type olm.package: the value must be an object, not a list",
		},
		"properties about another package": {
			map[string]string{"metadata/properties.yaml": "properties:\n- type: olm.package\n  value: {packageName: lamp, version: 0.1.0}\n"},
			`metadata/properties.yaml:2: the property olm.package is for package "lamp", but the annotations name "lantern"`,
		},
		"two packages": {
			map[string]string{csv: `kind: ClusterServiceVersion
metadata:
  name: a.v1
  annotations:
    olm.properties: '[{"type":"olm.package","value":{"packageName":"lantern","version":"1.0.0"}},{"type":"olm.package","value":{"packageName":"lantern","version":"1.0.1"}}]'
spec: {version: 1.0.0}
`},
			"manifests/csv.yaml:5: there are two different olm.package properties; keep one",
		},
		"a large file": {
			map[string]string{"manifests/large.yaml": "x: " + strings.Repeat("y", 5<<20)},
			"reading the bundle: manifests/large.yaml: the file exceeds the limit of 4194304 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := bundle.Read(with(small(), tc.change))
			if err == nil {
				t.Fatalf("no error, read %+v", b)
			}
			fail.Diff(t, tc.want, err.Error())
		})
	}
}

func TestReadTakes(t *testing.T) {
	for name, change := range map[string]map[string]string{
		"the smallest": nil,
		"an additional file of comments": {
			"manifests/empty.yaml": "# nothing\n---\n# nothing\n", "metadata/notes.txt": "\tnotes: [",
		},
		"other folders and hidden files": {"manifests/sub/a.yaml": "[", "manifests/.hidden": "[", "metadata/tests/x.yaml": "["},
		"manifests in another folder": {
			"metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.package.v1: lantern
  operators.operatorframework.io.bundle.manifests.v1: /deploy/objects/
`,
			"manifests/csv.yaml":      "",
			"deploy/objects/csv.yaml": string(small()["manifests/csv.yaml"].Data),
		},
		"annotations in a file of another name, as JSON": {
			"metadata/annotations.yaml": "",
			"metadata/a":                `{"annotations": {"operators.operatorframework.io.bundle.package.v1": "lantern"}}`,
		},
		"properties of something else": {"metadata/schema.yaml": "properties: {type: object}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := render(with(small(), change), "quay.io/l/b:v1")
			fail.On(t, err)
			want := `{"schema":"olm.bundle","name":"lantern.v0.1.0","package":"lantern","image":"quay.io/l/b:v1",` +
				`"properties":[{"type":"olm.package","value":{"packageName":"lantern","version":"0.1.0"}},` +
				`{"type":"olm.csv.metadata","value":{"apiServiceDefinitions":{},"crdDescriptions":{},"provider":{}}}],` +
				`"relatedImages":[{"name":"","image":"quay.io/l/b:v1"}]}`
			fail.Diff(t, want, string(m.Raw))
		})
	}
}

func TestReadWarns(t *testing.T) {
	b, err := bundle.Read(with(small(), map[string]string{
		"manifests/csv.yaml": `kind: ClusterServiceVersion
metadata:
  name: lantern.v0.1.0
  annotations:
    olm.properties: '{"type": "a"}'
spec:
  version: 0.1.0
`,
		"metadata/p.json":     `{"properties": [{"type": "olm.csv.metadata", "value": {}}]}`,
		"manifests/two.yaml":  "kind: Service\n---\nkind: Secret\n",
		"manifests/list.yaml": "- kind: Service\n",
	}))
	fail.On(t, err)
	want := []string{
		"manifests/list.yaml:1: the file is not a Kubernetes object and is ignored",
		"manifests/two.yaml:1: only the first document of the file is used; put each object into its own file",
		"metadata/p.json:1: the property olm.csv.metadata is ignored: it is generated from the manifests",
		"manifests/csv.yaml:5: the annotation olm.properties is not a JSON list of properties and is ignored: the value must be a list, not an object",
	}
	fail.Diff(t, want, b.Warnings)
}

// The package's version and release may be in properties.yaml, which overrides the
// ClusterServiceVersion.
func TestReadOwnProperty(t *testing.T) {
	b, err := bundle.Read(with(small(), map[string]string{
		"metadata/properties.yaml": "properties: [{type: olm.package, value: {packageName: lantern, version: 0.1.1, release: '2'}}]\n",
		"manifests/csv.yaml": `kind: ClusterServiceVersion
metadata:
  name: lantern-v0.1.1-2
  annotations:
    olm.properties: '[{"type":"olm.package","value":{"packageName":"lantern","version":"0.1.0","release":"1"}}]'
spec: {version: 0.1.0}
`,
	}))
	fail.On(t, err)
	if b.Version != "0.1.1" || b.Release != "2" {
		t.Errorf("got version %s, release %s", b.Version, b.Release)
	}
	m, err := b.Meta("quay.io/l/b:v1")
	fail.On(t, err)
	got := decoded(t, m)
	if got.VersionErr != nil || got.Version.String() != "0.1.1" || got.Release != "2" {
		t.Errorf("got %s-%s, %v", got.Version, got.Release, got.VersionErr)
	}
}

// decoded returns a rendered object as a catalog decodes it.
func decoded(t testing.TB, m *catalog.Meta) *catalog.Bundle {
	t.Helper()
	c, err := catalog.New([]*catalog.Meta{m})
	fail.On(t, err)
	b := c.Package(m.Package).Bundle(m.Name)
	if b == nil {
		t.Fatalf("missing bundle %s in %s", m.Name, path.Join(c.Names...))
	}
	return b
}

// render returns the object of the bundle in a file system, with a summary of its manifests.
func render(fsys fs.FS, image string) (*catalog.Meta, error) {
	b, err := bundle.Read(fsys)
	if err != nil {
		return nil, err
	}
	m, err := b.Meta(image)
	if err != nil {
		return nil, err
	}
	return bundle.Migrate(m)
}
