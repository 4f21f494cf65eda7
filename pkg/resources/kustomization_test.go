package resources

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// everything returns manifests of all kinds that Gantry writes, and the settings of clusters.
func everything(t *testing.T, target string, opts Options) (manifests, support []File, k Kustomized) {
	t.Helper()
	images, catalogs := example(t)
	catalogs[2].Template = []byte(strings.Replace(fullTemplate, "  futureField: {kept: true, number: 12345678901234567}\n", "", 1))
	manifests, _, err := Build(images, catalogs, opts)
	fail.On(t, err)
	more, err := BuildPlatform(Platform{
		Signatures: []Signed{{Digest: digest.FromString("release"), Signatures: [][]byte{[]byte("signed")}}},
		Releases:   ref(t, "mirror.local:5000/openshift/release-images"), GraphData: ref(t, "mirror.local:5000/openshift/graph-image#graph"),
	})
	fail.On(t, err)
	manifests = append(manifests, more...)
	policies, err := BuildImagePolicies([]ImagePolicy{{Scopes: []string{"quay.io/org"}, Key: []byte("key"), Match: "MatchRepository"}}, opts)
	fail.On(t, err)
	manifests = append(manifests, policies...)
	at, err := ParseTarget(target)
	fail.On(t, err)
	own := map[string][]File{}
	for _, write := range []func() (map[string][]File, error){
		func() (map[string][]File, error) { return DefaultCatalogs(at) },
		func() (map[string][]File, error) { return TrustedCA("mirror.local:5000", nil) },
	} {
		files, err := write()
		fail.On(t, err)
		maps.Copy(own, files)
	}
	support, k, err = Kustomize(manifests, own, nil, at)
	fail.On(t, err)
	return manifests, support, k
}

func TestKustomizeChoosesComponents(t *testing.T) {
	for _, tt := range []struct {
		target, policies string
		icsp             bool
		want             string
	}{
		{"openshift", "", false, "mirror-sets signatures olm-classic"},
		{"openshift-4.12", "", true, "icsp signatures olm-classic"},
		{"openshift-4.12", "", false, "signatures olm-classic"},
		{"openshift-4.17", "", false, "mirror-sets signatures olm-classic"},
		{"openshift-4.18", "", false, "mirror-sets signatures olm-classic olm-v1"},
		{"openshift-4.19,image-policies-v1alpha1", ImagePolicyV1alpha1, false, "mirror-sets signatures image-policies-v1alpha1 olm-classic olm-v1"},
		{"openshift-4.20", ImagePolicyV1alpha1, false, "mirror-sets signatures olm-classic olm-v1"},
		{"openshift-4.20", "", false, "mirror-sets signatures image-policies olm-classic olm-v1"},
		{"openshift-5.0,update-service,trusted-ca,disable-default-catalogs", "", false,
			"trusted-ca mirror-sets signatures image-policies disable-default-catalogs olm-classic olm-v1 update-service"},
		{"kubernetes", "", false, "olm-v1"},
	} {
		_, files, k := everything(t, tt.target, Options{ImagePolicies: tt.policies, ICSP: tt.icsp})
		fail.Diff(t, tt.want, strings.Join(k.Components, " "))
		fail.Diff(t, sortedTarget(t, tt.target), k.For)
		for _, l := range k.LeftOut {
			if l.Reason == "" || slices.Contains(k.Components, l.Component) {
				t.Errorf("%s: left out %+v", tt.target, l)
			}
		}
		checkKustomizations(t, files)
	}
}

func sortedTarget(t *testing.T, text string) string {
	t.Helper()
	target, err := ParseTarget(text)
	fail.On(t, err)
	return target.String()
}

