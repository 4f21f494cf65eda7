package chart_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// packed is the digest of the archive of TestPack.
const packed = "81ed5de3f88d4a8848d8f578645536810bee17c983aaa364ec6d58663b91ec23"

const chartYAML = "apiVersion: v2\nname: web\nversion: 1.2.0+a\n"

func TestRead(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 20_001 {
		many[fmt.Sprintf("web/%d", i)] = ""
	}
	in := func(name, text string) []byte {
		return charttest.Archive(map[string]string{"web/Chart.yaml": chartYAML, name: text})
	}
	for name, test := range map[string]struct {
		archive []byte
		want    string // in the error; "" for none
	}{
		"a chart":                {archive: in("web/templates/a.yaml", "a: b\n")},
		"of Windows":             {archive: charttest.Archive(map[string]string{`web\Chart.yaml`: chartYAML})},
		"no gzip":                {archive: []byte(chartYAML), want: "not an archive of a chart"},
		"empty":                  {archive: charttest.Archive(nil), want: "no Chart.yaml"},
		"without folder":         {archive: charttest.Archive(map[string]string{"Chart.yaml": chartYAML}), want: "not in the folder"},
		"traversal":              {archive: in("web/../../etc/passwd", ""), want: `"web/../../etc/passwd", which is not in the folder`},
		"backslashes":            {archive: in(`web\..\..\etc\passwd`, ""), want: "not in the folder"},
		"an absolute path":       {archive: in("/etc/passwd", ""), want: "not in the folder"},
		"a drive":                {archive: in("web/c:/x", ""), want: "not in the folder"},
		"no text":                {archive: charttest.Archive(map[string]string{"web/Chart.yaml": "["}), want: "reading Chart.yaml"},
		"a large Chart.yaml":     {archive: charttest.Archive(map[string]string{"web/Chart.yaml": strings.Repeat("#", 1<<20+1)}), want: "it has more than 1048576 bytes"},
		"a name with a slash":    {archive: charttest.Archive(map[string]string{"web/Chart.yaml": "name: a/b\nversion: 1.0.0\n"}), want: `the name "a/b"`},
		"a name that no one has": {archive: charttest.Archive(map[string]string{"web/Chart.yaml": "name: Web\nversion: 1.0.0\n"}), want: `the name "Web"`},
		"no version":             {archive: charttest.Archive(map[string]string{"web/Chart.yaml": "name: web\n"}), want: `the version ""`},
		"a long file":            {archive: charttest.Archive(map[string]string{"web/a": strings.Repeat("x", 101<<20)}), want: "more than 104857600 bytes unpacked"},
		"many files":             {archive: charttest.Archive(many), want: "more than 20000 files"},
		"large":                  {archive: make([]byte, chart.MaxArchive+1), want: "the archive has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := chart.Read(test.archive)
			if test.want == "" && (err != nil || c.Name != "web" || c.Version != "1.2.0+a") {
				t.Errorf("%+v, %v", c, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A folder becomes the same archive each time, without what .helmignore excludes.
func TestPack(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	folder := fstest.MapFS{
		"Chart.yaml": file(chartYAML), "values.yaml": file("a: b\n"), "templates/a.yaml": file("image: x:1\n"), "templates/.a.yaml.swp": file("x"),
		".helmignore": file("# comment\n*.bak\n/docs/\n.git\nsecret/key.pem\n"), "values.bak": file("x"), "docs/a.md": file("x"), "templates/docs": file("x"),
		".git/config": file("x"), "secret/key.pem": file("x"), "secret/other.pem": file("x"), "charts/sub/Chart.yaml": file("name: sub\nversion: 1.0.0\n"),
	}
	c, err := chart.Pack(folder)
	fail.On(t, err)
	again, err := chart.Pack(folder)
	if err != nil || !bytes.Equal(c.Archive, again.Archive) {
		t.Errorf("another archive; %v", err)
	}
	if got := digest.FromBytes(c.Archive); got != "sha256:"+packed {
		t.Errorf("the archive has the digest %s: charts of earlier plans cannot be made again", got)
	}
	var names []string
	for name := range filesOf(t, c.Archive) {
		names = append(names, name)
	}
	want := []string{"web/.helmignore", "web/Chart.yaml", "web/charts/sub/Chart.yaml", "web/secret/other.pem", "web/templates/a.yaml", "web/templates/docs", "web/values.yaml"}
	fail.Diff(t, want, names)
	back, err := chart.Read(c.Archive)
	if err != nil || back.Name != "web" {
		t.Errorf("%+v, %v", back, err)
	}
	for want, folder := range map[string]fstest.MapFS{
		"no Chart.yaml":                       {"a": file("x")},
		"is not a pattern that Helm supports": {"Chart.yaml": file(chartYAML), ".helmignore": file("a/**\n")},
		"is not a semantic version":           {"Chart.yaml": file("name: a\nversion: latest\n")},
		"is not a regular file":               {"Chart.yaml": file(chartYAML), "pipe": {Mode: 0o10000000000 | 0x2000000}},
		"nest deeper than 50":                 {"Chart.yaml": file(chartYAML), strings.Repeat("a/", 60) + "b": file("x")},
	} {
		if _, err := chart.Pack(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A store keeps what is written in memory.
type store map[digest.Digest][]byte

func (s store) Write(_ context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return ocispec.Descriptor{}, err
	}
	d := digest.FromBytes(b.Bytes())
	s[d] = b.Bytes()
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(b.Len())}, nil
}

// The artifact has the form that helm push gives it, and is the same each time.
func TestBuild(t *testing.T) {
	t.Parallel()
	c, err := chart.Read(charttest.Archive(map[string]string{"web/Chart.yaml": chartYAML + "description: Größe <1>\nkeywords: [b, a]\n"}))
	fail.On(t, err)
	c.Provenance = []byte("signed\n")
	s := store{}
	root, err := chart.Build(t.Context(), s, c)
	fail.On(t, err)
	if again, err := chart.Build(t.Context(), store{}, c); err != nil || again.Digest != root.Digest {
		t.Errorf("another artifact: %v", err)
	}
	archive, provenance, err := chart.FromManifest(s[root.Digest])
	if err != nil || provenance == nil || string(s[provenance.Digest]) != "signed\n" || !bytes.Equal(s[archive.Digest], c.Archive) {
		t.Fatalf("%v, %v, %v", archive, provenance, err)
	}
	want := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","digest":"%s","size":%d},`+
		`"layers":[{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","digest":"%s","size":%d},`+
		`{"mediaType":"application/vnd.cncf.helm.chart.provenance.v1.prov","digest":"%s","size":7}],`+
		`"annotations":{"org.opencontainers.image.title":"web","org.opencontainers.image.version":"1.2.0+a"}}`,
		digest.FromString(config), len(config), archive.Digest, archive.Size, provenance.Digest)
	fail.Diff(t, want, string(s[root.Digest]))
	if chart.Tag(c.Version) != "1.2.0_a" || chart.VersionOf("1.2.0_a") != c.Version {
		t.Error(chart.Tag(c.Version))
	}
	for text, want := range map[string]string{
		"x":  "reading the manifest",
		"{}": "it is not a chart",
		`{"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json"}}`:                                                                                                   "no layer has the type",
		`{"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json"},"layers":[{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","size":99999999999}]}`: "more than",
	} {
		if _, _, err := chart.FromManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

const config = `{"apiVersion":"v2","description":"Größe \u003c1\u003e","keywords":["b","a"],"name":"web","version":"1.2.0+a"}`
