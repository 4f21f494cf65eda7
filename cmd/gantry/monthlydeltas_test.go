package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

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
	if err != nil {
		s.t.Fatal(err)
	}
	images := map[string]registrytest.Content{"monthly/bundle": bundle, "monthly/operator": monthlyImage(s.t, layers)}
	related := ""
	refs := map[string]string{}
	for _, repository := range slices.Sorted(maps.Keys(images)) {
		d, err := client.Push(s.t.Context(), repository, "latest", images[repository])
		if err != nil {
			s.t.Fatal(err)
		}
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
	if err != nil {
		s.t.Fatal(err)
	}
}

// carry writes the archive of a month, imports it and checks the mirror.
func (s *monthlySite) carry(month int, bundle string) {
	s.t.Helper()
	isc := s.config("monthly.yaml", "  operators:\n  - catalog: "+realIndex+"\n    packages:\n    - name: monthly-operator\n")
	disk := s.path(fmt.Sprintf("disk%d", month))
	s.must(append([]string{"mirror", "-c", isc, fileScheme + disk, "--workspace", s.path("outside")}, s.flags...)...)
	var size int64
	err := filepath.WalkDir(disk, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.bytes = append(s.bytes, size)
	s.must("mirror", "--from", fileScheme+disk, s.docker("/site"), "--workspace", s.path("inside"))
	s.must("verify", s.docker("/site"), "--workspace", s.path("inside"))
	// Pull everything with a client that shares no code with Gantry. It compares every digest.
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
	months := 12
	if text := os.Getenv("GANTRY_TEST_MONTHS"); text != "" {
		var err error
		if months, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
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
	var table strings.Builder
	increments := map[string]int64{} // the bytes of all archives but the first
	table.WriteString("| month |")
	for _, s := range sites {
		fmt.Fprintf(&table, " %s |", s.name)
		for _, n := range s.bytes[1:] {
			increments[s.name] += n
		}
	}
	for month := range content {
		fmt.Fprintf(&table, "\n| %d |", month+1)
		for _, s := range sites {
			fmt.Fprintf(&table, " %.2f |", float64(s.bytes[month])/1e6)
		}
	}
	t.Logf("MB of the archives:\n%s\nbytes of the increments: %v", &table, increments)
	// Half of the whole blobs is a generous bound for both kinds of content.
	if increments["auto"] == 0 || increments["auto"] > increments["off"]/2 {
		t.Errorf("the increments with deltas have %d bytes, and %d without", increments["auto"], increments["off"])
	}
}
