package archive

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzLabel checks that any label is read or refused, and that the numbers read have no more digits
// than file names have room for.
func FuzzLabel(f *testing.F) {
	s, dir := newSample(1, 100), f.TempDir()
	s.write(f, dir, Options{})
	raw, err := os.ReadFile(filepath.Join(dir, volumeName(1, 1)))
	fail.On(f, err)
	f.Add(raw[:2*blockSize])
	f.Add(raw[:blockSize+3])
	f.Add(append(make([]byte, blockSize), `{"sequence":1,"volume":2,"volumes":1}`...))
	f.Add(append(make([]byte, blockSize), strings.Repeat("[", 10_000)...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, ok := readLabel(bytes.NewReader(raw))
		if ok && (l.Sequence < 1 || l.Sequence > maxSequence || l.Volume < 1 || l.Volume > l.Volumes || l.Volumes > maxVolumes) {
			t.Fatalf("accepted %+v", l)
		}
		v := &volume{Name: volumeName(1, 1), Entries: []entry{{Digest: digest.FromString("another"), Offset: blockSize, Size: 200}}}
		problem := labelProblem(bytes.NewReader(raw), v)
		if problem == "" || strings.ContainsAny(problem, "\n\x00\x1b") {
			t.Fatalf("it is said to be %q", problem)
		}
	})
}

// FuzzFolder puts any content into files with the names of an archive. It checks that the archive
// is opened or refused, that content returned from it matches its digest, and that nothing is
// written. If Verify finds no damage, everything must be readable.
func FuzzFolder(f *testing.F) {
	s, dir := newSample(1, 100, 0, 3000), f.TempDir()
	s.write(f, dir, Options{})
	files := folder(f, dir)
	f.Add([]byte(files[setName(1)]), []byte(files[volumeName(1, 1)]), true, "x.tar")
	f.Add([]byte(files[setName(1)]), []byte(files[volumeName(1, 1)]), false, setName(2))
	split, other := newSample(2, 20_000), f.TempDir()
	split.write(f, other, Options{VolumeSize: 16 << 10})
	files = folder(f, other)
	f.Add([]byte(files[setName(1)]), []byte(files[volumeName(1, 1)]), false, volumeName(1, 2))
	dir = f.TempDir() // a new one for each input would take most of the time
	f.Fuzz(func(t *testing.T, manifest, volume []byte, swap bool, extra string) {
		for _, name := range names(t, dir) {
			fail.On(t, os.Remove(filepath.Join(dir, name)))
		}
		put := func(name string, raw []byte) {
			if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
				t.Skip(err)
			}
		}
		if extra == filepath.Base(extra) && filepath.IsLocal(extra) {
			put(extra, volume)
		}
		put(setName(1), manifest)
		put(sumName(1), sum(setID{sequence: 1}, digest.FromBytes(manifest)))
		if !swap {
			put(volumeName(1, 1), volume)
		}
		before := folder(t, dir)
		a, err := Inspect(dir)
		if err != nil {
			return
		}
		defer a.Close()
		problem := a.Verify(t.Context(), nil)
		for _, p := range a.blobs {
			body, err := a.Blob(t.Context(), "", descriptorOf(p.entry), 0)
			var raw []byte
			if err == nil {
				raw, err = io.ReadAll(body)
			}
			switch {
			case err == nil && p.entry.Digest.Algorithm().FromBytes(raw) != p.entry.Digest:
				t.Fatalf("%s has other bytes", p.entry.Digest)
			case err != nil && problem == nil:
				t.Fatalf("Verify finds nothing, and %v", err)
			}
		}
		if problem != nil {
			var damage *DamageError
			if !errors.As(problem, &damage) || len(damage.Damage) == 0 {
				t.Fatalf("Verify = %v", problem)
			}
		}
		if after := folder(t, dir); len(after) != len(before) {
			t.Fatalf("%d files became %d", len(before), len(after))
		}
	})
}

// FuzzDescribe describes files that are not volumes. The message can be printed.
func FuzzDescribe(f *testing.F) {
	f.Add(append([]byte("docker/registry/v2/x"), make([]byte, 600)...))
	f.Add(make([]byte, 1024))
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if e := describeTar("x.tar", bytes.NewReader(raw)); e.Error() == "" || strings.ContainsAny(e.Error(), "\n\x00\x1b") {
			t.Errorf("it is said to be %q", e.Error())
		}
	})
}
