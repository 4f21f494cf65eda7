package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli/values"
	"helm.sh/helm/v4/pkg/getter"
	release "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/chart/render"
)

// settings is the file with the options of a case, which is not part of the chart.
type settings struct {
	KubeVersion string         `json:"kubeVersion"`
	APIVersions []string       `json:"apiVersions"`
	ImagePaths  []string       `json:"imagePaths"`
	Scan        bool           `json:"scan"`
	Complete    bool           `json:"complete"`
	Values      map[string]any `json:"values"`
}

// Charts of many shapes are rendered as helm template renders them, byte for byte, and their images are
// found. Each file of testdata/charts is a chart, with the images that it names, and those that it may use.
func TestSameAsHelm(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/charts/*.txtar")
	if err != nil || len(cases) < 10 {
		t.Fatalf("%d charts, %v", len(cases), err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var s settings
			var want, wantPossible string
			chart := new(txtar.Archive)
			for _, f := range txtar.Parse(text).Files {
				switch f.Name {
				case "settings.yaml":
					if err := yaml.UnmarshalStrict(f.Data, &s); err != nil {
						t.Fatal(err)
					}
				case "images.txt":
					want = string(f.Data)
				case "possible.txt":
					wantPossible = string(f.Data)
				default:
					chart.Files = append(chart.Files, f)
				}
			}
			archive := archiveOf(t, string(txtar.Format(chart)))
			own, err := yaml.Marshal(s.Values)
			if err != nil {
				t.Fatal(err)
			}
			got := respond(&render.Request{
				Version: render.ProtocolVersion, Chart: archive, Values: []render.Values{{Name: "values", Data: own}},
				KubeVersion: s.KubeVersion, APIVersions: s.APIVersions, ImagePaths: s.ImagePaths, ScanFields: s.Scan, ScanComplete: s.Complete, Manifests: true,
			})
			if got.Error != nil {
				t.Fatal(got.Error)
			}
			if diff := cmp.Diff(template(t, archive, own, s), got.Manifests); diff != "" {
				t.Errorf("manifests (-helm +gantry-helm):\n%s", diff)
			}
			if diff := cmp.Diff(want, listed(got.Images)); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantPossible, listed(got.Possible)); diff != "" {
				t.Errorf("possible images (-want +got):\n%s", diff)
			}
		})
	}
}

// listed returns images as lines.
func listed(images []render.Image) string {
	var b strings.Builder
	for _, i := range images {
		fmt.Fprintf(&b, "%s  %s\n", i.Name, i.Owner)
	}
	return b.String()
}

// template returns what helm template prints, by the action behind that command.
func template(t *testing.T, archive, own []byte, s settings) string {
	t.Helper()
	c, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if c.Metadata.Type == "library" { // helm template refuses these
		return ""
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, own, 0o600); err != nil {
		t.Fatal(err)
	}
	merged, err := (&values.Options{ValueFiles: []string{file}}).MergeValues(getter.Providers{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := action.NewConfiguration()
	a := action.NewInstall(cfg)
	a.DryRunStrategy, a.ReleaseName, a.Namespace, a.Replace = action.DryRunClient, "release-name", "default", true
	a.APIVersions = s.APIVersions
	if s.KubeVersion != "" {
		if a.KubeVersion, err = common.ParseKubeVersion(s.KubeVersion); err != nil {
			t.Fatal(err)
		}
	}
	done, err := a.RunWithContext(t.Context(), c, merged)
	if err != nil {
		t.Fatal(err)
	}
	rel, ok := done.(*release.Release)
	if !ok {
		t.Fatalf("%T", done)
	}
	var b strings.Builder
	_, _ = io.WriteString(&b, rel.Manifest)
	for _, h := range rel.Hooks {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", h.Path, h.Manifest)
	}
	return b.String()
}
