package site_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// in runs in another workspace, as a program that starts anew.
func in(s *mirrortest.Site, name string) func(*mirroring.Options) {
	return func(o *mirroring.Options) { o.Env, o.Workspace = s.NewEnv(), s.Path(name) }
}

// recorded mirrors a configuration in a workspace, and returns what was recorded in the mirror.
func recorded(s *mirrortest.Site, isc, to, workspace string) site.ImageSetRecord {
	s.T.Helper()
	r := s.Mirrored(isc, to, in(s, workspace))
	if r.ImageSet == nil {
		s.T.Fatalf("%+v", r)
	}
	return *r.ImageSet
}

// resourcesOf returns the names and the texts of the cluster resources in a workspace.
func resourcesOf(s *mirrortest.Site, workspace string) (names, text string) {
	s.T.Helper()
	found, err := filepath.Glob(filepath.Join(s.Path(workspace), "cluster-resources", "*.yaml"))
	if err != nil {
		s.T.Fatal(err)
	}
	for _, name := range found {
		content, err := os.ReadFile(name)
		if err != nil {
			s.T.Fatal(err)
		}
		names, text = names+" "+filepath.Base(name), text+string(content)
	}
	return names, text
}

// requestsTo returns the kinds of the requests to the repositories with this end.
func requestsTo(server *registrytest.Server, end string) (kinds []string) {
	for _, r := range server.Log() {
		if strings.HasSuffix(r.Repository(), end) {
			kinds = append(kinds, r.Kind())
		}
	}
	return kinds
}

// TestImageSets mirrors two image sets from two workspaces to one mirror. Each workspace gets the cluster resources of
// both.
func TestImageSets(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	catalog := func(file, selection string) string {
		return s.Config(file, "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n    "+selection+"\n")
	}
	one := catalog("one.yaml", "packages: [{name: lantern}]")
	two := s.Config("two.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	to := s.Docker("ocp")
	if first := recorded(s, one, to, "here"); first.Revision != 1 || !first.NewRevision || first.Runs != 1 || first.Name != "one" || first.Problem != "" {
		t.Errorf("the first run recorded %+v", first)
	}
	recorded(s, two, to, "there")
	names, both := resourcesOf(s, "there")
	if !strings.Contains(names, " cs-") || !strings.Contains(both, "tools") {
		t.Errorf("the second workspace has the cluster resources %s, want those of both image sets", names)
	}
	if again := recorded(s, one, to, "here"); again.Revision != 1 || again.NewRevision || again.Runs != 2 {
		t.Errorf("a run with nothing new recorded %+v", again)
	}
	if _, mine := resourcesOf(s, "here"); mine != both {
		t.Errorf("the two workspaces have different cluster resources:\n%s\n---\n%s", mine, both)
	}
	// The next run with nothing new, and nothing new of others either: two lists, and the manifests of the last run and of this one.
	s.Mirror.ResetLog()
	recorded(s, one, to, "here")
	if kinds := requestsTo(s.Mirror, "gantry-image-sets"); !slices.Equal(kinds, []string{"GET tags", "GET tags", "GET manifest", "PUT manifest"}) {
		t.Errorf("a run with nothing new makes the requests %v for records", kinds)
	}

	// A third host continues with the first image set; without a connection, it has the union.
	if r := recorded(s, one, to, "third"); r.Revision != 1 || r.Runs != 4 {
		t.Errorf("a run on another host recorded %+v", r)
	}
	fail.On(t, os.RemoveAll(s.Path("third/cluster-resources")))
	s.Mirror.ResetLog()
	if _, err := mirroring.Resources(t.Context(), cluster.ResourcesOptions{Env: s.NewEnv(), Workspace: s.Path("third"), Mirror: to}); err != nil || len(s.Mirror.Log()) > 0 {
		t.Errorf("%v, %d requests", err, len(s.Mirror.Log()))
	}
	if _, text := resourcesOf(s, "third"); text != both {
		t.Errorf("written again, the cluster resources are\n%s\nwant\n%s", text, both)
	}
	// The status of the mirror needs no workspace.
	status, err := report.Status(t.Context(), report.StatusOptions{Env: s.NewEnv(), Mirror: to})
	if err != nil || len(status.ImageSets) != 2 || status.ImageSets[0].Runs != 4 || status.ImageSets[0].Content.Packages != 1 || status.ImageSets[1].Content.Images != 1 {
		t.Errorf("the status is %+v, %v", status, err)
	}

	// Another selection of the same catalog would replace the one of the first image set, and another configuration with a name that
	// the mirror has would replace that image set.
	fail.On(t, os.Mkdir(s.Path("team"), 0o755))
	for isc, words := range map[string][]string{
		catalog("rival.yaml", "full: true"): {`a catalog of the image set "one"`, "mirrored by"},
		s.Config("team/two.yaml", "  additionalImages:\n  - name: images.example.net/tools/must-gather:4.20\n"): {`an image set called "two" of another workspace`, "Options.Name"},
	} {
		o := s.MirrorOptions(isc, to)
		o.Env, o.Workspace = s.NewEnv(), s.Path("fourth")
		_, err := mirroring.Run(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, words...)
	}
}

// TestImageSetsAfterLoss checks that a mirror which lost its storage gets its content and records again, and that a mirror
// which refuses records is mirrored to all the same.
func TestImageSetsAfterLoss(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	one := s.Config("one.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	two := s.Config("two.yaml", "  additionalImages:\n  - name: images.example.net/tools/must-gather:4.20\n")
	to := s.Docker("ocp")
	recorded(s, one, to, "here")
	recorded(s, two, to, "there")
	recorded(s, one, to, "here")
	empty := registrytest.Memory()
	s.Mirror.Script(registrytest.Rule{Action: func(rw http.ResponseWriter, r *http.Request, _ http.Handler) { empty.ServeHTTP(rw, r) }})
	s.Said()
	if r := s.Mirrored(one, to, in(s, "here")); r.Report.Copied != 1 {
		t.Errorf("%+v", r.Report)
	}
	warned(s, `no longer has the image set "two"`)
	if _, text := resourcesOf(s, "here"); strings.Contains(text, "must-gather") {
		t.Errorf("the cluster resources have the lost image set:\n%s", text)
	}
	if r := recorded(s, two, to, "there"); r.Revision != 1 || r.Problem != "" {
		t.Errorf("the other run recorded %+v", r)
	}

	// A registry that refuses the repository, or only to push to it.
	s.Mirror.Script(registrytest.Rule{Path: "gantry-image-sets", Action: registrytest.Status(http.StatusForbidden)})
	s.Said()
	if r := recorded(s, one, to, "here"); r.Problem == "" || r.Revision != 0 {
		t.Errorf("the run recorded %+v", r)
	}
	warned(s, "records nothing in the mirror")
	s.Mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "gantry-image-sets/manifests", Action: registrytest.Status(http.StatusForbidden)})
	if r := recorded(s, one, to, "here"); r.Problem == "" {
		t.Errorf("the run recorded %+v", r)
	}
}

