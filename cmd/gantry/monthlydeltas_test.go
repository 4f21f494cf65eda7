package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// monthlyContent returns the layers of an image in each of the months, as tar archives: a base that
// changes in some months, and a program and scripts that change in all. If GANTRY_TEST_CORPUS names a
// folder that .ci/tools/deltacorpus made, these are versions of real programs.
func monthlyContent(t *testing.T, months int) (all [][][]byte) {
	t.Helper()
	if dir := os.Getenv("GANTRY_TEST_CORPUS"); dir != "" {
		return corpusContent(t, dir, months)
	}
	for month := range months {
		all = append(all, [][]byte{
			tarOf(t, "usr/share/base", program(1, 1<<20, month/3)),
			tarOf(t, "usr/bin/operator", program(2, 2<<20, month)),
			tarOf(t, "app/scripts", program(3, 1<<20, month)),
		})
	}
	return all
}

// corpusContent returns real content: the base is a small C or C++ package, which gets its next version every third month.
func corpusContent(t *testing.T, dir string, months int) (all [][][]byte) {
	t.Helper()
	var corpus struct {
		Layers []struct {
			Series, Kind, Tar string
			Size              int64
		}
	}
	fail.On(t, json.Unmarshal([]byte(readText(t, filepath.Join(dir, "index.json"))), &corpus))
	versions, base := map[string][]string{}, ""
	for _, l := range corpus.Layers {
		if l.Kind == "C/C++" && l.Size < 10e6 {
			base = l.Series
		}
		versions[l.Series] = append(versions[l.Series], filepath.Join(dir, l.Tar))
	}
	if len(versions["crane"]) < months || len(versions["prettier"]) < months || base == "" {
		t.Fatalf("%s has %d versions of crane and %d of prettier, and %d months need as many", dir, len(versions["crane"]), len(versions["prettier"]), months)
	}
	for month := range months {
		var layers [][]byte
		for _, file := range []string{versions[base][min(month/3, len(versions[base])-1)], versions["crane"][month], versions["prettier"][month]} {
			layers = append(layers, []byte(readText(t, file)))
		}
		all = append(all, layers)
	}
	return all
}

func tarOf(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))})
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// monthlyImage returns an image with these layers, compressed as by programs that use compress/gzip.
func monthlyImage(t *testing.T, layers [][]byte) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64"})
	fail.On(t, err)
	for _, content := range layers {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
			tarball.WithCompressionLevel(gzip.DefaultCompression))
		if err == nil {
			img, err = mutate.AppendLayers(img, layer)
		}
		fail.On(t, err)
	}
	return img
}

// A monthlySite is a disconnected site that gets a disk every month.
type monthlySite struct {
	*fixture
	name  string
	flags []string // of the runs that write archives
	bytes []int64  // of each month's archive
}

// newMonthlySites returns sites that differ in the flags with which their archives are written. They have
// the same source.
func newMonthlySites(t *testing.T, flags map[string][]string) []*monthlySite {
	t.Helper()
	source := registrytest.Start(t, registrytest.Options{})
	var sites []*monthlySite
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		s := &monthlySite{name: name, flags: flags[name], fixture: &fixture{
			t: t, dir: registrytest.TempDir(t), source: source, mirror: registrytest.Start(t, registrytest.Options{}),
		}}
		conf := fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n\n", s.mirror.Host)
		for _, host := range []string{"vendor.example.com", "registry.redhat.io"} {
			conf += fmt.Sprintf("[[registry]]\nprefix = %q\nlocation = %q\ninsecure = true\n\n", host, source.Host)
		}
		s.surroundings(s.write("registries.conf", conf), "")
		sites = append(sites, s)
	}
	return sites
}

// A monthlySource is a catalog with one operator, which gets a bundle each month.
type monthlySource struct {
	*fixture
	entries, bundles string
	last             string
}

