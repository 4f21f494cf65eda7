package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

func TestMirrorBothDirections(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc, disk := w.path("imageset.yaml"), "file://"+w.path("disk")
	w.must("mirror", "-c", isc, w.docker("/direct"))
	direct := w.verify("direct", acme, 4)
	w.verify("direct", community, 5)

	w.source.ResetLog()
	again := w.must("mirror", "-c", isc, w.docker("/direct"))
	if n := w.source.Requests()["GET blob"]; n > 0 || !strings.Contains(again.stdout, "Nothing to copy") {
		t.Errorf("a second run requested %d blobs of the source and prints\n%s", n, again.stdout)
	}
	w.must("mirror", "-c", isc, disk)
	moved := w.must("mirror", "--from", disk, w.docker("/carried"), "--workspace", w.path("far"))
	if strings.Contains(moved.stderr, "was not used for") {
		t.Errorf("of the first run to a mirror, stderr has\n%s", moved.stderr)
	}
	carried := w.verify("carried", acme, 4)
	fail.Diff(t, direct.Catalog, carried.Catalog)
	again = w.must("mirror", "--from", disk, w.docker("/carried"), "--workspace", w.path("elsewhere"))
	if !strings.Contains(again.stderr, "elsewhere was not used for "+w.docker("/carried")+" before; the last run used "+w.path("far")) || !strings.Contains(again.stderr, "set --workspace to "+w.path("far")) {
		t.Errorf("of another workspace, stderr has\n%s", again.stderr)
	}
	// Image sets may have workspaces of their own.
	edge := w.must("mirror", "-c", w.config("edge.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n"), w.docker("/carried"), "--workspace", w.path("edge"))
	if strings.Contains(edge.stderr, "was not used for") {
		t.Errorf("of another image set, stderr has\n%s", edge.stderr)
	}
	w.gantry("mirror", "-c", w.config("broken.yaml", "  additionalImages:\n  - name: images.example.net/no/such:v1\n"), "oci://"+w.path("layout"))
	status := w.must("status").stdout
	w.says(status, "DESTINATION", w.docker("/direct")+" ", "complete: ", disk+" ", "sequence 1, complete: ", "FAILED\n", "\noci://"+w.path("layout")+" failed:\n  ")
	again = w.must("mirror", "--from", disk, w.docker("/carried"), "--workspace", w.path("far"))
	if !strings.Contains(again.stdout, "Nothing to copy") {
		t.Errorf("a second import prints\n%s", again.stdout)
	}
	if again = w.must("mirror", "-c", isc, disk); !strings.Contains(again.stdout, "Nothing to copy") {
		t.Errorf("a second archive prints\n%s", again.stdout)
	}
	near, far := readFolder(t, w.path("workspace/cluster-resources")), readFolder(t, w.path("far/cluster-resources"))
	for name, text := range near {
		near[name] = strings.ReplaceAll(text, "/direct/", "/carried/")
	}
	if diff := cmp.Diff(near, far); diff != "" || len(near) < 6 {
		t.Errorf("cluster resources (%d) differ between the ways: %s", len(near), diff)
	}
}

// readFolder reads the files of a folder, without the Kustomization and the folders in it.
func readFolder(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	fail.On(t, err)
	for _, e := range entries {
		if e.IsDir() || e.Name() == resources.KustomizationFile {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		fail.On(t, err)
		all[e.Name()] = string(text)
	}
	return all
}

// TestMirrorWithCredentialsAndTLS has a registry with tokens; package remote tests basic authentication, too.
func TestMirrorWithCredentialsAndTLS(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{TLS: true, Auth: registrytest.TokenAuth})
	isc := w.path("imageset.yaml")
	w.refuse(exitError, []string{"certificate", "--dest-cert-dir"}, "mirror", "-c", isc, w.docker(""))
	ca := filepath.Join(w.mirror.CertDir, w.mirror.Host)
	w.refuse(exitUnauthorized, []string{w.mirror.Host, "--dest-authfile"}, "mirror", "-c", isc, w.docker(""), "--dest-cert-dir", ca)
	wrong := w.write("wrong.json", `{"auths":{"`+w.mirror.Host+`":{"username":"robot","password":"s3cret-and-wrong"}}}`)
	o := w.gantry("mirror", "-c", isc, w.docker(""), "--dest-cert-dir", ca, "--dest-authfile", wrong, "-v")
	if o.code != exitUnauthorized || strings.Contains(o.stderr, "s3cret") || !strings.Contains(o.stderr, `the mirror refused the password for user "robot"`) {
		t.Errorf("wrong credentials: %d\n%s", o.code, o.stderr)
	}
	o = w.must("mirror", "-c", isc, w.docker(""), "--dest-cert-dir", ca, "--dest-authfile", w.mirror.AuthFile, "-v")
	if strings.Contains(o.stderr, w.mirror.Password) {
		t.Error("the password is in the log")
	}
	w.verify("", acme, 4)
}
