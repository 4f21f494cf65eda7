package archive

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/opencontainers/go-digest"
)

// sparse writes an archive of 100 GB in 50,000 blobs to dir whose volumes have
// their labels and nothing else, on a file system with sparse files.
func sparse(b *testing.B, dir string) {
	b.Helper()
	sizes := make([]int64, 50_000)
	for i := range sizes {
		sizes[i] = int64(2_000_000 + i)
	}
	p, err := pack(Content{Plan: bytesText([]byte("{}")), Entries: blobs(sizes...)}, 1, "", 4<<30)
	if err != nil {
		b.Fatal(err)
	}
	for i := range p.set.Volumes {
		v := &p.set.Volumes[i]
		f, err := os.Create(filepath.Join(dir, v.Name))
		if err != nil {
			b.Fatal(err)
		}
		label := offsetWriter{f, v.Entries[0].Offset}
		if err := errors.Join(p.files[v.Entries[0].Path](&label), f.Truncate(v.Size), f.Close()); err != nil {
			b.Fatal(err)
		}
	}
	text := encoded(b, p.set)
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, setName(1)), text, 0o644),
		os.WriteFile(filepath.Join(dir, sumName(1)), sum(setID{sequence: 1}, digest.FromBytes(text)), 0o644),
	)
	if err != nil {
		b.Fatal(err)
	}
}

// An offsetWriter writes from an offset on.
type offsetWriter struct {
	f  *os.File
	at int64
}

func (w *offsetWriter) Write(p []byte) (int, error) {
	n, err := w.f.WriteAt(p, w.at)
	w.at += int64(n)
	return n, err
}

// BenchmarkOpen opens an archive of 100 GB in 50,000 blobs, from reading its set
// manifest to knowing its volumes. held-MB is the memory that it takes while it is
// open; what it takes in between is less than B/op, all that it allocates.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	sparse(b, dir)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	for b.Loop() {
		a, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "held-MB")
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
