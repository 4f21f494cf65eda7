package admission_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/admission"
)

// chain is a catalog of the package kite, in which each version replaces the one before. The images of its bundles exist.
func chain(versions ...string) string {
	text, entries, before := "---\n{schema: olm.package, name: kite, defaultChannel: stable}\n", "", ""
	for _, v := range versions {
		entries += fmt.Sprintf("{name: kite.v%s%s}, ", v, before)
		before = ", replaces: kite.v" + v
		text += bundle("kite", v, "tools/netcheck:1.4")
	}
	return text + "---\n{schema: olm.channel, package: kite, name: stable, entries: [" + entries + "]}\n"
}

func bundle(pkg, version, image string) string {
	return fmt.Sprintf("---\n{schema: olm.bundle, package: %s, name: %[1]s.v%s, image: 'images.example.net/%s', properties: [{type: olm.package, value: {packageName: %[1]s, version: %[2]s}}]}\n", pkg, version, image)
}

// catalogFolder writes a catalog to a folder and returns its name.
func catalogFolder(s *mirrortest.Site, text string) string {
	s.T.Helper()
	if err := os.MkdirAll(s.Path("kites"), 0o755); err != nil {
		s.T.Fatal(err)
	}
	s.Write("kites/catalog.yaml", text)
	return "dir://" + s.Path("kites")
}

// kites writes the configuration of a month: the catalog, and a line for the package.
func kites(s *mirrortest.Site, name, catalog, pkg string) string {
	return s.Config(name, "  operators:\n  - {catalog: '"+catalog+"', targetCatalog: org/kites, targetTag: v1, "+pkg+"}\n")
}

// months returns a site and the configurations of two months, and one whose second month strands nothing.
func months(t *testing.T) (s *mirrortest.Site, first, second, fixed string) {
	t.Helper()
	s = mirrortest.New(t, registrytest.Options{})
	source := catalogFolder(s, chain("1.0.0", "1.1.0", "1.2.0", "1.3.0"))
	return s, kites(s, "first.yaml", source, "packages: [{name: kite, maxVersion: 1.0.0}]"), kites(s, "second.yaml", source, "packages: [{name: kite}]"),
		kites(s, "fixed.yaml", source, "packages: [{name: kite}], installed: [{package: kite, bundle: kite.v1.0.0, version: 1.0.0, channel: stable}]")
}

const (
	strandedKite = "package kite, channel stable (OLM classic, OLM v1): kite.v1.0.0: there is no upgrade path to the head kite.v1.3.0"
	fixedKite    = "to fix it: keep kite.v1.1.0, kite.v1.2.0: add {package: kite, bundle: kite.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog in the configuration, or set minVersion: 1.1.0"
)

// refuses ends runs that strand clusters, dry copies nothing, and older allows older content.
func refuses(o *mirroring.Options) { o.OnStrand = admission.OnStrandRefuse }
func dry(o *mirroring.Options)     { o.DryRun = true }
func older(o *mirroring.Options)   { o.AllowOlder = true }

// from reads an archive at a site.
func from(s *mirrortest.Site, archive string) func(*mirroring.Options) {
	return func(o *mirroring.Options) {
		o.Config, o.From, o.Workspace, o.Name = "", []string{archive}, s.Path("site"), ""
	}
}

// runs mirrors a configuration as the image set ops.
func runs(s *mirrortest.Site, isc, to string, change ...func(*mirroring.Options)) (*mirroring.Result, error) {
	o := s.MirrorOptions(isc, to)
	o.Env, o.Name = s.NewEnv(), "ops"
	for _, c := range change {
		c(&o)
	}
	return mirroring.Run(s.T.Context(), o)
}

// must is runs, which must succeed. It returns the result and what the run says.
func must(s *mirrortest.Site, isc, to string, change ...func(*mirroring.Options)) (*mirroring.Result, string) {
	s.T.Helper()
	s.Said()
	r, err := runs(s, isc, to, change...)
	if err != nil {
		s.T.Fatal(env.ErrorText(err))
	}
	return r, strings.Join(s.Said(), "\n")
}

