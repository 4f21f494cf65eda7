package imageset_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
)

var (
	patterns    = cmp.Comparer(func(a, b *regexp.Regexp) bool { return a.String() == b.String() })
	noPositions = cmpopts.IgnoreTypes(imageset.Position{})
	noWarnings  = cmpopts.IgnoreFields(imageset.Config{}, "Warnings", "Unusable")
)

// cases returns the files in the matching txtar archives by name.
func cases(t testing.TB, glob string) map[string][]byte {
	t.Helper()
	archives, err := filepath.Glob(glob)
	if err != nil || len(archives) == 0 {
		t.Fatalf("no test data at %s (%v)", glob, err)
	}
	marker := regexp.MustCompile(`(?m)^-- (\S+) --\n`)
	files := map[string][]byte{}
	for _, a := range archives {
		text, err := os.ReadFile(a)
		fail.On(t, err)
		at := marker.FindAllSubmatchIndex(text, -1)
		for i, m := range at {
			end, name := len(text), string(text[m[2]:m[3]])
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			if files[name] != nil {
				t.Fatalf("%s: %s is there twice", a, name)
			}
			files[name] = text[m[1]:end:end]
		}
	}
	return files
}

func TestBadFiles(t *testing.T) {
	files := cases(t, "testdata/bad/*.txtar")
	for name := range maps.Keys(files) {
		base, ok := strings.CutSuffix(name, ".yaml")
		if !ok {
			continue
		}
		t.Run(base, func(t *testing.T) {
			c, err := imageset.Parse(name, files[name])
			var problems *imageset.Error
			if !errors.As(err, &problems) || c != nil {
				t.Fatalf("got %v, %v; want no configuration and an *Error", c, err)
			}
			fail.Diff(t, string(files[base+".err"]), err.Error()+"\n")
		})
	}
}

func TestGoodFiles(t *testing.T) {
	files := cases(t, "testdata/good/*.txtar")
	for name := range maps.Keys(files) {
		base, ok := strings.CutSuffix(name, ".yaml")
		if !ok {
			continue
		}
		t.Run(base, func(t *testing.T) {
			c, err := imageset.Parse(name, files[name])
			fail.On(t, err)
			for _, w := range c.Warnings {
				t.Error(w)
			}
			got, err := json.MarshalIndent(c, "", "  ")
			fail.On(t, err)
			fail.Diff(t, string(files[base+".json"]), string(got)+"\n")
			for what, text := range map[string][]byte{
				"JSON":           got,
				"tabs":           bytes.ReplaceAll(got, []byte("  "), []byte("\t")),
				"Windows' lines": append([]byte("\ufeff"), bytes.ReplaceAll(files[name], []byte("\n"), []byte("\r\n"))...),
			} {
				again, err := imageset.Parse(name, text)
				if err != nil {
					t.Errorf("%s: %v", what, err)
				} else if diff := cmp.Diff(c, again, patterns, noPositions); diff != "" {
					t.Errorf("%s (-first +again):\n%s", what, diff)
				}
			}
		})
	}
}

const everything = `apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
archiveSize: 8589934591
mirror:
  operators:
  - catalog: dir:///catalog
    targetCatalog: org/catalog
    targetTag: v1
    targetCatalogSourceTemplate: cs.yaml
    platforms:
    - os: linux
      architecture: s390x
    packages:
    - name: foo
      defaultChannel: stable
      minVersion: 1.0.0
      channels:
      - name: stable
    - name: bar
      channels:
      - {name: fast, maxVersion: 2.0.0+a}
    - name: baz
      bundles:
      - name: baz.v1.0.0
  - catalog: oci:///index
    full: true
    dependencies: true
    installed:
    - {package: foo, bundle: foo.v1.0.0, version: 1.0.0, channel: stable}
  additionalImages:
  - name: quay.io/a/b:v1
    targetRepo: a/c
    targetTag: v2
    platforms: [{os: windows, architecture: amd64}]
  blockedImages:
  - name: a/.*
  platform:
    graph: true
    channels:
    - name: stable-4.20
      minVersion: 4.20.1
      maxVersion: 4.20.5
      shortestPath: true
    - name: eus-4.20
      type: ocp
      maxVersion: 4.20.5
      from: [4.18.20, 4.18.30]
      risks: {accept: [A], forbid: [B]}
    - {name: stable-4, type: okd, full: true, risks: {policy: ignore}}
    architectures: [amd64, multi]
    kubeVirtContainer: true
    updateService: https://updates.example.com/graph
    graphData: graph-data.tar.gz
    signatureStores: ['file:///signatures']
    signatureKeys: [keys/release.asc]
  helm:
    repositories:
    - name: charts
      url: https://charts.example.com
      charts:
      - {name: c, version: 1.0.0, imagePaths: ["{.spec.image}"], platforms: [{os: linux, architecture: amd64}], platformsMode: rewrite}
      - {name: e, versions: ">=1.0.0 <2", newest: 3}
    local:
    - name: d
      path: charts/d.tgz
      values: {replicas: 2, on: yes, "day": 2026-01-02, list: [1.50, ~, "no"]}
      valuesFiles: [values.yaml]
      kubeVersion: "1.30"
      apiVersions: [monitoring.coreos.com/v1]
      scan: fields
  signatures: remove
  samples: [{name: "ruby*"}]
  files:
  - url: https://example.com/pub/live.iso
    sha256: BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
  - path: bin/oc
    target: tools/oc
    executable: true
  minAge: 3d
`