// publish pushes the images of a month, and the catalog with the bundles of all months so far.
func (s *monthlySource) publish(month int, layers [][]byte) {
	s.t.Helper()
	client, name, version := s.source.Client(), "monthly-operator", fmt.Sprintf("1.%d.0", month)
	bundle, err := registrytest.BundleImage(name, version)
	fail.On(s.t, err)
	images := map[string]registrytest.Content{"monthly/bundle": bundle, "monthly/operator": monthlyImage(s.t, layers)}
	related := ""
	refs := map[string]string{}
	for _, repository := range slices.Sorted(maps.Keys(images)) {
		d, err := client.Push(s.t.Context(), repository, "latest", images[repository])
		fail.On(s.t, err)
		refs[repository] = "vendor.example.com/" + repository + "@" + d.String()
		related += "- {name: '', image: '" + refs[repository] + "'}\n"
	}
	this := name + ".v" + version
	s.entries += "- name: " + this + "\n"
	if s.last != "" {
		s.entries += "  replaces: " + s.last + "\n"
	}
	s.last = this
	s.bundles += fmt.Sprintf("---\nschema: olm.bundle\nname: %s\npackage: %s\nimage: %s\nproperties:\n- type: olm.package\n  value: {packageName: %[2]s, version: %[4]s}\nrelatedImages:\n%[5]s",
		this, name, refs["monthly/bundle"], version, related)
	text := "schema: olm.package\nname: " + name + "\ndefaultChannel: stable\n---\nschema: olm.channel\nname: stable\npackage: " + name + "\nentries:\n" + s.entries + s.bundles
	img, err := registrytest.CatalogImage(fstest.MapFS{name + "/catalog.yaml": &fstest.MapFile{Data: []byte(text)}})
	if err == nil {
		_, err = client.Push(s.t.Context(), "redhat/redhat-operator-index", "v4.18", img)
	}
	fail.On(s.t, err)
}

// carry writes the archive of a month, imports it and checks the mirror.
func (s *monthlySite) carry(month int, bundle string) {
	s.t.Helper()
	isc := s.config("monthly.yaml", "  operators:\n  - catalog: "+realIndex+"\n    packages:\n    - name: monthly-operator\n")
	disk := s.path(fmt.Sprintf("disk%d", month))
	s.must(append([]string{"mirror", "-c", isc, fileScheme + disk, "--workspace", s.path("outside")}, s.flags...)...)
	var size int64
	for _, file := range s.glob(disk + "/*") {
		info, err := os.Stat(file)
		fail.On(s.t, err)
		size += info.Size()
	}
	s.bytes = append(s.bytes, size)
	s.must("mirror", "--from", fileScheme+disk, s.docker("/site"), "--workspace", s.path("inside"))
	s.must("verify", s.docker("/site"), "--workspace", s.path("inside"))
	// A client that shares no code with Gantry pulls everything, and compares every digest.
	v, err := s.mirror.Client().VerifyCatalog(s.t.Context(), "site/redhat/redhat-operator-index", "v4.18", func(path string) string { return "site/" + path })
	if err != nil {
		s.t.Fatalf("%s, month %d: %v", s.name, month, err)
	}
	if len(v.Bundles) != 1 || v.Bundles[0] != bundle {
		s.t.Fatalf("%s, month %d: the mirror has the bundles %s, want %s", s.name, month, v.Bundles, bundle)
	}
}

// TestMonthlyIncrements carries a new version of an operator each month for a year, with and without
// deltas. Every import is verified. GANTRY_TEST_CORPUS=DIR does it with real programs, GANTRY_TEST_MONTHS=N for N months.
func TestMonthlyIncrements(t *testing.T) {
	t.Parallel()
	long(t)
	months, err := strconv.Atoi(cmp.Or(os.Getenv("GANTRY_TEST_MONTHS"), "12"))
	fail.On(t, err)
	flags := map[string][]string{"auto": {"--delta", "auto"}, "off": {"--delta", "off"}}
	if os.Getenv("GANTRY_TEST_CORPUS") != "" {
		flags["max"] = []string{"--delta", "max"}
	}
	sites := newMonthlySites(t, flags)
	content := monthlyContent(t, months)
	source := &monthlySource{fixture: sites[0].fixture}
	for month, layers := range content {
		source.publish(month, layers)
		for _, s := range sites {
			s.carry(month, source.last)
		}
	}
	increments := map[string]int64{} // the bytes of all archives but the first
	for _, s := range sites {
		t.Logf("bytes of the archives of %s: %v", s.name, s.bytes)
		for _, n := range s.bytes[1:] {
			increments[s.name] += n
		}
	}
	t.Logf("bytes of the increments: %v", increments)
	// Half of the whole blobs is a generous bound for both kinds of content.
	if increments["auto"] == 0 || increments["auto"] > increments["off"]/2 {
		t.Errorf("the increments with deltas have %d bytes, and %d without", increments["auto"], increments["off"])
	}
}
