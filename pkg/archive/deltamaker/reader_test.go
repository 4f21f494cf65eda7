//go:build !race

// With the race detector, finding out how layers were compressed takes a minute.

package deltamaker

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// code returns bytes like a program: a table of addresses, and functions that call each other. A version inserts code, which moves what follows.
func code(seed uint64, functions, version int) []byte {
	const base = 0x400000
	at := make([]int, functions)
	build := func(body func(r *rand.Rand, i int, b []byte) []byte) []byte {
		b := make([]byte, 4*functions)
		for i := range at {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(base+at[i]))
		}
		r := rand.New(rand.NewPCG(seed, 9))
		for i := range at {
			at[i] = len(b)
			b = body(r, i, b)
		}
		return b
	}
	body := func(r *rand.Rand, i int, b []byte) []byte {
		for range 10 + r.IntN(20) {
			b = append(b, 0x48, 0x89, byte(r.IntN(256)), byte(r.IntN(256)), 0xe8)
			b = binary.LittleEndian.AppendUint32(b, uint32(at[r.IntN(functions)]-len(b)-4))
		}
		if i%40 == 3 {
			b = append(b, bytes.Repeat([]byte{0x90, byte(version)}, 20*version)...)
		}
		return b
	}
	build(body)
	return build(body)
}

// gzipOf is a layer that zlib compressed.
func gzipOf(t *testing.T, level int, files map[string][]byte) []byte {
	t.Helper()
	raw, b := tarOf(t, files), bytes.NewBuffer([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3})
	w, err := zlib.NewWriter(b, zlib.Options{Level: level})
	fail.On(t, err)
	_, err = w.Write(raw)
	fail.On(t, errors.Join(err, w.Close()))
	sum := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(raw))
	return append(b.Bytes(), binary.LittleEndian.AppendUint32(sum, uint32(len(raw)))...)
}

func zlibJar(t *testing.T, month int) []byte {
	t.Helper()
	return jar(t, month, func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w, zlib.Options{Level: 9}) })
}

// A readerSample has blobs, and what the reader makes of each that is carried as a delta.
type readerSample struct {
	*memory
	changes []Change
	want    map[digest.Digest]string
}

func (s *readerSample) put(repository, want string, raw []byte) {
	blob := s.add(raw)
	s.changes = append(s.changes, Change{Blob: blob, Source: "src.example.com/" + repository, Repository: repository})
	s.want[blob.Digest] = want
}

// app is a layer of a program that zlib compressed.
func app(t *testing.T, version int) []byte {
	return gzipOf(t, 6, map[string][]byte{"a": code(1, 700, version), "b": text(2, 30<<10, version), "c": zlibJar(t, version)})
}

// newReaderSample returns what Python can compress, and if it is large, also what it cannot.
func newReaderSample(t *testing.T, large bool) *readerSample {
	t.Helper()
	s := &readerSample{newMemory(), nil, map[digest.Digest]string{}}
	for version := range 3 {
		s.put("org/plain", "blob", tarOf(t, map[string][]byte{"a": code(3, 200, version), "b": text(4, 20<<10, version)}))
	}
	if !large {
		for version := range 2 {
			s.put("org/small", "blob", gzipOf(t, 9, map[string][]byte{"a": zlibJar(t, version)}))
		}
		return s
	}
	for version := range 4 {
		s.put("org/app", "blob", app(t, version))
	}
	for version := range 3 {
		s.put("org/go", "content", layer(t, map[string][]byte{"a": text(5, 50<<10, version), "b": zlibJar(t, 7+version)}))
		s.put("org/jars", "partial", gzipOf(t, 6, map[string][]byte{"a": jar(t, version, nil), "b": text(9, 10<<10, version)}))
	}
	s.put("org/alone", "content", layer(t, map[string][]byte{"a": code(6, 1500, 0)}))
	s.put("org/alone", "blob", gzipOf(t, 1, map[string][]byte{"a": code(7, 1500, 0)}))
	s.put("org/alone", "blob", tarOf(t, map[string][]byte{"a": code(10, 20_000, 0)})) // several frames
	w, err := zstd.NewWriter(nil)
	fail.On(t, err)
	random := make([]byte, 40<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random[:30<<10]) // the zeros look like a program
	for version := range 2 {
		s.put("org/random", "blob", append(bytes.Clone(random), byte(version), 5, 6)) // no tar file, and a change of three bytes
		s.put("org/zstd", "content", w.EncodeAll(tarOf(t, map[string][]byte{"a": text(8, 60<<10, version)}), nil))
	}
	fail.On(t, w.Close())
	return s
}