func TestParse(t *testing.T) {
	got, err := imageset.Parse("f.yaml", []byte(everything))
	fail.On(t, err)
	at := func(line, column int) imageset.Position {
		return imageset.Position{File: "f.yaml", Line: line, Column: column}
	}
	want := &imageset.Config{
		Pos:         at(1, 1),
		ArchiveSize: 8589934591,
		Mirror: imageset.Mirror{
			Operators: []imageset.Operator{{
				Pos:                         at(6, 5),
				Catalog:                     "dir:///catalog",
				TargetCatalog:               "org/catalog",
				TargetTag:                   "v1",
				TargetCatalogSourceTemplate: "cs.yaml",
				Platforms:                   []imageset.Platform{{Pos: at(11, 7), OS: "linux", Architecture: "s390x"}},
				Packages: []imageset.Package{{
					Pos: at(14, 7), Name: "foo", DefaultChannel: "stable", Range: imageset.Range{Min: "1.0.0"},
					Channels: []imageset.Channel{{Pos: at(18, 9), Name: "stable"}},
				}, {
					Pos: at(19, 7), Name: "bar",
					Channels: []imageset.Channel{{Pos: at(21, 9), Name: "fast", Range: imageset.Range{Max: "2.0.0+a"}}},
				}, {
					Pos: at(22, 7), Name: "baz", Bundles: []imageset.Bundle{{Pos: at(24, 9), Name: "baz.v1.0.0"}},
				}},
			}, {
				Pos: at(25, 5), Catalog: "oci:///index", Full: true, Dependencies: true,
				Installed: []imageset.Installed{{Pos: at(29, 7), Package: "foo", Bundle: "foo.v1.0.0", Version: "1.0.0", Channel: "stable"}},
			}},
			AdditionalImages: []imageset.Image{{
				Pos: at(31, 5), Name: "quay.io/a/b:v1", TargetRepo: "a/c", TargetTag: "v2",
				Platforms: []imageset.Platform{{Pos: at(34, 17), OS: "windows", Architecture: "amd64"}},
			}},
			BlockedImages: []imageset.Blocked{{Pos: at(36, 5), Name: "a/.*", Pattern: regexp.MustCompile("a/.*")}},
			Platform: &imageset.Releases{
				Pos: at(38, 5), Graph: true,
				Channels: []imageset.ReleaseChannel{{
					Pos: at(40, 7), Name: "stable-4.20", Product: release.OCP,
					Range: imageset.Range{Min: "4.20.1", Max: "4.20.5"}, ShortestPath: true,
				}, {
					Pos: at(44, 7), Name: "eus-4.20", Product: release.OCP, Range: imageset.Range{Max: "4.20.5"},
					From:  []imageset.InstalledVersion{{Pos: at(47, 14), Version: "4.18.20"}, {Pos: at(47, 23), Version: "4.18.30"}},
					Risks: imageset.RiskPolicy{Accept: []string{"A"}, Forbid: []string{"B"}},
				}, {
					Pos: at(49, 7), Name: "stable-4", Product: release.OKD, Full: true, Risks: imageset.RiskPolicy{Ignore: true},
				}},
				Architectures:     []release.Arch{"amd64", release.Multi},
				KubeVirtContainer: true,
				UpdateService:     "https://updates.example.com/graph",
				GraphData:         "graph-data.tar.gz",
				SignatureStores:   []string{"file:///signatures"},
				SignatureKeys:     []string{"keys/release.asc"},
			},
			Helm: &imageset.Helm{
				Pos: at(57, 5),
				Repositories: []imageset.HelmRepository{{
					Pos: at(58, 7), Name: "charts", URL: "https://charts.example.com",
					Charts: []imageset.Chart{{
						Pos: at(61, 9), Name: "c", Version: "1.0.0", ImagePaths: []string{"{.spec.image}"},
						Platforms: []imageset.Platform{{Pos: at(61, 78), OS: "linux", Architecture: "amd64"}}, PlatformsMode: "rewrite",
					}, {Pos: at(62, 9), Name: "e", Versions: ">=1.0.0 <2", Newest: 3}},
				}},
				Local: []imageset.Chart{{
					Pos: at(64, 7), Name: "d", Path: "charts/d.tgz",
					Values: []byte(`{"day":"2026-01-02","list":[1.5,null,"no"],"on":true,"replicas":2}`), ValuesFiles: []string{"values.yaml"},
					KubeVersion: "1.30", APIVersions: []string{"monitoring.coreos.com/v1"}, Scan: imageset.ScanFields,
				}},
			},
			Signatures: imageset.RemoveSignatures,
			MinAge:     "3d",
			Samples:    []imageset.Sample{{Pos: at(72, 13), Name: "ruby*"}},
			Files: []imageset.File{
				{Pos: at(74, 5), URL: "https://example.com/pub/live.iso", SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Target: "live.iso"},
				{Pos: at(76, 5), Path: "bin/oc", Target: "tools/oc", Executable: true},
			},
		},
	}
	fail.Diff(t, want, got, patterns)
}

// TestEveryFieldIsRead checks that Parse fills every field of the types: the configurations above
// set each field at least once.
func TestEveryFieldIsRead(t *testing.T) {
	set := map[string]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch {
		case v.Kind() == reflect.Pointer && !v.IsNil() && v.Type() != reflect.TypeFor[*regexp.Regexp]():
			walk(v.Elem())
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[imageset.Position]():
			for i := range v.NumField() {
				name := v.Type().Name() + "." + v.Type().Field(i).Name
				set[name] = set[name] || !v.Field(i).IsZero()
				walk(v.Field(i))
			}
		}
	}
	for _, text := range []string{everything, byPlatforms, byTag} {
		c, err := imageset.Parse("f.yaml", []byte(text))
		fail.On(t, err)
		walk(reflect.ValueOf(*c))
	}
	for name, ok := range set {
		if !ok && name != "Config.Unusable" && name != "Config.Warnings" {
			t.Errorf("%s is not read", name)
		}
	}
}
