package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestResourcesKeepOptions checks that gantry cluster resources changes only what its flags say: all files of all
// folders stay, also those that say how the mirror is reached.
func TestResourcesKeepOptions(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.config("isc.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	ws := w.path("ws")
	ca, err := os.ReadFile(registrytest.New(t, registrytest.Options{TLS: true}).CAFile)
	if err != nil {
		t.Fatal(err)
	}
	certs, line := t.TempDir(), strings.Split(string(ca), "\n")[2]
	if err := os.WriteFile(filepath.Join(certs, "ca.crt"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("mirror", "-c", w.path("isc.yaml"), w.docker("/ocp"), "--workspace", ws, "--dest-plain-http", "--dest-cert-dir", certs, "--mirror-source-policy", "NeverContactSource")
	written := func() map[string]string {
		files := map[string]string{}
		for _, folder := range []string{"cluster-resources", "install", "hosts"} {
			if err := filepath.WalkDir(filepath.Join(ws, folder), func(path string, e os.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() {
					var text []byte
					text, err = os.ReadFile(path)
					files[strings.TrimPrefix(path, ws)] = string(text)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		return files
	}
	first := written()
	if all := allText(first); !strings.Contains(all, "http://"+w.mirror.Host) || !strings.Contains(all, line) {
		t.Fatal("the files name neither plain HTTP nor the CA")
	}
	const mirrorSet = "/cluster-resources/itms-generic-0.yaml"
	for _, args := range [][]string{{}, {"--image-policies", "v1"}, {"--for", "openshift-4.20"}, {"--icsp"}, {"--icsp=false", "--mirror-source-policy", "NeverContactSource"}, {}} {
		w.must(append([]string{"resources", "--workspace", ws}, args...)...)
		again := written()
		switch {
		case len(args) == 0:
			if diff := cmp.Diff(withoutComponents(first), withoutComponents(again)); diff != "" {
				t.Error(diff)
			}
		case args[0] == "--icsp":
			if again[mirrorSet] != "" {
				t.Error("mirror sets beside policies")
			}
		case again[mirrorSet] != first[mirrorSet]:
			t.Errorf("%q: %s", args, cmp.Diff(first[mirrorSet], again[mirrorSet]))
		}
	}
	// The component trusted-ca has the CA, unless the user put another one there.
	const caFile = "ws/cluster-resources/components/trusted-ca/ca.crt"
	for range 2 {
		o := w.must("resources", "--workspace", ws, "--for", "openshift-4.20,trusted-ca")
		if got := w.read(caFile); !strings.Contains(got, line) || strings.Contains(o.stdout, "Not applied: trusted-ca") {
			t.Errorf("the CA is %q\n%s", got, o.stdout)
		}
	}
	o := w.must("resources", "--workspace", ws, "--dest-cert-dir", t.TempDir())
	if _, err := os.Stat(w.path(caFile)); !os.IsNotExist(err) || !strings.Contains(o.stdout, "Not applied: trusted-ca, which needs the CA") {
		t.Errorf("without a CA: %v\n%s", err, o.stdout)
	}
	if strings.Contains(w.read("ws/cluster-resources/Kustomization"), "\n- components/trusted-ca") {
		t.Error("the component is applied without the CA")
	}
	if err := os.WriteFile(w.path(caFile), []byte("of the user\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o = w.must("resources", "--workspace", ws, "--dest-cert-dir", certs)
	if got := w.read(caFile); got != "of the user\n" || strings.Contains(o.stdout, "Not applied: trusted-ca") {
		t.Errorf("the user's CA is now %q\n%s", got, o.stdout)
	}
	if err := os.Remove(w.path(caFile)); err != nil {
		t.Fatal(err)
	}
	w.must("resources", "--workspace", ws, "--dest-cert-dir", t.TempDir())
	if all := allText(written()); strings.Contains(all, "http://"+w.mirror.Host) || strings.Contains(all, line) {
		t.Error("the flag does not replace how the mirror is reached")
	}
}

// withoutComponents leaves out the files that depend on the version of the clusters.
func withoutComponents(files map[string]string) map[string]string {
	rest := maps.Clone(files)
	maps.DeleteFunc(rest, func(name, _ string) bool {
		return strings.HasPrefix(name, "/cluster-resources/components/") || name == "/cluster-resources/Kustomization"
	})
	return rest
}

func allText(files map[string]string) string {
	return strings.Join(slices.Sorted(maps.Values(files)), "")
}

// TestResourcesForOtherClusters checks that objects which an earlier target applied are mentioned with the command
// that deletes them, when they are no longer applied and when they are no longer written.
func TestResourcesForOtherClusters(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.config("isc.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	ws := w.path("ws")
	w.must("mirror", "-c", w.path("isc.yaml"), w.docker("/ocp"), "--workspace", ws, "--for", "openshift-4.20")
	const itms = "oc delete imagetagmirrorset itms-generic-0\n"
	o := w.must("resources", "--workspace", ws, "--for", "kubernetes")
	w.says(o.stdout, "1 object no longer applied: ImageTagMirrorSet itms-generic-0; clusters that have it keep it until it is deleted:\n    "+itms)
	if o = w.must("resources", "--workspace", ws); strings.Contains(o.stdout, "oc delete") {
		t.Errorf("mentioned twice:\n%s", o.stdout)
	}
	o = w.must("resources", "--workspace", ws, "--for", "openshift-4.12")
	w.says(o.stdout, "1 object removed: ImageTagMirrorSet itms-generic-0; in clusters that have it:\n    "+itms)
	if o = w.must("resources", "--workspace", ws); strings.Contains(o.stdout, "oc delete") {
		t.Errorf("mentioned twice:\n%s", o.stdout)
	}
}
