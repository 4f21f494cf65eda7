package main

import (
	"archive/tar"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A faultCheck checks a run with a fault and the run after it.
type faultCheck struct {
	*faultFixture
	name string
	// open: uploads may have stayed open. less: the first run finished an archive with less
	// content.
	open, less bool
	// complete has the blobs that the first run completed, by repository. For an archive, they all
	// have the same key.
	complete map[string]map[digest.Digest]bool
}

// afterFault checks that the fault did no harm, and records which blobs the run completed.
func (d *faultCheck) afterFault(t *testing.T) {
	t.Helper()
	d.complete = d.completed(t)
	if d.direction == toArchive {
		checkArchive(t, d.to(d.name))
		return
	}
	for _, r := range contentBelow(t, d.mirror, d.to(d.name)) {
		if err := d.mirror.Client().CheckRepository(t.Context(), r); err != nil {
			t.Errorf("%s has wrong content: %v", r.Name, err)
		}
		if r.Uploads > 0 && !d.open {
			t.Errorf("%s: %d uploads were left open", r.Name, r.Uploads)
		}
	}
}

// afterAnother checks that the next run gave the same result as an uninterrupted run, and did not
// copy anything again that the first run had completed.
func (d *faultCheck) afterAnother(t *testing.T) {
	t.Helper()
	for repository, blobs := range d.completed(t) {
		for b := range blobs {
			if d.complete[repository][b] {
				t.Errorf("the second run copied %s to %q again", b, repository)
			}
		}
	}
	for _, blobs := range d.complete {
		for _, r := range d.source.Log() {
			if r.Kind() == "GET blob" && blobs[r.Digest()] {
				t.Errorf("the second run read %s again", r.Digest())
			}
		}
	}
	if d.direction == toArchive {
		checkArchive(t, d.to(d.name))
		if diff := cmp.Diff(filesOf(t, d.reference), filesOf(t, d.to(d.name))); diff != "" && !d.less {
			t.Errorf("different from the archive of an uninterrupted run (-want +got):\n%s", diff)
		}
		return
	}
	want, got := contentBelow(t, d.mirror, d.reference), contentBelow(t, d.mirror, d.to(d.name))
	for i := range want {
		want[i].Name = strings.TrimPrefix(want[i].Name, d.reference+"/")
	}
	for i, r := range got {
		if err := d.mirror.Client().CheckRepository(t.Context(), r); err != nil {
			t.Errorf("%s is incomplete: %v", r.Name, err)
		}
		got[i].Name = strings.TrimPrefix(r.Name, d.to(d.name)+"/")
		if d.open {
			got[i].Uploads = 0
		}
	}
	fail.Diff(t, want, got)
}

// completed returns the blobs that were completed since the logs were reset, by upload or mount or,
// for an archive, in a response of the source. It reports blobs that were completed twice.
// Responses that a fault made up do not count.
func (d *faultCheck) completed(t *testing.T) map[string]map[digest.Digest]bool {
	t.Helper()
	log, end := d.mirror.Log(), func(r registrytest.Request) bool {
		return r.Status == http.StatusCreated && (r.Kind() == "PUT upload" || r.Kind() == "POST mount")
	}
	if d.direction == toArchive {
		log, end = d.source.Log(), func(r registrytest.Request) bool {
			return r.Kind() == "GET blob" && r.Whole && (r.Status == http.StatusOK || r.Status == http.StatusPartialContent)
		}
	}
	all := map[string]map[digest.Digest]bool{}
	for _, r := range log {
		if r.Faulted || !end(r) {
			continue
		}
		repository := ""
		if d.direction != toArchive {
			repository = r.Repository()
		}
		if all[repository] == nil {
			all[repository] = map[digest.Digest]bool{}
		}
		if all[repository][r.Digest()] {
			t.Errorf("%s was copied to %q twice in one run", r.Digest(), repository)
		}
		all[repository][r.Digest()] = true
	}
	return all
}

// filesOf returns the digests of all files in a folder, by name.
func filesOf(t *testing.T, dir string) map[string]digest.Digest {
	t.Helper()
	entries, err := os.ReadDir(dir)
	fail.On(t, err)
	files := map[string]digest.Digest{}
	for _, e := range entries {
		files[e.Name()] = "a folder"
		if !e.IsDir() {
			files[e.Name()] = digest.FromString(readText(t, filepath.Join(dir, e.Name())))
		}
	}
	return files
}

// checkArchive reads an archive like any program that reads tar files: every entry has the right digest. In an unfinished
// archive, no file has its final name.
func checkArchive(t *testing.T, dir string) {
	t.Helper()
	volumes, err := filepath.Glob(filepath.Join(dir, "gantry-*.tar"))
	fail.On(t, err)
	sets, _ := filepath.Glob(filepath.Join(dir, "gantry-*.json"))
	if _, err := os.Stat(filepath.Join(dir, ".gantry-partial")); err != nil && (len(volumes) > 0) != (len(sets) > 0) {
		t.Errorf("%s: a volume without a set, or a set without volumes: %v", dir, volumes)
	}
	for _, volume := range volumes {
		f, err := os.Open(volume)
		fail.On(t, err)
		defer f.Close()
		for tr := tar.NewReader(f); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", volume, err)
			}
			got, err := digest.FromReader(tr)
			if rest, ok := strings.CutPrefix(h.Name, "blobs/"); err != nil || ok && got.String() != strings.Replace(rest, "/", ":", 1) {
				t.Errorf("%s: the name of %s is not its digest: %v", volume, h.Name, err)
			}
		}
	}
}
