package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

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
	for _, r := range d.repositories(t, d.to(d.name)) {
		if err := d.mirror.Client().CheckRepository(t.Context(), r); err != nil {
			t.Errorf("%s has wrong content: %v", r.Name, err)
		}
		if r.Uploads > 0 && !d.open {
			t.Errorf("%s: %d uploads were left open:\n%s", r.Name, r.Uploads, uploadsOf(d.mirror.Log(), r.Name))
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
	for _, r := range d.source.Log() {
		if r.Kind() == "GET blob" && d.isComplete(r.Digest()) {
			t.Errorf("the second run read %s again", r.Digest())
		}
	}
	if d.direction == toArchive {
		checkArchive(t, d.to(d.name))
		files := filesOf
		if d.less {
			files = entriesOf
		}
		if diff := cmp.Diff(files(t, d.reference), files(t, d.to(d.name))); diff != "" {
			t.Errorf("different from the archive of an uninterrupted run (-want +got):\n%s", diff)
		}
		return
	}
	want, got := d.repositories(t, d.reference), d.repositories(t, d.to(d.name))
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("different from an uninterrupted run (-want +got):\n%s", diff)
	}
}

func (d *faultCheck) isComplete(b digest.Digest) bool {
	for _, blobs := range d.complete {
		if blobs[b] {
			return true
		}
	}
	return false
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

// uploadsOf lists the requests for uploads to a repository.
func uploadsOf(log []registrytest.Request, repository string) string {
	var b strings.Builder
	for _, r := range log {
		if strings.HasPrefix(r.Path, "/v2/"+repository+"/blobs/uploads/") {
			fmt.Fprintf(&b, "%s …%s %s: %d\n", r.Method, r.Path[max(0, len(r.Path)-8):], r.Digest(), r.Status)
		}
	}
	return b.String()
}

// repositories lists what the mirror stores below a prefix.
func (s *faultFixture) repositories(t *testing.T, prefix string) []registrytest.Repository {
	t.Helper()
	return contentBelow(t, s.mirror, prefix)
}

// filesOf returns the digests of all files in a folder, by name.
func filesOf(t *testing.T, dir string) map[string]digest.Digest {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]digest.Digest{}
	for _, e := range entries {
		files[e.Name()] = "a folder"
		if !e.IsDir() {
			f, err := os.Open(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()], err = digest.FromReader(f)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

// checkArchive reads an archive like any program that reads tar files. In a finished archive, every
// entry has the right digest, and all content that a manifest names is present. In an unfinished
// archive, no file has its final name.
func checkArchive(t *testing.T, dir string) {
	t.Helper()
	sets, err := filepath.Glob(filepath.Join(dir, "gantry-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	volumes, err := filepath.Glob(filepath.Join(dir, "gantry-*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(sets) == 0 && len(volumes) == 0 {
		return
	}
	entries := readVolumes(t, volumes)
	for name, data := range entries {
		if rest, ok := strings.CutPrefix(name, "blobs/"); ok {
			if want := strings.Replace(rest, "/", ":", 1); digest.FromBytes(data).String() != want {
				t.Errorf("%s: the name of an entry is not its digest: %s", dir, name)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".gantry-partial")); err == nil && len(sets) == 0 {
		return // killed while the files were renamed: the archive is not finished
	}
	var index ocispec.Index
	if err := json.Unmarshal(entries["index.json"], &index); err != nil {
		t.Errorf("%s: index.json: %v", dir, err)
	}
	if len(sets) == 0 || len(index.Manifests) == 0 {
		t.Errorf("%s: a volume without a set, or without images: %v", dir, volumes)
	}
	for _, desc := range index.Manifests {
		if err := reach(entries, desc); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// entriesOf returns the digests of the entries in the archives of a folder, by name, without the
// labels of volumes, the checksums and the copy of the set manifest, which differ between archives.
func entriesOf(t *testing.T, dir string) map[string]digest.Digest {
	t.Helper()
	volumes, err := filepath.Glob(filepath.Join(dir, "gantry-*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]digest.Digest{}
	for name, data := range readVolumes(t, volumes) {
		if !label.MatchString(name) && name != "SHA256SUMS" && name != "gantry/set.tar" {
			files[name] = digest.FromBytes(data)
		}
	}
	return files
}

var label = regexp.MustCompile(`^gantry/[0-9]+\.[0-9]+\.json$`)

func readVolumes(t *testing.T, volumes []string) map[string][]byte {
	t.Helper()
	entries := map[string][]byte{}
	for _, volume := range volumes {
		if err := readTar(volume, entries); err != nil {
			t.Errorf("%s: %v", volume, err)
		}
	}
	return entries
}

func readTar(name string, entries map[string][]byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if entries[h.Name], err = io.ReadAll(tr); err != nil {
			return err
		}
	}
}

// reach checks that everything is present that a manifest names, recursively.
func reach(entries map[string][]byte, desc ocispec.Descriptor) error {
	data, ok := entries["blobs/"+strings.Replace(desc.Digest.String(), ":", "/", 1)]
	if !ok {
		return fmt.Errorf("%s is not in the archive", desc.Digest)
	}
	if int64(len(data)) != desc.Size {
		return fmt.Errorf("%s has %d bytes, its descriptor says %d", desc.Digest, len(data), desc.Size)
	}
	if !strings.Contains(desc.MediaType, "manifest") && !strings.Contains(desc.MediaType, "index") {
		return nil
	}
	var m struct {
		Config            *ocispec.Descriptor
		Layers, Manifests []ocispec.Descriptor
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("manifest %s: %w", desc.Digest, err)
	}
	parts := append(m.Layers, m.Manifests...)
	if m.Config != nil {
		parts = append(parts, *m.Config)
	}
	for _, part := range parts {
		if err := reach(entries, part); err != nil {
			return fmt.Errorf("manifest %s: %w", desc.Digest, err)
		}
	}
	return nil
}
