package resources

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

var update = flag.Bool("update", false, "write testdata/golden anew")

const fullTemplate = `# exported with oc get -o yaml, and edited
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata:
  name: our-operators
  namespace: operators
  resourceVersion: "4711"
  uid: 0d1c7f1e-1111-2222-3333-444455556666
  labels: {team: platform}
  annotations: {note: keep me}
spec:
  displayName: Our operators
  publisher: Platform team
  priority: -50
  secrets: [pull]
  image: will-be-replaced
  sourceType: configmap
  futureField: {kept: true, number: 12345678901234567}
  grpcPodConfig:
    memoryTarget: 30Mi
    nodeSelector: {kubernetes.io/os: linux}
  updateStrategy:
    registryPoll: {interval: 30m}
status:
  message: gone
`

// example returns a mirror with all kinds of images and catalogs.
func example(t testing.TB) ([]Image, []Catalog) {
	var images []Image
	for _, s := range []string{
		"registry.redhat.io/openshift-pipelines/tasks-rhel9#1 -> mirror.local:5000/ocp/openshift-pipelines/tasks-rhel9#1",
		"registry.redhat.io/openshift-pipelines/cli-rhel9#2 -> mirror.local:5000/ocp/openshift-pipelines/cli-rhel9#2",
		"registry.redhat.io/ubi9/ubi:latest -> mirror.local:5000/ocp/ubi9/ubi:latest generic",
		"registry.redhat.io/ubi9/ubi-minimal:9.5#3 -> mirror.local:5000/ocp/ubi9/ubi-minimal:9.5#3",
		"quay.io/org/tool:v1 -> mirror.local:5000/ocp/tools/tool:v1 generic",
		"quay.io/org/other:v1 -> mirror.local:5000/ocp/org/other:stable generic",
		"registry.k8s.io/pause:3.9 -> mirror.local:5000/ocp/pause:3.9 generic",
	} {
		images = append(images, img(t, s))
	}
	return images, []Catalog{
		{Source: "registry.redhat.io/redhat/redhat-operator-index:v4.18", Mirror: ref(t, "mirror.local:5000/ocp/redhat/redhat-operator-index:v4.18#c1"), BinaryLess: true},
		{Source: "quay.io/org/redhat-operator-index:v4.18", Mirror: ref(t, "mirror.local:5000/ocp/org/redhat-operator-index:v4.18#c2")},
		{Source: "oci:///srv/catalogs/Our_Catalog", Mirror: ref(t, "mirror.local:5000/ocp/our_catalog:latest#c3"),
			Template: []byte(fullTemplate), TemplateName: "templates/ours.yaml", BinaryLess: true, ConfigsDir: "/catalog",
			ClusterCatalogTemplate: []byte(fullClusterTemplate), ClusterCatalogTemplateName: "templates/ours-v1.yaml"},
	}
}

func TestGolden(t *testing.T) {
	images, catalogs := example(t)
	for _, tc := range []struct {
		name string
		opts Options
	}{{"plain", Options{}}, {"policy", Options{MirrorSourcePolicy: neverContactSource}}} {
		t.Run(tc.name, func(t *testing.T) {
			files, notes, err := Build(images, catalogs, tc.opts)
			fail.On(t, err)
			checkPulls(t, images, files, notes)
			files = append(files, File{"NOTES", []byte(strings.Join(notes, "\n") + "\n")})
			dir := filepath.Join("testdata", "golden", tc.name)
			if *update {
				fail.On(t, os.RemoveAll(dir))
				fail.On(t, os.MkdirAll(dir, 0o755))
				for _, f := range files {
					fail.On(t, os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o644))
				}
			}
			got, want := map[string]string{}, map[string]string{}
			for _, f := range files {
				got[f.Name] = string(f.Text)
			}
			entries, err := os.ReadDir(dir)
			fail.On(t, err)
			for _, e := range entries {
				text, err := os.ReadFile(filepath.Join(dir, e.Name()))
				fail.On(t, err)
				want[e.Name()] = string(text)
			}
			fail.Diff(t, want, got)
		})
	}
}