// checkKustomizations checks that every Kustomization names only files of its own folder or components,
// which kustomize requires, and that no manifest of a component is missing in its list.
func checkKustomizations(t *testing.T, files []File) {
	t.Helper()
	have := map[string]bool{}
	for _, f := range files {
		have[f.Name] = true
	}
	named := map[string]bool{}
	for _, f := range files {
		if base := path.Base(f.Name); base != KustomizationFile && base != componentFile {
			continue
		}
		var k struct {
			APIVersion, Kind      string
			Resources, Components []string
			ConfigMapGenerator    []any
		}
		if err := yaml.UnmarshalStrict(f.Text, &k); err != nil {
			t.Fatalf("%s: %v\n%s", f.Name, err, f.Text)
		}
		switch {
		case f.Name == KustomizationFile && k.Kind == "Kustomization" && len(k.Resources) == 0 && len(k.Components) > 0:
		case f.Name != KustomizationFile && k.Kind == "Component" && len(k.Components) == 0 && len(k.Resources) > 0:
		default:
			t.Errorf("%s is %s", f.Name, f.Text)
		}
		for _, name := range k.Resources {
			named[path.Join(path.Dir(f.Name), name)] = true
			if !have[path.Join(path.Dir(f.Name), name)] || strings.Contains(name, "/") {
				t.Errorf("%s names %s, which does not exist", f.Name, name)
			}
		}
		for _, name := range k.Components {
			if !have[path.Join(name, componentFile)] {
				t.Errorf("%s names component %s, which does not exist", f.Name, name)
			}
		}
	}
	for _, f := range files {
		if base := path.Base(f.Name); base != KustomizationFile && base != componentFile && !named[f.Name] {
			t.Errorf("no component names %s", f.Name)
		}
	}
}

func TestKustomizeTakesEveryObjectOnce(t *testing.T) {
	manifests, files, _ := everything(t, "openshift-4.20", Options{})
	layout, err := OCMirrorFiles(manifests)
	fail.On(t, err)
	other, _, err := Kustomize(layout, nil, nil, Target{})
	fail.On(t, err)
	for name, support := range map[string][]File{"gantry": files, "oc-mirror": other} {
		count := map[ObjectName]int{}
		for _, f := range support {
			for _, n := range ObjectNames([]File{f}) {
				count[n]++
			}
		}
		of := manifests
		if name == "oc-mirror" {
			of = layout
		}
		for _, n := range ObjectNames(of) {
			if count[n] != 1 {
				t.Errorf("%s: %s is in %d files of components", name, n, count[n])
			}
		}
	}
}

func TestApplied(t *testing.T) {
	manifests, support, _ := everything(t, "openshift-4.20,disable-default-catalogs", Options{})
	skeletons, err := Skeletons("mirror.local:5000")
	fail.On(t, err)
	var want []ObjectName
	for _, n := range append(ObjectNames(manifests), ObjectName{"OperatorHub", "", "cluster"}) {
		if n.Kind != "UpdateService" { // its component is not named
			want = append(want, n)
		}
	}
	for _, c := range defaultCatalogs {
		want = append(want, ObjectName{"ClusterCatalog", "", c[0]})
	}
	slices.SortFunc(want, compareNames)
	for _, folder := range []string{"", "cluster-resources", "working-dir/cluster-resources-other"} {
		var files []File
		for _, f := range slices.Concat(manifests, support, skeletons) {
			files = append(files, File{path.Join(folder, f.Name), f.Text})
		}
		if diff := cmp.Diff(want, ObjectNames(Applied(files))); diff != "" {
			t.Errorf("in %q: %s", folder, diff)
		}
	}
	// Folders beside each other, and one that was written without components.
	mixed := []File{{"old/uss.yaml", []byte("kind: UpdateService\nmetadata: {name: old}\n")}}
	for _, f := range slices.Concat(manifests, support) {
		mixed = append(mixed, File{path.Join("new", f.Name), f.Text})
	}
	fail.Diff(t, append(want, ObjectName{"UpdateService", "", "old"}), ObjectNames(Applied(mixed)))
}

