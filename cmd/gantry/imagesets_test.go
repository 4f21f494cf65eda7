package main

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestImageSetsCommands checks what status and diff print of the image sets of a mirror, and their exit status. Packages
// site and report test what is recorded and compared.
func TestImageSetsCommands(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	mirror, lock := w.docker("/ocp"), w.path("old.json")
	isc := w.operators("lantern")
	w.must("plan", "-c", isc, "--lock", lock)
	w.must("mirror", "-c", isc, mirror)
	w.must("mirror", "-c", w.config("edge.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n"), mirror)
	status := w.must("status", mirror, "--revisions")
	w.says(status.stdout, "IMAGE SET", "imageset ", "edge ", "configuration ", "1 catalog (1 package)", "1 image", "REVISION")
	if former := w.must("status", mirror, "--turns"); former.stdout != status.stdout {
		t.Errorf("with the former name of the flag:\n%s\nwant\n%s", former.stdout, status.stdout)
	}
	w.must("status", mirror, "-o", "json")
	w.says(w.must("diff", "-c", isc, lock).stdout, "No difference: ")
	isc = w.operators("lantern", "tidewater")
	if o := w.gantry("diff", "-o", "json", "-c", isc, mirror); o.code != exitSomething {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.says(w.gantry("diff", "-c", isc, mirror).stdout, "Changed: catalog registry.example.com/"+acme, "package tidewater added")
	w.says(w.gantry("diff", mirror, lock, "--name", "edge").stdout, "Removed: 1 image", "tools/netcheck:1.4")
	w.refuse(exitUsage, []string{"several image sets: edge, imageset", "--name"}, "diff", mirror)
}