// warned checks that one warning has these words.
func warned(s *mirrortest.Site, words string) {
	s.T.Helper()
	said := s.Said()
	if n := len(slices.DeleteFunc(slices.Clone(said), func(text string) bool { return !strings.Contains(text, words) })); n != 1 {
		s.T.Errorf("%d warnings with %q in\n%s", n, words, strings.Join(said, "\n"))
	}
}

// TestDestinations checks what destinations are, and which are refused.
func TestDestinations(t *testing.T) {
	t.Parallel()
	e := &env.Env{Getenv: func(string) string { return "" }, Home: t.TempDir()}
	t.Cleanup(e.Close)
	for _, tc := range []struct {
		where, words string
		nested       int
	}{
		{"docker://", "docker://", 0}, {"docker:///ocp", "docker://", 0}, {"docker://mirror.example.com/A", "mirror.example.com/A", 0}, {"docker://mirror.example.com/a:1", "mirror.example.com/a:1", 0},
		{"http://mirror.example.com", "unknown destination", 0}, {"file://", "unknown destination", 0}, {"oci://", "unknown destination", 0},
		{"file:///disk", "Options.MaxNestedPaths is for docker://", 2}, {"oci:///layout", "Options.MaxNestedPaths is for docker://", 2},
	} {
		_, err := site.OpenDestination(e, tc.where, site.DestinationOptions{MaxNestedPaths: tc.nested})
		mirrortest.Refused(t, err, advice.Input, tc.words)
	}
	to, err := site.OpenDestination(e, "docker://mirror.example.com:5000/ocp", site.DestinationOptions{ReadBlobs: true})
	fail.On(t, err)
	if r := to.Registry(); r.String() != "docker://mirror.example.com:5000/ocp" || !r.CheckBlobs || r.BlobCheck() != "read" {
		t.Errorf("%s, %+v", r, r.BlobCheck())
	}
	for _, where := range []string{"file:///disk", "oci:///layout"} {
		if to, err := site.OpenDestination(e, where, site.DestinationOptions{}); err != nil || to.Registry() != nil {
			t.Errorf("%s: %v, %v", where, to, err)
		}
	}
}

// TestLeaseRefused checks that a run continues, with one warning, if the registry refuses the repository of leases, and how
// many requests a lease costs.
func TestLeaseRefused(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	isc := s.Operators("lantern")
	recorded(s, isc, s.Docker("leased"), "leased")
	s.Mirror.ResetLog()
	recorded(s, isc, s.Docker("leased"), "leased")
	if kinds := requestsTo(s.Mirror, "gantry-lease"); len(kinds) != 6 {
		t.Errorf("a run made the requests %q for its lease, want 6", kinds)
	}
	for name, refusal := range map[string]registrytest.Action{
		"denied":    registrytest.Refuse(http.StatusForbidden, "DENIED"),
		"not-found": registrytest.Refuse(http.StatusNotFound, "NAME_UNKNOWN"),
		"read-only": registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED"),
	} {
		s.Mirror.Script(registrytest.Rule{Path: "/gantry-lease/", Action: refusal})
		s.Said()
		s.Mirrored(isc, s.Docker(name), in(s, name))
		warned(s, "has no lease")
		s.VerifyCatalog(name, mirrortest.Acme, 1)
	}
}