// write writes a set of changed blobs to a folder.
func (s *readerSample) write(t *testing.T, dir string, changes []Change, deltas []archive.CarriedDelta, o archive.Options) state.SetRef {
	t.Helper()
	entries := elements.Map(changes, func(c Change) ocispec.Descriptor { return c.Blob })
	w, err := archive.Create(t.Context(), dir, archive.Content{
		Name: "prod", Deltas: deltas, Entries: slices.Values(entries), Index: slices.Values([]ocispec.Descriptor(nil)),
		Plan: func(w io.Writer) error { _, err := fmt.Fprintf(w, `{"plan":%d}`, len(entries)); return err },
	}, o)
	fail.On(t, err)
	for _, e := range entries {
		fail.On(t, w.PutBlob(t.Context(), "", e, func(ctx context.Context, offset int64) (io.ReadCloser, error) {
			return s.Blob(ctx, "", e, offset)
		}))
	}
	fail.On(t, w.Finish(t.Context()))
	ref, err := w.Ref()
	fail.On(t, errors.Join(err, w.Close()))
	return ref
}

// python returns the program that runs the reader.
func python(t *testing.T) string {
	t.Helper()
	const usable = "import sys, zlib, zstandard; assert sys.version_info >= (3, 11) and 'ng' not in zlib.ZLIB_RUNTIME_VERSION"
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), name, "-c", usable).Run() == nil {
			return name
		}
	}
	t.Skip("no python3, from 3.11 on, with zlib and the module zstandard: install python3-zstandard")
	return ""
}

// read runs the reader, and compares what it makes with the sample. It returns what it makes of each blob, and what it prints.
func (s *readerSample) read(t *testing.T, program, dir string) (made map[digest.Digest]string, report string) {
	t.Helper()
	out := t.TempDir()
	reader, err := os.Open(filepath.Join("testdata", "reader.py")) // here, so that the test runs again when it changes
	fail.On(t, err)
	defer reader.Close()
	cmd := exec.CommandContext(t.Context(), program, "-", dir, out)
	cmd.Stdin = reader
	raw, err := cmd.CombinedOutput()
	report = string(raw)
	if refused := strings.Contains(report, "refused"); refused != (err != nil) || strings.Contains(report, "Traceback") {
		t.Fatalf("%v\n%s", err, report)
	}
	made, got := map[digest.Digest]string{}, map[digest.Digest][]byte{}
	for line := range strings.Lines(report) {
		var kind, name, sum string
		var at, length int
		_, _ = fmt.Sscan(line, &kind, &name, &at, &length, &sum) // most lines are short
		if strings.HasPrefix(kind, "refused") {
			continue
		}
		blob := digest.Digest(name)
		made[blob] = kind
		if got[blob] == nil {
			got[blob], err = os.ReadFile(filepath.Join(out, blob.Encoded()))
			fail.On(t, err)
		}
		if kind == "partial" {
			stream := s.uncompressed(t, blob)[at : at+length]
			unpacked, err := io.ReadAll(flate.NewReader(bytes.NewReader(stream)))
			fail.On(t, err)
			fail.Diff(t, sum, digest.FromBytes(unpacked).Encoded())
			copy(got[blob][at:], stream)
		}
	}
	for blob, kind := range made {
		want := s.content[blob]
		if kind != "blob" {
			want = s.uncompressed(t, blob)
		}
		if !bytes.Equal(got[blob], want) {
			t.Errorf("%s %s is wrong", kind, blob)
		}
	}
	return made, report
}

func (s *readerSample) uncompressed(t *testing.T, blob digest.Digest) []byte {
	t.Helper()
	r, err := recompress.Uncompress(bytes.NewReader(s.content[blob]))
	fail.On(t, err)
	defer r.Close()
	raw, err := io.ReadAll(r)
	fail.On(t, err)
	return raw
}