// TestDeterministic checks that input in any order gives the same bytes.
func TestDeterministic(t *testing.T) {
	images, catalogs := example(t)
	images = append(images, many(t, 50)...)
	images = append(images, images[:10]...)
	for _, s := range []string{
		"quay.io/tie/a#1 -> mirror.local/x/tie/a#1", "quay.io/tie/b#1 -> mirror.local/y/tie/b#1",
		"quay.io/two/a:v1 -> mirror.local/two/a:v2", "quay.io/two/a:v1 -> mirror.local/two/a:v3",
	} {
		images = append(images, img(t, s))
	}
	opts := Options{MaxBytes: 2000}
	want, wantNotes, err := Build(images, catalogs, opts)
	fail.On(t, err)
	if !slices.IsSortedFunc(want, func(a, b File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the files are not sorted")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		rng.Shuffle(len(images), func(i, j int) { images[i], images[j] = images[j], images[i] })
		rng.Shuffle(len(catalogs), func(i, j int) { catalogs[i], catalogs[j] = catalogs[j], catalogs[i] })
		given := slices.Clone(images)
		got, notes, err := Build(images, catalogs, opts)
		fail.On(t, err)
		fail.Diff(t, want, got)
		fail.Diff(t, wantNotes, notes)
		fail.Diff(t, given, images)
	}
}

func TestNothing(t *testing.T) {
	files, notes, err := Build(nil, nil, Options{})
	if len(files)+len(notes) > 0 || err != nil {
		t.Errorf("Build of nothing = %v, %v, %v", files, notes, err)
	}
}

// TestNames checks that names are valid, and different for different sources.
func TestNames(t *testing.T) {
	valid := regexp.MustCompile(`^(cs|cc)-[a-z0-9]([-a-z0-9]*[a-z0-9])?\.yaml$`)
	sources := []string{
		"registry.redhat.io/redhat/redhat-operator-index:v4.18",
		"quay.io/redhat/redhat-operator-index:v4.18",
		"quay.io/other/redhat-operator-index:v4.18",
		"quay.io/other/redhat-operator-index:v4_18",
		"quay.io/other/redhat-operator-index@sha256:" + strings.Repeat("a", 64),
		"quay.io/other/redhat-operator-index@sha256:" + strings.Repeat("b", 64),
		"quay.io/org/" + strings.Repeat("long-", 20) + "name:" + strings.Repeat("V", 128),
		"quay.io/org/under__score:1.2.3-RC.1_x",
		"oci:///srv/a/catalog", "oci:///srv/b/catalog", "dir://catalog", "dir:///", "dir://日本",
	}
	var catalogs []Catalog
	for i, s := range sources {
		catalogs = append(catalogs, Catalog{Source: s, Mirror: ref(t, "mirror.local:5000/"+strconv.Itoa(i)+"/catalog:latest#"+string(rune('a'+i)))})
	}
	files, notes, err := Build(nil, catalogs, Options{})
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	if len(files) != 2*len(sources) {
		t.Errorf("%d files for %d catalogs", len(files), len(sources))
	}
	seen := map[string]bool{}
	displays := map[string]bool{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name, ".yaml")
		if !valid.MatchString(f.Name) || len(name) > 63 || seen[f.Name] {
			t.Errorf("name %q (%d characters, seen %v)", f.Name, len(name), seen[f.Name])
		}
		seen[f.Name] = true
		if !strings.Contains(string(f.Text), "\n  name: "+name+"\n") {
			t.Errorf("%s holds an object of another name:\n%s", f.Name, f.Text)
		}
		if _, display, ok := strings.Cut(string(f.Text), "displayName: "); ok {
			display, _, _ = strings.Cut(display, "\n")
			if displays[display] {
				t.Errorf("two catalogs look like %q", display)
			}
			displays[display] = true
		}
	}
	for _, want := range []string{
		"cs-redhat-operator-index-v4-18.yaml", "cs-redhat-operator-index-v4-18-" + reference.ShortHash(sources[1]) + ".yaml",
		"cs-redhat-operator-index-sha256-aaaaa.yaml", "cs-catalog-latest.yaml", "cs-under--score-1-2-3-rc-1-x.yaml",
	} {
		if !seen[want] {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestBuildErrors(t *testing.T) {
	a := Catalog{Source: "quay.io/org/index:v1", Mirror: ref(t, "mirror.local/org/index:v1#1")}
	named := func(source, namespace string) Catalog {
		return Catalog{Source: source, Mirror: ref(t, strings.Replace(source, "quay.io", "mirror.local", 1)+"#1"), TemplateName: "t.yaml",
			Template: []byte(head + "metadata: {name: same, namespace: " + namespace + "}\n")}
	}
	for _, tc := range []struct {
		name     string
		images   []Image
		catalogs []Catalog
		opts     Options
		want     string
	}{
		{"policy", nil, nil, Options{MirrorSourcePolicy: "NeverContactSources"}, `did you mean "NeverContactSource"?`},
		{"kind", []Image{{Source: ref(t, "quay.io/a/b:1"), Mirror: ref(t, "m.local/a/b:1"), Kind: "A_b"}}, nil, Options{}, `image quay.io/a/b:1: kind "A_b"`},
		{"twice", nil, []Catalog{a, a}, Options{}, "catalog quay.io/org/index:v1: given twice"},
		{"no digest", nil, []Catalog{{Source: a.Source, Mirror: a.Mirror.WithTag("v1")}}, Options{}, "the digest of mirror.local/org/index:v1 is unknown"},
		{"not a reference", nil, []Catalog{{Source: "Quay.io/Org/", Mirror: a.Mirror}}, Options{}, `catalog Quay.io/Org/`},
		{"two templates of one name", nil, []Catalog{named("quay.io/b/y:1", "ns"), named("quay.io/a/x:1", "ns")}, Options{},
			"catalog quay.io/b/y:1: reading targetCatalogSourceTemplate t.yaml: catalog quay.io/a/x:1 also has the name ns/same; change metadata.name"},
		{"poll without a tag", nil, []Catalog{{Source: a.Source, Mirror: a.Mirror.WithDigest(a.Mirror.Digest), TemplateName: "t.yaml",
			Template: []byte(head + "spec: {updateStrategy: {registryPoll: {}}}\n")}}, Options{}, "t.yaml: spec.updateStrategy.registryPoll needs a catalog with a tag"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := Build(tc.images, tc.catalogs, tc.opts)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want %q in it", err, tc.want)
			}
		})
	}
	if _, _, err := Build(nil, []Catalog{named("quay.io/a/x:1", "a"), named("quay.io/b/y:1", "b")}, Options{}); err != nil {
		t.Errorf("one name in two namespaces: %v", err)
	}
	long := a
	long.Mirror.Path = strings.Repeat("a/", 500) + "b"
	if _, _, err := Build(nil, []Catalog{long}, Options{}); err == nil || !strings.Contains(err.Error(), "a ClusterCatalog allows 1000") {
		t.Errorf("a reference of more than 1000 characters: %v", err)
	}
	v6 := a
	v6.Mirror.Host = "[::1]:5000"
	files, notes, err := Build(nil, []Catalog{v6}, Options{})
	if err != nil || len(files) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "no ClusterCatalog is written") {
		t.Errorf("a mirror at an IPv6 address: %d files, notes %q, %v", len(files), notes, err)
	}
}