// refused is runs, which must end with advice.Mismatch. The error and what the run says contain the words.
func refused(s *mirrortest.Site, words []string, isc, to string, change ...func(*mirroring.Options)) *mirroring.Result {
	s.T.Helper()
	s.Said()
	r, err := runs(s, isc, to, change...)
	mirrortest.Refused(s.T, err, advice.Mismatch)
	text := strings.Join(s.Said(), "\n") + "\n" + env.ErrorText(err)
	for _, word := range words {
		says(s.T, text, word)
	}
	return r
}

// says checks that a text has words.
func says(t *testing.T, text, words string) {
	t.Helper()
	if !strings.Contains(text, words) {
		t.Errorf("no %q in\n%s", words, text)
	}
}

// TestReplacedInRegistry mirrors the catalogs of two months to a registry.
func TestReplacedInRegistry(t *testing.T) {
	t.Parallel()
	s, first, second, fixed := months(t)
	to, at := s.Docker("ocp"), s.Mirror.Host+"/ocp/org/kites:v1"
	if r, _ := must(s, first, to); len(r.Replaced) != 0 {
		t.Errorf("the first run replaces a catalog: %+v", r.Replaced)
	}
	s.Mirror.ResetLog()
	must(s, first, to)
	if n := s.Mirror.Requests()["GET blob"]; n != 0 {
		t.Errorf("a run without anything new read %d blobs", n)
	}

	// Refused: nothing changes at the mirror.
	before := s.Mirror.Requests()["PUT manifest"]
	r := refused(s, []string{strandedKite + "; " + fixedKite, "would strand 1 installed version of the one at " + at + ", so nothing was published", "Options.OnStrand to warn"}, second, to, refuses)
	if len(r.Replaced) != 1 || len(r.Replaced[0].Stranded) != 1 || r.Replaced[0].Stranded[0].Fixes[0].MinVersion != "1.1.0" || r.Replaced[0].Before == r.Replaced[0].After || r.Replaced[0].At != at {
		t.Errorf("got %+v", r.Replaced)
	}
	refused(s, []string{strandedKite}, second, to, refuses, dry)
	if after := s.Mirror.Requests()["PUT manifest"]; after != before {
		t.Errorf("a refused run pushed %d manifests", after-before)
	}
	if r, _ := must(s, fixed, to, refuses, dry); len(r.Replaced) != 1 || len(r.Replaced[0].Stranded) != 0 {
		t.Errorf("the fix does not help: %+v", r.Replaced)
	}

	// The default warns, and the next run has nothing to say.
	_, said := must(s, second, to)
	says(t, said, strandedKite+"; "+fixedKite)
	if r, _ := must(s, second, to); len(r.Replaced) > 0 {
		t.Errorf("the same catalog is replaced: %+v", r.Replaced)
	}

	// Older content needs an option. A dry run says so, too.
	words := []string{"is older than the one at " + at + ", so nothing was published: package kite, channel stable: the head goes back from kite.v1.3.0 to kite.v1.0.0", "set Options.AllowOlder"}
	refused(s, words, first, to)
	refused(s, words, first, to, dry)
	must(s, first, to, older)

	// Another workspace reads the published catalog from the mirror.
	refused(s, []string{strandedKite}, second, to, refuses, func(o *mirroring.Options) { o.Workspace = s.Path("other") })
	_, err := runs(s, second, to, func(o *mirroring.Options) { o.OnStrand = "stop" })
	mirrortest.Refused(t, err, advice.Input, `Options.OnStrand "stop"`, "known, warn, refuse")
	for _, change := range []func(*mirroring.Options){refuses, older} {
		_, err := runs(s, second, env.LayoutScheme+s.Path("layout"), change)
		mirrortest.Refused(t, err, advice.Input, "Options.OnStrand refuse and Options.AllowOlder are for docker:// and file:// destinations")
	}
}