// TestReader reads archives with a program that was written from docs/archive-format.md alone: a compact set, and one with deltas of
// version 1 that builds on it.
func TestReader(t *testing.T) {
	t.Parallel()
	program := python(t)
	efforts := map[string]delta.Effort{"auto": delta.Auto, "max": delta.Max}
	if testing.Short() {
		delete(efforts, "max")
	}
	for name, effort := range efforts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newReaderSample(t, true), t.TempDir()
			run := func(changes []Change, o Options, version byte) *Result {
				o.Effort, o.Cache, o.Time = effort, t.TempDir(), time.Hour
				made, err := Make(t.Context(), changes, s, o)
				fail.On(t, err)
				t.Cleanup(made.Close)
				for i := range made.Deltas {
					fail.Diff(t, version, readAll(t, &made.Deltas[i])[len("gantry delta\n")])
				}
				return made
			}
			first := run(s.changes, Options{Compact: &Compact{DiskSpeed: 1}}, 2)
			ref := s.write(t, dir, s.changes, first.Deltas, archive.Options{VolumeSize: 100 << 10})
			old := slices.IndexFunc(s.changes, func(c Change) bool { return c.Blob.Digest == s.add(app(t, 3)).Digest })
			s.put("org/app", "blob", app(t, 4))
			next := s.changes[len(s.changes)-1:]
			next[0].Candidates = []Candidate{candidate(s.changes[old].Blob)}
			second := run(next, Options{}, 1)
			has := func(d digest.Digest) bool { return s.want[d] != "" && d != next[0].Blob.Digest }
			s.write(t, dir, next, second.Deltas, archive.Options{Base: &archive.Base{Sets: []state.SetRef{ref}, Has: has, HasBlob: has}})

			want, kinds, alone := map[digest.Digest]string{}, map[string]int{}, 0
			for _, c := range s.changes {
				want[c.Blob.Digest] = "blob"
			}
			for _, d := range slices.Concat(first.Deltas, second.Deltas) {
				want[d.Digest] = s.want[d.Digest]
				kinds[s.want[d.Digest]]++
				if len(d.Bases) == 0 {
					alone++
				}
			}
			if kinds["blob"] < 6 || kinds["content"] < 4 || kinds["partial"] < 2 || alone < 2 || len(second.Deltas) != 1 {
				t.Errorf("the deltas are %v, %d of them alone", kinds, alone)
			}
			got, _ := s.read(t, program, dir)
			fail.Diff(t, want, got)
		})
	}
}

// TestReaderDamage flips bits of an archive, and of delta files before they are written: nothing wrong is made.
func TestReaderDamage(t *testing.T) {
	t.Parallel()
	program := python(t)
	s, dir := newReaderSample(t, false), t.TempDir()
	made, err := Make(t.Context(), s.changes, s, Options{Compact: &Compact{DiskSpeed: 1}, Cache: t.TempDir(), Time: time.Hour})
	fail.On(t, err)
	defer made.Close()
	s.write(t, dir, s.changes, made.Deltas, archive.Options{})
	files, err := filepath.Glob(filepath.Join(dir, "gantry-*"))
	fail.On(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	flip := func(raw []byte) []byte {
		raw = bytes.Clone(raw)
		raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
		return raw
	}
	for i := range 20 {
		file := files[i%len(files)]
		raw, err := os.ReadFile(file)
		fail.On(t, err)
		fail.On(t, os.WriteFile(file, flip(raw), 0o644))
		if _, report := s.read(t, program, dir); !strings.Contains(report, "refused") {
			t.Errorf("damage of %s is not noticed", file)
		}
		fail.On(t, os.WriteFile(file, raw, 0o644))
	}
	refused := 0
	for i := range 10 {
		deltas, dir := slices.Clone(made.Deltas), t.TempDir()
		d := &deltas[i%len(deltas)]
		raw := flip(readAll(t, d))
		d.File = digest.FromBytes(raw)
		d.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
		s.write(t, dir, s.changes, deltas, archive.Options{})
		got, _ := s.read(t, program, dir)
		if got[d.Digest] == "" {
			refused++
		}
	}
	if refused < 7 { // the reader does not use some bits, such as those of fingerprints
		t.Errorf("%d damaged deltas were refused", refused)
	}
}
