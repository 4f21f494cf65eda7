package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A year is a mirror with two image sets of a catalog that changes every week: the one that is mirrored directly has the
// first two packages, the one that is carried on disks the last two.
type year struct {
	*fixture
	packages []*weeklyPackage
	sets     []*yearSet
	source   *rawReader
	index    string // the repository of the catalog in the source
}

// A yearSet is an image set of the year.
type yearSet struct {
	name, isc string
	catalog   string // its repository in the mirror, below the prefix
	packages  []*weeklyPackage
	week      int             // whose catalog it has
	carried   map[string]bool // manifests and blobs of the plan of the newest archive
}

func newYear(t *testing.T) *year {
	t.Helper()
	y := &year{index: "redhat/redhat-operator-index"}
	y.fixture = &fixture{t: t, dir: t.TempDir(), source: registrytest.Start(t, registrytest.Options{}), mirror: registrytest.Start(t, registrytest.Options{})}
	conf := fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n\n", y.fixture.mirror.Host)
	for _, host := range []string{"vendor.example.com", "registry.redhat.io"} {
		conf += fmt.Sprintf("[[registry]]\nprefix = %q\nlocation = %q\ninsecure = true\n\n", host, y.fixture.source.Host)
	}
	y.surroundings(y.write("registries.conf", conf), "")
	for i, name := range []string{"alder", "birch", "cedar"} {
		y.packages = append(y.packages, y.inventWeeklyPackage(name, 10+5*i))
	}
	y.source = &rawReader{url: y.fixture.source.URL(), read: map[string]*rawManifest{}}
	stanza := func(target string, packages []*weeklyPackage) string {
		s := "  operators:\n  - catalog: " + realIndex + "\n    full: true\n" + target + "    packages:\n"
		for _, p := range packages {
			s += "    - name: " + p.name + "\n"
		}
		return s
	}
	y.sets = []*yearSet{
		{name: "direct", isc: y.config("direct.yaml", stanza("", y.packages[:2])), catalog: "redhat/redhat-operator-index", packages: y.packages[:2]},
		{name: "carried", isc: y.config("carried.yaml", stanza("    targetCatalog: carried/index\n", y.packages[1:])), catalog: "carried/index", packages: y.packages[1:]},
	}
	return y
}

// publish pushes the catalog of a week to the source.
func (y *year) publish(week int) {
	y.t.Helper()
	img, err := registrytest.CatalogImage(weeklyCatalog(y.packages, week))
	if err == nil {
		_, err = y.fixture.source.Client().Push(y.t.Context(), y.index, "v4.18", img)
	}
	if err != nil {
		y.t.Fatal(err)
	}
}

// wanted returns the manifests that a set wants, with its catalog as the mirror has it now.
func (y *year) wanted(s *yearSet) map[string]bool {
	y.t.Helper()
	all := map[string]bool{}
	if s.week == 0 {
		return all
	}
	for _, ref := range weeklyImages(y.t, s.packages, s.week) {
		for _, m := range y.source.tree(y.t, ref.Path, ref.Identifier()) {
			all["site/"+ref.Path+"@"+m.Digest] = true
		}
	}
	mirror := &rawReader{url: y.mirror.URL(), read: map[string]*rawManifest{}}
	for _, m := range mirror.tree(y.t, "site/"+s.catalog, "v4.18") {
		all["site/"+s.catalog+"@"+m.Digest] = true
	}
	return all
}

// allWanted returns what all sets want.
func (y *year) allWanted() map[string]bool {
	all := map[string]bool{}
	for _, s := range y.sets {
		maps.Copy(all, y.wanted(s))
	}
	return all
}

// check compares the mirror with what is wanted.
func (y *year) check(after string) {
	y.t.Helper()
	if lost := without(y.allWanted(), storedManifests(y.t, y.mirror, "site")); len(lost) > 0 {
		y.t.Fatalf("after %s, the mirror does not have %d wanted manifests:\n%s", after, len(lost), strings.Join(lost, "\n"))
	}
}