// TestReplacedInArchives writes archives of two months, and imports them at a site.
func TestReplacedInArchives(t *testing.T) {
	t.Parallel()
	s, first, second, _ := months(t)
	disk := func(n string) string { return s.Archive("disk" + n) }
	must(s, first, disk("1"))
	refused(s, []string{strandedKite + "; " + fixedKite, "of the one at sequence 1, so nothing was published"}, second, disk("2"), refuses)
	if _, err := os.Stat(s.Path("disk2/gantry-000002.json")); err == nil {
		t.Error("a refused run wrote an archive")
	}
	r, said := must(s, second, disk("2"))
	says(t, said, "at sequence 1 is replaced: "+strandedKite)
	if len(r.Replaced) != 1 || r.Replaced[0].At != "sequence 1" {
		t.Errorf("%+v", r.Replaced)
	}
	refused(s, []string{"is older than the one at sequence 2"}, first, disk("3"))
	refused(s, []string{"is older than the one at sequence 2"}, first, disk("3"), func(o *mirroring.Options) { o.Full = true })
	must(s, first, disk("3"), func(o *mirroring.Options) { o.Since = mirroring.Since{Sequence: 1} })

	site := s.Docker("site")
	must(s, "", site, from(s, disk("1")))
	unknown := strandedKite + "; to fix it: the original catalog is not available to tell which bundles are missing; add {package: kite, bundle: kite.v1.0.0, version: 1.0.0, channel: stable} to installed of the catalog and plan again"
	refused(s, []string{unknown}, "", site, from(s, disk("2")), refuses)
	_, said = must(s, "", site, from(s, disk("2")))
	says(t, said, unknown)
	refused(s, []string{"sequence 1 is older than sequence 2, which was imported before", "Options.AllowOlder"}, "", site, from(s, disk("1")))
	_, said = must(s, "", site, from(s, disk("1")), older)
	says(t, said, "the head goes back from kite.v1.3.0 to kite.v1.0.0")
}

