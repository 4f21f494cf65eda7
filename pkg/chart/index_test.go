package chart_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// filesOf iterates over the files of an archive.
func filesOf(t *testing.T, archive []byte) func(yield func(string, []byte) bool) {
	t.Helper()
	return func(yield func(string, []byte) bool) {
		z, err := gzip.NewReader(bytes.NewReader(archive))
		fail.On(t, err)
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			text, readErr := io.ReadAll(r)
			fail.On(t, errors.Join(err, readErr))
			if !yield(h.Name, text) {
				return
			}
		}
	}
}

// TestDenseIndex checks that an index which would take sixty times its size in memory is refused.
func TestDenseIndex(t *testing.T) {
	t.Parallel()
	const n = 300_000
	for name, text := range map[string]string{
		"objects":       "entries:\n  a:\n  - {name: a}\n  - [" + strings.Repeat("{},", n) + "]\n",
		"texts":         "entries:\n  a:\n" + strings.Repeat("  - b\n", n),
		"nested lists":  "entries:\n  a:\n" + strings.Repeat("  - - - - - - - -\n", n),
		"JSON":          `{"apiVersion":"v1","entries":{"a":[{}` + strings.Repeat(",{}", n) + `]}}`,
		"one line":      "entries: {a: [" + strings.Repeat("1,", n) + "]}",
		"a name":        "entries:\n  [" + strings.Repeat("1,", n) + "1]:\n",
		"another chart": "entries:\n  a:\n  - {name: a}\n  [" + strings.Repeat("1,", n) + "1]:\n",
	} {
		i, err := chart.ParseIndex([]byte(text))
		if err == nil {
			_, err = i.Versions("a")
		}
		if err == nil || !strings.Contains(err.Error(), "would take too much memory") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

func TestParseIndex(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("chart-%04d 1.0.0", i), fmt.Sprintf("chart-%04d 1.1.0", i))
	}
	large, err := chart.ParseIndex([]byte(charttest.Index(lines...)))
	fail.On(t, err)
	versions, err := large.Versions("chart-4999")
	if len(large.Names()) != 5000 || len(versions) != 2 || err != nil || versions[1].Version != "1.1.0" || versions[1].URLs[0] != "chart-4999-1.1.0.tgz" {
		t.Errorf("%d charts, %v, %v", len(large.Names()), versions, err)
	}
	for name, text := range map[string]string{
		"the form of Helm":   "apiVersion: v1\nentries:\n  b:\n  - name: b\n    version: 1.0.0\n    urls: [u]\n  # comment\n  \"a\":\n    - {name: a, version: 1.0.0, urls: [v], type: library, digest: x}\n    - ~\ngenerated: x\n",
		"other fields first": "entries:\n    b:\n      - {name: b, version: 1.0.0, urls: [u]}\n    a: \n      - {name: a, version: 1.0.0, urls: [v], type: library, digest: x}\napiVersion: v1\n",
		"in one line":        "apiVersion: v1\nentries: {b: [{name: b, version: 1.0.0, urls: [u]}], a: [{name: a, version: 1.0.0, urls: [v], type: library, digest: x}]}\n",
		"JSON":               `{"apiVersion": "v1", "entries": {"b": [{"name": "b", "version": "1.0.0", "urls": ["u"]}], "a": [{"name": "a", "version": "1.0.0", "urls": ["v"], "type": "library", "digest": "x"}, null]}}`,
		"an anchor":          "apiVersion: v1\nentries:\n  b: &b\n  - {name: b, version: 1.0.0, urls: [u]}\n  a:\n  - {name: a, version: 1.0.0, urls: [v], type: library, digest: x}\n",
	} {
		i, err := chart.ParseIndex([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a, errA := i.Versions("a")
		b, errB := i.Versions("b")
		if err := errors.Join(errA, errB); err != nil || !slices.Equal(i.Names(), []string{"a", "b"}) {
			t.Errorf("%s: %v, %v", name, i.Names(), err)
		}
		want := []chart.Version{{Name: "a", Version: "1.0.0", URLs: []string{"v"}, Type: "library", Digest: "x"}}
		if diff := cmp.Diff(want, a); diff != "" || !a[0].IsLibrary() {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([]chart.Version{{Name: "b", Version: "1.0.0", URLs: []string{"u"}}}, b); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if none, err := i.Versions("c"); none != nil || err != nil {
			t.Errorf("%s: %v, %v", name, none, err)
		}
	}
	for want, text := range map[string]string{
		"not the index of a chart repository": "<html>\n",
		"reading the index":                   "a: b: c\n",
		"neither apiVersion nor entries":      "a: b\n",
		"another form than Helm writes":       "entries: {" + strings.Repeat("a", 17<<20) + "}\n",
	} {
		if _, err := chart.ParseIndex([]byte(text)); err == nil || !strings.Contains(err.Error(), want) && want != "not the index of a chart repository" {
			t.Errorf("%v, want %q", err, want)
		}
	}
	i, err := chart.ParseIndex([]byte("entries:\n  a:\n  - version: [\n"))
	if err == nil {
		_, err = i.Versions("a")
	}
	if err == nil {
		t.Error("broken versions are read")
	}
}

// Reading the charts of an index one by one gives what YAML gives for the whole.
func FuzzParseIndex(f *testing.F) {
	f.Add(charttest.Index("a 1.0.0", "a 2.0.0 abc", "b 1.0.0"))
	f.Add("entries:\n  a:\n  - {name: a}\n  a: []\n")
	f.Add("entries:\n  ? a\n  : - name: b\n")
	f.Add("entries:\n  a:\n    - name: |\n        x\n       y\n")
	f.Add("x: |\n entries:\nentries:\n a:\n - name: 'x\n\n   y'\n")
	f.Add("entries:\n  a:\n  - &x {name: x}\n  b:\n  - *x\n")
	f.Fuzz(func(t *testing.T, text string) {
		i, err := chart.ParseIndex([]byte(text))
		if err != nil {
			return
		}
		var whole struct {
			Entries map[string][]*chart.Version `yaml:"entries"`
		}
		if yaml.Unmarshal([]byte(text), &whole) != nil {
			return // only the charts that are needed are read
		}
		for name, all := range whole.Entries {
			got, err := i.Versions(name)
			if err != nil {
				continue // an anchor of another chart
			}
			var want []chart.Version
			for _, v := range all {
				if v != nil {
					want = append(want, *v)
				}
			}
			if len(got)+len(want) > 0 && !cmp.Equal(want, got) {
				t.Errorf("%q: %v, want %v", name, got, want)
			}
		}
	})
}

func TestSelect(t *testing.T) {
	t.Parallel()
	all := []string{"1.0.0", "2.1.0", "2.0.0-rc.1", "1.5.0", "v1.4.0", "latest", "2.0.0", "3.0.0-beta"}
	for _, test := range []struct {
		s    chart.Selection
		want string
	}{
		{chart.Selection{}, "2.1.0"},
		{chart.Selection{Version: "1.5.0"}, "1.5.0"},
		{chart.Selection{Version: "1.4.0"}, "v1.4.0"},
		{chart.Selection{Version: "v1.4.0"}, "v1.4.0"},
		{chart.Selection{Version: "3.0.0-beta"}, "3.0.0-beta"},
		{chart.Selection{Version: "^1.0.0"}, "1.5.0"},
		{chart.Selection{Version: "9.0.0"}, ""},
		{chart.Selection{Versions: ">=1.5.0 <3"}, "2.1.0 2.0.0 1.5.0"},
		{chart.Selection{Versions: "*"}, "2.1.0 2.0.0 1.5.0 v1.4.0 1.0.0"},
		{chart.Selection{Versions: ">=0.0.0-0"}, "3.0.0-beta 2.1.0 2.0.0 2.0.0-rc.1 1.5.0 v1.4.0 1.0.0"},
		{chart.Selection{Newest: 2}, "2.1.0 2.0.0"},
		{chart.Selection{Versions: "1.x", Newest: 2}, "1.5.0 v1.4.0"},
	} {
		got, err := test.s.Select(all)
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %q, %v, want %q", test.s, got, err, test.want)
		}
	}
	if _, err := (chart.Selection{Versions: "newest"}).Select(all); err == nil {
		t.Error("a range that is none is accepted")
	}
}
