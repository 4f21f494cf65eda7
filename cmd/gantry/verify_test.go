package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestVerifyCommand checks the text and the exit status of gantry verify for a mirror, a layout and an archive. Package
// verify tests what is found.
func TestVerifyCommand(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	lock, where, disk, layout := w.path("plan.json"), w.docker("/site"), "file://"+w.path("disk"), ociScheme+w.path("layout")
	isc := w.operators("lantern")
	w.must("plan", "-c", isc, "-o", lock)
	w.refuse(exitMismatch, []string{"are not in the mirror"}, "verify", "--plan", lock, where)
	w.must("mirror", "--plan", lock, where)
	w.must("mirror", "--plan", lock, layout)
	w.must("mirror", "-c", isc, disk)
	w.says(w.must("verify", "--plan", lock, where).stdout, "All ", where, "lead to content of the mirror")
	w.says(w.must("verify", where).stdout, "Image set imageset, revision 1 of ")
	w.says(w.must("verify", disk).stdout, "is intact")
	if o := w.gantry("verify", "--plan", lock, w.docker("/other")); o.code != exitMismatch || !strings.Contains(o.stdout, "/other/acme/operator-index:v4.20\n      it is missing") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.mirror.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	o := w.gantry("verify", "--plan", lock, where, "--output", "json")
	var result verify.VerifiedRegistry
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != exitMismatch || len(result.Missing) == 0 {
		t.Errorf("%d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	w.mirror.Script()
	blob := "/blobs/sha256/" + readPlanFile(t, lock).Images[0].Digest.Encoded()
	fail.On(t, os.Remove(w.path("layout"+blob)))
	w.refuse(exitMismatch, []string{"is damaged or incomplete", "--blobs=check"}, "verify", layout)
	w.mirror.Script(registrytest.Rule{Path: "/manifests/imageset", Action: registrytest.Refuse(http.StatusInternalServerError, "UNKNOWN")})
	w.mirror.ResetLog()
	w.refuse(exitError, []string{"which writes its record again"}, "status", where)
	asked := 0
	for _, r := range w.mirror.Log() {
		if strings.Contains(r.Path, "/manifests/imageset") {
			asked++
		}
	}
	if asked != 1+statusRetries { // a user waits for the answer
		t.Errorf("%d requests", asked)
	}
	fail.On(t, os.Remove(w.path("disk/gantry-000001.0001.tar")))
	w.refuse(exitMismatch, []string{"is damaged", "again"}, "verify", disk)
	w.refuse(exitUsage, []string{"--resources", "no such file"}, "verify", "--plan", lock, "--resources", w.path("absent"), where)
}