// pushKites pushes a catalog as an image that was created on a day.
func pushKites(s *mirrortest.Site, text string, day time.Time) {
	s.T.Helper()
	labels := map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}
	img, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{Labels: labels}, []registrytest.File{{Name: "configs/kite/catalog.yaml", Data: []byte(text)}})
	if err == nil {
		img, err = mutate.CreatedAt(img, v1.Time{Time: day})
	}
	if err == nil {
		_, err = s.Source.Client().Push(s.T.Context(), "registry.example.com/replaced/kites", "v1", img)
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

// TestOlderSource mirrors a catalog whose source was created before the source of the published one.
func TestOlderSource(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	june := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	one, two := chain("1.0.0"), chain("1.0.0", "1.1.0")
	for _, kind := range []string{"packages: [{name: kite}]", "full: true"} { // built, and as it is
		isc := s.Config("imageset.yaml", "  operators:\n  - {catalog: 'registry.example.com/replaced/kites:v1', "+kind+"}\n")
		to := s.Docker(kind[:4])
		pushKites(s, one, june)
		must(s, isc, to)
		pushKites(s, two, june.AddDate(0, 0, -30))
		refused(s, []string{"so nothing was published: the source of the catalog was created on 2026-05-02, before the one of the published catalog on 2026-06-01", "Options.AllowOlder"}, isc, to)
		pushKites(s, two, june.AddDate(0, 1, 0))
		must(s, isc, to)
		pushKites(s, two, june)
		if r, _ := must(s, isc, to, older); len(r.Replaced) != 1 || r.Replaced[0].OlderSource == nil || !r.Replaced[0].OlderSource.After.Equal(june) {
			t.Errorf("%s: %+v", kind, r.Replaced)
		}
	}
}

// TestUnreadablePublished replaces an image that is not a catalog.
func TestUnreadablePublished(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	isc := kites(s, "imageset.yaml", catalogFolder(s, chain("1.0.0")), "packages: [{name: kite}]")
	s.PushMirror("ocp/org/kites", "v1", "other")
	to, at := s.Docker("ocp"), s.Mirror.Host+"/ocp/org/kites:v1"
	refused(s, []string{"cannot be compared with the one at " + at + ", so nothing was published"}, isc, to, refuses)
	r, said := must(s, isc, to)
	says(t, said, "at "+at+" is replaced: it was not compared with the new one: ")
	if len(r.Replaced) != 1 || r.Replaced[0].Problem == "" {
		t.Errorf("%+v", r.Replaced)
	}
}

// TestStrandedByMissingImage leaves out a package whose image fails during the copy. Its clusters are stranded.
func TestStrandedByMissingImage(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	late, err := registrytest.Image("replaced/late")
	if err == nil {
		_, err = s.Source.Client().Push(t.Context(), "images.example.net/replaced/late", "v1", late)
	}
	fail.On(t, err)
	crow := "---\n{schema: olm.package, name: crow, defaultChannel: stable}\n---\n{schema: olm.channel, package: crow, name: stable, entries: [{name: crow.v1.0.0}]}\n" + bundle("crow", "1.0.0", "tools/netcheck:1.4")
	isc, to := kites(s, "imageset.yaml", catalogFolder(s, chain("1.0.0")+crow), "full: true"), s.Docker("ocp")
	must(s, isc, to)
	catalogFolder(s, chain("1.0.0", "1.1.0")+crow+bundle("kite", "1.2.0", "replaced/late:v1")+
		"---\n{schema: olm.channel, package: kite, name: late, entries: [{name: kite.v1.2.0, replaces: kite.v1.1.0}]}\n")
	s.Source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/replaced/late/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	withoutPackage := func(o *mirroring.Options) { o.OnError = "package" }
	const gone = "package kite (OLM classic, OLM v1): kite.v1.0.0: the package is no longer in the catalog"
	before := s.Tags("ocp/org/kites")
	refused(s, []string{gone, "so nothing was published"}, isc, to, withoutPackage, refuses)
	if after := s.Tags("ocp/org/kites"); !slices.Equal(after, before) {
		t.Errorf("the catalog was %s and is %s", before, after)
	}
	s.Said()
	r, err := runs(s, isc, to, withoutPackage)
	mirrortest.Refused(t, err, advice.Partial)
	says(t, strings.Join(s.Said(), "\n"), gone)
	if len(r.Report.Excluded) != 1 || r.Report.Excluded[0].Package != "kite" {
		t.Errorf("%+v", r.Report.Excluded)
	}
}

// TestReplacedTag checks the warning about a tag under which another image set has another image.
func TestReplacedTag(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	config := func(name, image string) string {
		return s.Config(name, "  additionalImages:\n  - name: "+image+"\n    targetRepo: app\n    targetTag: v1\n")
	}
	first, second := config("first.yaml", "images.example.net/tools/netcheck:1.4"), config("second.yaml", "images.example.net/tools/must-gather:4.20")
	named := func(name string) func(*mirroring.Options) { return func(o *mirroring.Options) { o.Name = name } }
	const warning = "/site/app:v1 replaces the image that the image set %q has under this tag"
	for _, run := range []struct{ isc, name, replaces string }{{first, "first", ""}, {second, "second", "first"}, {first, "third", "second"}} {
		_, said := must(s, run.isc, s.Docker("site"), named(run.name))
		if n := strings.Count(said, "replaces the image"); n > 1 || n == 1 != (run.replaces != "") || n == 1 && !strings.Contains(said, fmt.Sprintf(warning, run.replaces)) {
			t.Errorf("%s replaces %q:\n%s", run.name, run.replaces, said)
		}
	}
}