// direct mirrors the set that is not carried, and checks that the new manifests are the difference.
func (y *year) direct(week int) {
	y.t.Helper()
	s := y.sets[0]
	before := storedManifests(y.t, y.mirror, "site")
	y.mirror.ResetLog()
	args := []string{"mirror", "-c", s.isc, y.docker("/site"), "--workspace", y.path("near")}
	if y.goesBack(s, week) {
		y.refuse(exitMismatch, []string{"the head goes back", "nothing was published"}, args...)
		args = append(args, "--allow-older")
	}
	y.must(args...)
	s.week = week
	y.checkAdded(fmt.Sprintf("the direct run of week %d", week), s, before)
}

// checkAdded checks that a run pushed the manifests that the set wants and the mirror did not have, and
// each once.
func (y *year) checkAdded(run string, s *yearSet, before map[string]bool) {
	y.t.Helper()
	y.check(run)
	after := storedManifests(y.t, y.mirror, "site")
	added, want := without(after, before), without(y.wanted(s), before)
	if !slices.Equal(added, want) {
		y.t.Errorf("%s added\n%s\nand the difference is\n%s", run, strings.Join(added, "\n"), strings.Join(want, "\n"))
	}
	pushed := map[string]int{}
	for _, r := range contentLog(y.mirror) {
		if r.Kind() == "PUT manifest" {
			pushed[r.Repository()]++
		}
	}
	n := 0
	for _, count := range pushed {
		n += count
	}
	// An image with a tag and a digest may be pushed under both. A catalog that was published before is
	// pushed again with its platforms, to get its tag.
	if n < len(added) || n > 2*len(added)+3 {
		y.t.Errorf("%s pushed %d manifests, and the difference has %d", run, n, len(added))
	}
}

// carry writes the archive of a week to a disk of its own and imports it.
func (y *year) carry(week int) {
	y.t.Helper()
	s := y.sets[1]
	disk := y.path("disk" + strconv.Itoa(week))
	var older []string
	if y.goesBack(s, week) {
		older = []string{"--allow-older"}
	}
	o := y.must(append([]string{"mirror", "-c", s.isc, fileScheme + disk, "--workspace", y.path("outside")}, older...)...)
	y.checkArchive(week, disk)
	if strings.Contains(o.stdout, "Nothing to copy") {
		if y.window(s, week) != y.window(s, s.week) {
			y.t.Errorf("the archive of week %d was not written:\n%s", week, o.stdout)
		}
		return
	}
	before := storedManifests(y.t, y.mirror, "site")
	y.mirror.ResetLog()
	y.must(append([]string{"mirror", "--from", fileScheme + disk, y.docker("/site"), "--workspace", y.path("inside")}, older...)...)
	s.week = week
	y.checkAdded(fmt.Sprintf("the import of week %d", week), s, before)
}

// goesBack reports whether a package has an older newest bundle than in the week that the set has.
func (y *year) goesBack(s *yearSet, week int) bool {
	return s.week > 0 && slices.ContainsFunc(s.packages, func(p *weeklyPackage) bool {
		now, before := p.window(week), p.window(s.week)
		newest := func(b weeklyBundle) bool { return b.name == now[len(now)-1].name }
		return slices.IndexFunc(before, newest) >= 0 && !newest(before[len(before)-1])
	})
}

// window describes what a set has in a week.
func (y *year) window(s *yearSet, week int) string {
	return fmt.Sprint(weeklyImages(y.t, s.packages, week))
}

// prune deletes what is not wanted, and checks that exactly this is gone.
func (y *year) prune(week int) {
	y.t.Helper()
	y.must("prune", "--yes", y.docker("/site"), "--workspace", y.path([]string{"near", "inside", "other"}[week/4%3]))
	stored, wanted := storedManifests(y.t, y.mirror, "site"), y.allWanted()
	if lost := without(wanted, stored); len(lost) > 0 {
		y.t.Fatalf("prune in week %d deleted\n%s", week, strings.Join(lost, "\n"))
	}
	if left := without(stored, wanted); len(left) > 0 {
		o := y.gantry("prune", y.docker("/site"))
		y.t.Errorf("prune in week %d left\n%s\n%s%s", week, strings.Join(left, "\n"), o.stdout, o.stderr)
	}
}

