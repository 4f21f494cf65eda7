package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestVolumesAlone carries the volumes of a signed archive under other names and nothing else, and uses every
// command that opens an archive.
func TestVolumesAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	_, key, _ := w.sshKey("ops", "")
	config := w.config("ops.yaml", firstMonth)
	w.must("mirror", "-c", config, fileScheme+w.path("disk"), "--layout", "oc-mirror", "--sign-key", key)
	tars, err := filepath.Glob(w.path("disk/mirror_*.tar"))
	if err != nil || len(tars) == 0 {
		t.Fatalf("volumes %v, %v", tars, err)
	}
	alone := w.path("alone")
	if err := os.Mkdir(alone, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, file := range tars {
		if err := os.Rename(file, filepath.Join(alone, string(rune('z'-i))+".download")); err != nil {
			t.Fatal(err)
		}
	}
	from := fileScheme + alone
	w.says(w.looked(exitOK, "verify", from, "--verify-key", key+".pub").stdout, "is intact", "signed")
	w.says(w.looked(exitOK, "archive", "inspect", from).stdout, "gantry-000001.json is missing; its copy in a volume is the same")
	w.says(w.looked(exitOK, "archive", "list", from).stdout, "tools/netcheck:1.4")
	w.looked(exitOK, "archive", "extract", from, "--to", w.path("layout"))
	w.must("mirror", "--from", from, w.docker("/alone"), "--verify-key", key+".pub", "--workspace", w.path("site"))

	// What is left behind is not damage: the next archive has what is new.
	w.config("ops.yaml", secondMonth)
	o := w.must("mirror", "-c", config, fileScheme+w.path("disk"), "--sign-key", key)
	w.says(o.stderr, "mirror_000001.tar of sequence 1 in ", "elsewhere, and this archive builds on sequence 1")
	if _, err := os.Stat(w.path("disk/" + strings.Replace(filepath.Base(tars[0]), "000001", "000002", 1))); err != nil {
		t.Error(err)
	}
}
