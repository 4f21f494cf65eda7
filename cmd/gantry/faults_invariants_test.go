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

// A disturbance is one run through a fault and the run after it.
type disturbance struct {
	*storm
	name string
	// open: uploads may have stayed open. less: the first run finished an archive
	// that has less in it.
	open, less bool
	// complete are the blobs that the first run completed, by repository (at an
	// archive all are in one).
	complete map[string]map[digest.Digest]bool
}

// afterFault wants that the fault did no harm. It keeps what the run completed.
func (d *disturbance) afterFault(t *testing.T) {
	t.Helper()
	d.complete = d.completed(t)
	if d.way == toArchive {
		checkDisk(t, d.to(d.name))
		return
	}
	for _, r := range d.repositories(t, d.to(d.name)) {
		if err := d.mirror.Client().CheckRepository(t.Context(), r); err != nil {
			t.Errorf("%s holds what it should not: %v", r.Name, err)
		}
		if r.Uploads > 0 && !d.open {
			t.Errorf("%s: %d uploads were left open:\n%s", r.Name, r.Uploads, uploadsOf(d.mirror.Log(), r.Name))
		}
	}
}

// afterAnother wants that another run brought what an undisturbed one brings,
// and nothing that the first one had completed.
func (d *disturbance) afterAnother(t *testing.T) {
	t.Helper()
	for repository, blobs := range d.completed(t) {
		for b := range blobs {
			if d.complete[repository][b] {
				t.Errorf("the second run brought %s to %q again", b, repository)
			}
		}
	}
	for _, r := range d.source.Log() {
		if r.Kind() == "GET blob" && d.isComplete(r.Digest()) {
			t.Errorf("the second run read %s again", r.Digest())
		}
	}
	if d.way == toArchive {
		checkDisk(t, d.to(d.name))
		files := filesOf
		if d.less {
			files = entriesOf
		}
		if diff := cmp.Diff(files(t, d.calm), files(t, d.to(d.name))); diff != "" {
			t.Errorf("not the archive of an undisturbed run (-want +got):\n%s", diff)
		}
		return
	}
	calm, got := d.repositories(t, d.calm), d.repositories(t, d.to(d.name))
	for i := range calm {
		calm[i].Name = strings.TrimPrefix(calm[i].Name, d.calm+"/")
	}
	for i, r := range got {
		if err := d.mirror.Client().CheckRepository(t.Context(), r); err != nil {
			t.Errorf("%s is not whole: %v", r.Name, err)
		}
		got[i].Name = strings.TrimPrefix(r.Name, d.to(d.name)+"/")
		if d.open {
			got[i].Uploads = 0
		}
	}
	if diff := cmp.Diff(calm, got); diff != "" {
		t.Errorf("not what an undisturbed run brings (-want +got):\n%s", diff)
	}
}

func (d *disturbance) isComplete(b digest.Digest) bool {
	for _, blobs := range d.complete {
		if blobs[b] {
			return true
		}
	}
	return false
}

// completed are the blobs that came to their end since the logs began, each
// once: in an upload or a mount, or where an archive is written, in an answer of
// the source. What a fault pretended does not count.
func (d *disturbance) completed(t *testing.T) map[string]map[digest.Digest]bool {
	t.Helper()
	log, end := d.mirror.Log(), func(r registrytest.Request) bool {
		return r.Status == http.StatusCreated && (r.Kind() == "PUT upload" || r.Kind() == "POST mount")
	}
	if d.way == toArchive {
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
		if d.way != toArchive {
			repository = r.Repository()
		}
		if all[repository] == nil {
			all[repository] = map[digest.Digest]bool{}
		}
		if all[repository][r.Digest()] {
			t.Errorf("%s came to %q twice in one run", r.Digest(), repository)
		}
		all[repository][r.Digest()] = true
	}
	return all
}

// uploadsOf tells what was asked for the uploads of a repository.
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
func (s *storm) repositories(t *testing.T, prefix string) []registrytest.Repository {
	t.Helper()
	list, err := s.mirror.Repositories(prefix)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// filesOf are the digests of all files in a folder, by name.
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

// checkDisk reads an archive as any program reads tar files. Where it has its
// final names, everything in it has its digest and what is named is there; where
// it is not finished, nothing has a final name.
func checkDisk(t *testing.T, dir string) {
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
				t.Errorf("%s: an entry has other bytes than its name says: %s", dir, name)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".gantry-partial")); err == nil && len(sets) == 0 {
		return // killed while names were given: that is no archive yet
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

// entriesOf are the digests of what is in the archives of a folder, by name, without
// the labels of volumes, and without the checksums, which each archive has of its own.
func entriesOf(t *testing.T, dir string) map[string]digest.Digest {
	t.Helper()
	volumes, err := filepath.Glob(filepath.Join(dir, "gantry-*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]digest.Digest{}
	for name, data := range readVolumes(t, volumes) {
		if !label.MatchString(name) && name != "SHA256SUMS" {
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

// reach walks from a manifest to all that it names.
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
