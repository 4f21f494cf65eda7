package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestResources checks the flags and the commands that are printed. Package cluster tests what is written.
func TestResources(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.config("isc.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	ws := w.path("ws")
	w.must("mirror", "-c", w.path("isc.yaml"), w.docker("/ocp"), "--workspace", ws)
	resources := func(args ...string) string {
		return w.must(append([]string{"resources", "--workspace", ws}, args...)...).stdout
	}
	if text, want := resources(), "  oc apply -k "+filepath.Join(ws, "cluster-resources")+"\n"; !strings.HasSuffix(text, want) {
		t.Errorf("the last line is not %q:\n%s", want, text)
	}
	w.says(resources("--mirror-host", "dmz.example.com:8443/a/b", "-o", "json"), `"dir":"`+ws+`/cluster-resources-`)
	// The settings of clusters are set back, and their objects are not deleted.
	w.says(resources("--for", "openshift-4.20,disable-default-catalogs,trusted-ca"), "Not applied: trusted-ca, which needs the CA")
	if text := resources("--for", "openshift-4.20"); !strings.Contains(text, "oc patch operatorhub.config.openshift.io cluster") || strings.Contains(text, "oc delete") {
		t.Errorf("no command that sets back, or one that deletes:\n%s", text)
	}
	const itms = "oc delete imagetagmirrorset itms-generic-0\n"
	w.says(resources("--for", "kubernetes"), "1 object no longer applied: ImageTagMirrorSet itms-generic-0; clusters that have it keep it until it is deleted:\n    "+itms)
	w.says(resources("--for", "openshift-4.12"), "1 object removed: ImageTagMirrorSet itms-generic-0; in clusters that have it:\n    "+itms)
	for args, want := range map[string]string{
		"--from file://x": "an archive does not name the mirror; set --mirror-host",
		"--icsp --mirror-source-policy NeverContactSource": "--icsp cannot be combined with --mirror-source-policy",
		"--for openshft-4.20":                              "neither openshift-VERSION nor kubernetes",
	} {
		w.refuse(exitUsage, []string{want}, append([]string{"resources", "--workspace", ws}, strings.Fields(args)...)...)
	}
}
