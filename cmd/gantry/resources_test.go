package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestResourcesAgain checks that cluster resources are written again without a request: the same ones,
// those for other clusters, and those for another name of the mirror.
func TestResourcesAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.config("isc.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	ws := w.path("ws")
	w.must("mirror", "-c", w.path("isc.yaml"), w.docker("/ocp"), "--workspace", ws, "--mirror-source-policy", "AllowContactingSource")
	const file = "ws/cluster-resources/itms-generic-0.yaml"
	first := w.read(file)
	if err := os.RemoveAll(w.path("ws/cluster-resources")); err != nil {
		t.Fatal(err)
	}
	w.mirror.ResetLog()
	o := w.must("resources", "--workspace", ws)
	if diff := cmp.Diff(first, w.read(file)); diff != "" {
		t.Error(diff)
	}
	if want := "  oc apply -k " + filepath.Join(ws, "cluster-resources") + "\n"; !strings.HasSuffix(o.stdout, want) {
		t.Errorf("the last line is not %q:\n%s", want, o.stdout)
	}
	o = w.must("resources", "--workspace", ws, "--mirror-host", "dmz.example.com:8443/a/b", "-o", "json")
	moved := strings.ReplaceAll(first, w.mirror.Host+"/ocp", "dmz.example.com:8443/a/b")
	again, err := filepath.Glob(w.path("ws/cluster-resources-*/itms-generic-0.yaml"))
	if err != nil || len(again) != 1 {
		t.Fatalf("the files for the other host: %v, %v\n%s", again, err, o.stdout)
	}
	if text, err := os.ReadFile(again[0]); err != nil || string(text) != moved {
		t.Errorf("%v\n%s", err, cmp.Diff(moved, string(text)))
	}
	if diff := cmp.Diff(first, w.read(file)); diff != "" {
		t.Errorf("those for the mirror changed: %s", diff)
	}
	// The settings of clusters are set back, and their objects are not deleted.
	w.must("resources", "--workspace", ws, "--for", "openshift-4.20,disable-default-catalogs")
	o = w.must("resources", "--workspace", ws, "--for", "openshift-4.20")
	if want := "oc patch operatorhub.config.openshift.io cluster"; !strings.Contains(o.stdout, want) || strings.Contains(o.stdout, "oc delete") {
		t.Errorf("no %q, or a command that deletes:\n%s", want, o.stdout)
	}
	// ICSPs replace mirror sets, and the workspace keeps the clusters they are for.
	o = w.must("resources", "--workspace", ws, "--for", "openshift-4.12")
	if want := "oc delete imagetagmirrorset itms-generic-0"; !strings.Contains(o.stdout, want) {
		t.Errorf("no %q:\n%s", want, o.stdout)
	}
	if _, err := os.Stat(w.path(file)); !os.IsNotExist(err) {
		t.Errorf("the mirror set stays: %v", err)
	}
	w.must("mirror", "-c", w.path("isc.yaml"), w.docker("/ocp"), "--workspace", ws, "--resources-only")
	if _, err := os.Stat(w.path(file)); !os.IsNotExist(err) {
		t.Errorf("the next run forgets the version: %v", err)
	}
	if n := len(w.mirror.Log()); n > 0 {
		t.Errorf("the mirror got %d requests", n)
	}
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", w.path("isc.yaml"), disk, "--workspace", w.path("connected"))
	w.must("resources", "--workspace", w.path("site"), "--from", disk, "--mirror-host", "dmz.example.com:8443/a/b", "--mirror-source-policy", "AllowContactingSource")
	if diff := cmp.Diff(moved, w.read("site/cluster-resources/itms-generic-0.yaml")); diff != "" {
		t.Errorf("from the archive: %s", diff)
	}
	// Without the flag, it is as in the last run, until another flag replaces it.
	from := []string{"resources", "--workspace", w.path("site"), "--from", disk, "--mirror-host", "dmz.example.com:8443/a/b"}
	w.must(append(from, "--for", "openshift-4.20")...)
	if diff := cmp.Diff(moved, w.read("site/cluster-resources/itms-generic-0.yaml")); diff != "" {
		t.Errorf("from the archive again: %s", diff)
	}
	w.must(append(from, "--icsp")...)
	o = w.must(from...)
	if _, err := os.Stat(w.path("site/cluster-resources/itms-generic-0.yaml")); !os.IsNotExist(err) {
		t.Errorf("--icsp is forgotten: %v\n%s", err, o.stdout)
	}
}

func TestResourcesRefusals(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.config("isc.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	ws := w.path("ws")
	for _, prefix := range []string{"/a", "/b"} {
		w.must("mirror", "-c", w.path("isc.yaml"), w.docker(prefix), "--workspace", ws)
	}
	host := strings.TrimPrefix(w.docker(""), "docker://")
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"there is no workspace", []string{"--workspace", w.path("none")}},
		{"name the mirror: docker://", []string{"--workspace", ws}},
		{"the workspace has several mirrors", []string{"--workspace", ws}},
		{"knows nothing of", []string{"--workspace", ws, w.docker("/c")}},
		{"is not a mirror registry", []string{"--workspace", ws, "file://x"}},
		{"name that mirror, docker://", []string{"--workspace", ws, w.docker("/a"), "--mirror-host", host + "/b"}},
		{"both docker://HOST[:PORT][/PREFIX] and --mirror-host name one", []string{"--from", "file://x", w.docker("/a"), "--mirror-host", host + "/b"}},
		{"have only ImageContentSourcePolicies", []string{"--workspace", ws, w.docker("/a"), "--for", "openshift-4.12", "--icsp=false"}},
		{"is another mirror of the workspace", []string{"--workspace", ws, w.docker("/a"), "--mirror-host", host + "/b"}},
		{"an archive does not name the mirror; set --mirror-host", []string{"--from", "file://x"}},
		{"neither openshift-VERSION nor kubernetes", []string{"--workspace", ws, w.docker("/a"), "--for", "openshft-4.20"}},
		{"--icsp cannot be combined with --mirror-source-policy", []string{"--workspace", ws, "--icsp", "--mirror-source-policy", "NeverContactSource"}},
	} {
		w.refuse(exitUsage, []string{tt.want}, append([]string{"resources"}, tt.args...)...)
	}
	w.must("resources", "--workspace", ws, w.docker("/a"))
}
