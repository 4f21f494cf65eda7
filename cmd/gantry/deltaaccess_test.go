package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDeltaPushOnly imports deltas into a registry that refuses pulls. The run ends before anything is pushed, and with
// the folder of the earlier archive it succeeds.
func TestDeltaPushOnly(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.imported("disk1")
	second := w.publish(2)
	w.written("disk2")
	refused := registrytest.Rule{Method: http.MethodGet, Path: "/blobs/sha256", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")}
	for name, rules := range map[string][]registrytest.Rule{
		"blobs":    {refused},
		"requests": {refused, {Method: http.MethodHead, Path: "/blobs/sha256", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")}},
	} {
		w.mirror.Script(rules...)
		before := len(w.mirror.Log())
		w.refuse(exitUnauthorized, []string{"as deltas of blobs that the mirror refuses to send", " needs sha256:", "bring gantry-000001 too", "--delta off"},
			append(w.from("disk2"), "--workspace", w.path("inside"))...)
		for _, r := range w.mirror.Log()[before:] {
			if r.Method == http.MethodPut && strings.Contains(r.Path, "/site/org/") {
				t.Errorf("%s: the run sent %s", name, r.Path)
			}
		}
	}
	w.mirror.Script(refused)
	w.imported("disk2", "disk1")
	w.imported("disk2") // the mirror has everything
	w.mirror.Script()
	w.has(second)
}

// TestDeltaGap imports an archive whose deltas need an archive that the site never got. Nothing is copied.
func TestDeltaGap(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.imported("disk1")
	w.publish(2)
	w.written("disk2")
	third := w.publish(3)
	w.written("disk3")
	before := len(w.mirror.Log())
	w.refuse(exitMismatch, []string{"sequence 3 builds on 2, which this workspace has not imported", "bring gantry-000002 too", "or write the archive again with --base 1"},
		append(w.from("disk3"), "--workspace", w.path("inside"))...)
	for _, r := range w.mirror.Log()[before:] {
		if r.Method != http.MethodGet && r.Method != http.MethodHead && strings.Contains(r.Path, "/site/org/") {
			t.Errorf("the run sent %s %s", r.Method, r.Path)
		}
	}
	w.imported("disk3", "disk2")
	w.has(third)
	// Another workspace knows of no import, and the mirror has what is needed.
	w.must(append(w.from("disk3"), "--workspace", w.path("another"))...)
}
