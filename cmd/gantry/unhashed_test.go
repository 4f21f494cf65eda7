package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDamageInLargeArchive mirrors an archive large enough that Gantry leaves hashing to the registry,
// with a damaged blob, to a real registry and to one that stores anything. Both runs end in the same
// way, and after a repair the mirror is complete.
func TestDamageInLargeArchive(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	var references strings.Builder
	for _, name := range []string{"one", "two", "three"} {
		img, err := registrytest.SizedImage("large "+name, 24<<20)
		if err != nil {
			t.Fatal(err)
		}
		w.push("large/"+name+":v1", img)
		fmt.Fprintf(&references, "  - name: %s/large/%s:v1\n", w.source.Host, name)
	}
	isc := w.config("large.yaml", "  additionalImages:\n"+references.String())
	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", isc, disk)
	have, err := archive.Open(w.path("disk"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = have.Close() }() // only read from
	damaged := largest(have, "gantry-000001.0001.tar")
	w.spoil("disk", damaged)

	place := fmt.Sprintf("gantry-000001.0001.tar: blobs/sha256/%s at offset %d: its digest is sha256:", damaged.Digest.Encoded(), damaged.Offset)
	careless := registrytest.Serve(t, registrytest.Options{}, registrytest.Careless())
	for _, registry := range []*registrytest.Server{w.mirror, careless} {
		to := "docker://" + registry.Host
		o := w.gantry("mirror", "--from", disk, to, "--workspace", w.path("site "+registry.Host))
		if o.code != exitMismatch {
			t.Fatalf("the damaged archive ended with %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		w.says(o.stderr, "not mirrored: "+w.source.Host+"/large/", "is damaged: "+place, "1 image is not mirrored")
		stored, refused, published := 0, 0, 0
		for _, q := range registry.Log() {
			switch {
			case q.Kind() == "PUT manifest" && strings.Contains(q.Path, "/large/"):
				published++
			case q.Kind() != "PUT upload":
			case q.Digest() == damaged.Digest && q.Status == http.StatusCreated:
				stored++
			case q.Status == http.StatusBadRequest:
				refused++
			}
		}
		if stored > 0 || published != 2 {
			t.Errorf("the damaged blob was stored %d times, and %d images were published", stored, published)
		}
		if registry == w.mirror && refused != 2 {
			t.Errorf("the registry refused %d uploads: want the proof and the damaged blob", refused)
		}
	}

	w.looked(exitMismatch, "archive", "repair-request", disk, "-o", w.path("request.json"))
	w.must("mirror", "--repair", w.path("request.json"), fileScheme+w.path("repair"))
	w.must("mirror", "--from", disk, "--from", fileScheme+w.path("repair"), w.docker(""), "--workspace", w.path("site "+w.mirror.Host))
	for _, name := range []string{"one", "two", "three"} {
		if _, err := w.mirror.Client().Pull(t.Context(), "large/"+name, "v1"); err != nil {
			t.Errorf("the mirror is not complete: %v", err)
		}
	}
}