// pulled pulls the catalogs of the mirror with all images.
func (y *year) pulled(week int) {
	y.t.Helper()
	for _, s := range y.sets {
		v, err := y.mirror.Client().VerifyCatalog(y.t.Context(), "site/"+s.catalog, "v4.18", func(path string) string { return "site/" + path })
		if err != nil {
			y.t.Fatalf("week %d: %s: %v", week, s.name, err)
		}
		var want []string
		for _, p := range s.packages {
			want = append(want, elements.Map(p.window(s.week), func(b weeklyBundle) string { return b.name })...)
		}
		if slices.Sort(want); !slices.Equal(v.Bundles, want) {
			y.t.Errorf("week %d: %s has the bundles\n%v, want\n%v", week, s.name, v.Bundles, want)
		}
	}
}

// nothingNew counts the requests of a week with nothing new.
func (y *year) nothingNew(week int) {
	y.t.Helper()
	y.fixture.source.ResetLog()
	y.mirror.ResetLog()
	y.must("mirror", "-c", y.sets[0].isc, y.docker("/site"), "--workspace", y.path("near"))
	source, to := len(y.fixture.source.Log()), len(y.mirror.Log())
	y.t.Logf("week %d, nothing new: %d requests to the source %v, %d to the mirror %v", week, source, y.fixture.source.Requests(), to, y.mirror.Requests())
	repositories, images, named := map[string]bool{y.index: true}, weeklyImages(y.t, y.sets[0].packages, week), 1 // the catalog
	for _, ref := range images {
		repositories[ref.Path] = true
		if ref.Digest == "" {
			named++
		}
	}
	// The source is asked whether it responds and whether it has the referrers API, for the tags of each repository,
	// and for each manifest that only a tag names.
	if want := 2 + len(repositories) + named; source != want {
		y.t.Errorf("week %d: %d requests to the source for %d repositories, %d tags and nothing new, want %d", week, source, len(repositories), named, want)
	}
	// The mirror has at most 12 requests for the lease, the records and the last of them, its API and up to 4 samples of blobs, at most one for the tags of each
	// repository and of the records, and at most one for each manifest of the images and the catalog.
	kinds := y.mirror.Requests()
	tags, heads, manifests := kinds["GET tags"], kinds["HEAD manifest"], len(y.wanted(y.sets[0]))
	if to-tags-heads > 12 || tags > 2+len(repositories) || heads > 1+manifests {
		y.t.Errorf("week %d: requests to the mirror for %d repositories, %d manifests and nothing new: %v", week, len(repositories), manifests, kinds)
	}
}

// TestYear mirrors a catalog that changes every week, for a year, to one mirror: one image set directly,
// and one with a new disk each week. Every fourth week, prune deletes what no image set needs.
func TestYear(t *testing.T) {
	t.Parallel()
	long(t)
	weeks := 52
	if text := os.Getenv("GANTRY_TEST_WEEKS"); text != "" {
		var err error
		if weeks, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	y := newYear(t)
	for week := 1; week <= weeks; week++ {
		y.publish(week)
		began := time.Now()
		y.direct(week)
		direct := time.Since(began)
		y.carry(week)
		carried := time.Since(began) - direct
		switch week {
		case 6: // the import changed what the mirror has since the last run of the other workspace
			y.refuse(exitMismatch, []string{"in the cluster resources", "since the last run here, ", "mirrored the image set "}, "verify", y.docker("/site"), "--workspace", y.path("near"))
		case 7, 49:
			y.nothingNew(week)
			y.must("verify", y.docker("/site"), "--workspace", y.path("near"))
		}
		if week%4 == 0 {
			y.prune(week)
			y.pulled(week)
		}
		y.must("verify", y.docker("/site"), "--workspace", y.path("inside"))
		t.Logf("week %d: direct %.2fs, carried %.2fs, all %.2fs", week, direct.Seconds(), carried.Seconds(), time.Since(began).Seconds())
		if t.Failed() {
			t.FailNow()
		}
	}
}