// TestKept checks that objects of a component that is now left out count neither as removed nor as applied,
// and do not make nodes drain.
func TestKept(t *testing.T) {
	files := func(target string) (manifests, all []File) {
		manifests, support, _ := everything(t, target, Options{})
		return manifests, slices.Concat(manifests, support)
	}
	_, all := files("openshift-4.20,disable-default-catalogs")
	before := Applied(all)
	manifests, all := files("openshift-4.12")
	after := Applied(all)
	var kinds []string
	for _, n := range ObjectNames(Kept(before, after, manifests)) {
		if len(kinds) == 0 || kinds[len(kinds)-1] != n.Kind {
			kinds = append(kinds, n.Kind)
		}
	}
	// The settings of the cluster are not in manifests.
	fail.Diff(t, []string{"ClusterCatalog", "ClusterImagePolicy", "ImageDigestMirrorSet", "ImageTagMirrorSet"}, kinds)
	if kept := Kept(before, after, nil); kept != nil {
		t.Errorf("%v are kept, although the mirror has nothing", ObjectNames(kept))
	}
	if got := Nodes(before, slices.Concat(after, Kept(before, after, manifests))); got.Effect != NodesUnaffected {
		t.Errorf("nodes: %+v", got)
	}
}

// TestAddDropped checks that objects which are no longer written are removed, also if the last Kustomization did not
// apply them.
func TestAddDropped(t *testing.T) {
	files := func(target string, opts Options) []File {
		manifests, support, _ := everything(t, target, opts)
		return slices.Concat(manifests, support)
	}
	before, after := files("kubernetes", Options{}), files("openshift-4.12", Options{ICSP: true})
	c, err := Compare(Applied(before), Applied(after))
	fail.On(t, err)
	for range 2 {
		c.AddDropped(before, after)
	}
	var kinds []string
	for _, n := range c.Removed {
		if n.Kind == "ImageDigestMirrorSet" || n.Kind == "ImageTagMirrorSet" {
			kinds = append(kinds, n.Kind)
		}
	}
	fail.Diff(t, []string{"ImageDigestMirrorSet", "ImageTagMirrorSet"}, kinds)
}

// TestKustomizeBuilds builds the folder with kustomize itself.
func TestKustomizeBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program from another module")
	}
	manifests, support, _ := everything(t, "openshift-4.20,disable-default-catalogs,trusted-ca,update-service", Options{})
	dir := t.TempDir()
	for _, f := range append(slices.Concat(manifests, support), File{"components/trusted-ca/ca.crt", []byte("PEM\n")}) {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		fail.On(t, os.MkdirAll(filepath.Dir(name), 0o755))
		fail.On(t, os.WriteFile(name, f.Text, 0o644))
	}
	run := exec.CommandContext(t.Context(), "go", "run", ".", dir)
	run.Dir = filepath.Join("..", "..", ".ci", "tools", "kustomize")
	run.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	var messages bytes.Buffer // such as those about modules that are downloaded
	run.Stderr = &messages
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, messages.Bytes())
	}
	all, err := readObjects(File{"all.yaml", out})
	fail.On(t, err)
	var kinds []string
	built := map[ObjectName]bool{}
	for _, o := range all {
		built[o.name] = true
		if n := len(kinds); n == 0 || kinds[n-1] != o.name.Kind {
			kinds = append(kinds, o.name.Kind)
		}
	}
	for _, n := range append(ObjectNames(Applied(slices.Concat(manifests, support))), ObjectName{"ConfigMap", "openshift-config", caConfigMap}) {
		if !built[n] {
			t.Errorf("kustomize leaves out %s", n)
		}
	}
	want := "Image ConfigMap ImageDigestMirrorSet ImageTagMirrorSet ConfigMap ClusterImagePolicy ClusterCatalog OperatorHub CatalogSource ClusterCatalog UpdateService"
	fail.Diff(t, want, strings.Join(kinds, " "))
}
