package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPullFromEncryptedDisk checks that a file that is split over the volumes of an encrypted archive comes
// out of it with the identity, and not without.
func TestPullFromEncryptedDisk(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	site, recipient := w.ageKey("site", "")
	text := strings.Repeat("0123456789abcdef", 40_000)
	path, disk := w.write("live.iso", text), "file://"+w.path("disk")
	isc := w.write("files.yaml", "apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n  files: [{path: \""+path+"\"}]\n")
	w.must("mirror", "-c", isc, disk, "--encrypt-to", recipient, "--volume-size", "0.3MB")
	w.says(w.looked(exitUsage, "pull", disk, "live.iso", "--to", w.path("out")).stderr, "is encrypted", "--identity")
	if _, err := os.Stat(w.path("out")); !os.IsNotExist(err) {
		t.Errorf("a file was written without the identity: %v", err)
	}
	w.looked(exitOK, "pull", disk, "live.iso", "--to", w.path("out"), "--identity", site)
	w.must("mirror", "--from", disk, w.docker("/files"), "--identity", site)
	w.looked(exitOK, "pull", w.docker("/files"), "live.iso", "--to", w.path("again"), "--src-plain-http")
	for _, name := range []string{"out", "again"} {
		if got, err := os.ReadFile(w.path(name)); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("%s has %d bytes, %v", name, len(got), err)
		}
	}
}
