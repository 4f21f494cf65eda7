package image

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestFiles(t *testing.T) {
	labels := map[string]string{bundleLabel: "crane", manifestsLabel: "manifests/", metadataLabel: "metadata/"}
	content := []header{
		{"manifests/", ""}, {"manifests/csv.yaml", "CSV"}, {"manifests/crds/a.yaml", "A"}, {"metadata/annotations.yaml", "N"}, {"tests/x", "x"}, {"bin", "-> usr/bin"},
	}
	tests := []struct {
		name   string
		labels map[string]string
		layers [][]header
		want   map[string]string
		err    string
	}{
		{"plain", labels, [][]header{base, content}, map[string]string{"manifests/csv.yaml": "CSV", "manifests/crds/a.yaml": "A", "metadata/annotations.yaml": "N"}, ""},
		{"only one label", map[string]string{bundleLabel: "crane"}, [][]header{content}, map[string]string{"manifests/csv.yaml": "CSV", "manifests/crds/a.yaml": "A", "metadata/annotations.yaml": "N"}, ""},
		{
			"other directories", map[string]string{manifestsLabel: "/bundle/m/", metadataLabel: "bundle"},
			[][]header{{{"bundle/m/csv.yaml", "CSV"}, {"bundle/annotations.yaml", "N"}}},
			map[string]string{"manifests/csv.yaml": "CSV", "metadata/m/csv.yaml": "CSV", "metadata/annotations.yaml": "N"}, "",
		},
		{
			"replaced and removed", labels,
			[][]header{content, {{"manifests/.wh.crds", ""}, {"manifests/csv.yaml", "CSV2"}}},
			map[string]string{"manifests/csv.yaml": "CSV2", "metadata/annotations.yaml": "N"}, "",
		},
		{
			"links", labels,
			[][]header{{{"etc/csv.yaml", "CSV"}, {"manifests/b.yaml", "=> etc/csv.yaml"}}, {{"manifests/a.yaml", "-> ../etc/csv.yaml"}, {"manifests/c.yaml", "-> b.yaml"}}},
			map[string]string{"manifests/a.yaml": "CSV", "manifests/b.yaml": "CSV", "manifests/c.yaml": "CSV"}, "",
		},
		{
			"directories that are links", labels,
			[][]header{{{"deploy/v1/csv.yaml", "CSV"}, {"deploy/v1/crds/a.yaml", "-> ../b.yaml"}, {"deploy/v1/b.yaml", "B"}}, {{"manifests", "-> deploy/v1"}, {"metadata/annotations.yaml", "N"}}},
			map[string]string{"manifests/csv.yaml": "CSV", "manifests/crds/a.yaml": "B", "manifests/b.yaml": "B", "metadata/annotations.yaml": "N"}, "",
		},
		{"a directory that is a link to nowhere", labels, [][]header{{{"manifests", "-> x"}}}, nil, "does not exist"},
		{"link to nowhere", labels, [][]header{{{"manifests/a.yaml", "-> /x"}}}, nil, "does not exist"},
		{"link to a directory", labels, [][]header{{{"manifests/a", "-> /x"}, {"x/y", "Y"}}}, nil, "leads to a directory"},
		{"no files", labels, [][]header{base}, nil, "no file below /manifests or /metadata"},
		{"large", labels, [][]header{{{"manifests/a", strings.Repeat("x", maxBundle/2+1)}, {"manifests/b", strings.Repeat("x", maxBundle/2)}}}, nil, "more than 67108864 bytes"},
		{"many", labels, [][]header{many(maxBundleFiles + 1)}, nil, "4096 files"},
		{"the root", map[string]string{manifestsLabel: "/"}, nil, nil, "is the root directory"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && test.name == "large" {
				t.Skip("packs 64 MiB")
			}
			m := newMemory()
			img, err := Open(t.Context(), m, "", m.putImage(t, source{labels: test.labels, layers: test.layers}.image(t)))
			var files fs.FS
			if err == nil {
				files, err = img.Files(t.Context())
			}
			if test.err != "" {
				says(t, err, test.err)
				return
			}
			fail.On(t, err)
			fail.On(t, fstest.TestFS(files, slices.Collect(maps.Keys(test.want))...))
			got := map[string]string{}
			fail.On(t, fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := fs.ReadFile(files, name)
				got[name] = string(data)
				return err
			}))
			fail.Diff(t, test.want, got)
		})
	}
}

func many(n int) []header {
	var headers []header
	for i := range n {
		headers = append(headers, header{fmt.Sprintf("manifests/%d", i), "x"})
	}
	return headers
}
