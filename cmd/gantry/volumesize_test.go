package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestVolumeSize checks that volumes have the requested size, and that an archive with volumes of
// another size is written again.
func TestVolumeSize(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc := w.path("imageset.yaml")
	disk := "file://" + w.path("disk")
	volumes := func() (n int, largest int64) {
		t.Helper()
		files, err := filepath.Glob(w.path("disk/*.tar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			largest = max(largest, info.Size())
		}
		return len(files), largest
	}
	w.must("mirror", "-c", isc, disk)
	if n, _ := volumes(); n != 1 {
		t.Fatalf("%d volumes, want 1 of the default size", n)
	}
	if o := w.must("mirror", "-c", isc, disk, "--dry-run"); !strings.Contains(o.stdout, "To copy  0 B") {
		t.Errorf("a second dry run prints\n%s", o.stdout)
	}
	small := []string{"mirror", "-c", isc, disk, "--volume-size", "0.5MB"}
	if o := w.must(append(small, "--dry-run")...); strings.Contains(o.stdout, "To copy  0 B") {
		t.Errorf("a dry run with smaller volumes prints\n%s", o.stdout)
	}
	w.source.ResetLog()
	w.must(small...)
	if n, largest := volumes(); n < 2 || largest > 500_000 {
		t.Errorf("%d volumes, the largest of %d bytes, want several of at most 2000000", n, largest)
	}
	if n := w.source.Requests()["GET blob"]; n > 0 {
		t.Errorf("%d blobs were read from the source though the archive had them", n)
	}
	w.must("mirror", "--from", disk, w.docker("/carried"))

	for _, tc := range [][]string{
		{"--volume-size", "floppy", disk}, {"--volume-size", "4", disk}, {"--volume-size", "dvd", w.docker("/no")},
	} {
		if o := w.gantry(append([]string{"mirror", "-c", isc}, tc...)...); o.code != exitUsage || !strings.Contains(o.stderr, "--volume-size") {
			t.Errorf("gantry mirror %v ended with %d:\n%s", tc, o.code, o.stderr)
		}
	}
}
