package archive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"
)

// sparse writes an archive of 100 GB in 50,000 blobs to dir. Its volumes are sparse files that
// contain only their labels.
func sparse(b *testing.B, dir string, enc *Encryption) {
	b.Helper()
	sizes := make([]int64, 50_000)
	for i := range sizes {
		sizes[i] = int64(2_000_000 + i)
	}
	p, err := (&Options{VolumeSize: 4 << 30, Encrypt: enc}).pack(Content{Plan: writeBytes([]byte("{}")), Entries: slices.Values(blobs(sizes...))}, 1, "", nil)
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
	if enc != nil {
		p.invent(b, dir)
	}
	text := encoded(b, p.outer)
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, setName(1)), text, 0o644),
		os.WriteFile(filepath.Join(dir, sumName(1)), sum(setID{sequence: 1}, digest.FromBytes(text)), 0o644),
	)
	if err != nil {
		b.Fatal(err)
	}
}

// invent writes the inner set manifest, and gives the files made-up digests.
func (p *packing) invent(b *testing.B, dir string) {
	b.Helper()
	var inner bytes.Buffer
	if err := p.writeInner(&inner); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, p.set.id().inner()), inner.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	p.outer.Encryption.Manifest = digest.FromBytes(inner.Bytes())
	for i := range p.outer.Volumes {
		for j := range p.outer.Volumes[i].Entries {
			if e := &p.outer.Volumes[i].Entries[j]; j > 0 {
				e.Digest = digest.FromString(e.Path)
			}
		}
	}
}

// An offsetWriter writes starting at an offset.
type offsetWriter struct {
	f  *os.File
	at int64
}

func (w *offsetWriter) Write(p []byte) (int, error) {
	n, err := w.f.WriteAt(p, w.at)
	w.at += int64(n)
	return n, err
}

// BenchmarkOpen opens an archive of 100 GB in 50,000 blobs: it reads the set manifest and finds the
// volumes. held-MB is the memory in use while the archive is open. The peak in between is less than
// B/op, which counts all allocations.
func BenchmarkOpen(b *testing.B) { benchmarkOpen(b, nil) }

// BenchmarkOpenEncrypted opens an encrypted archive of that size, which has two set manifests.
func BenchmarkOpenEncrypted(b *testing.B) { benchmarkOpen(b, person(b)) }

func benchmarkOpen(b *testing.B, who *age.X25519Identity) {
	dir, opts := b.TempDir(), OpenOptions{}
	if who == nil {
		sparse(b, dir, nil)
	} else {
		sparse(b, dir, to(who))
		opts.Identities = []age.Identity{who}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	for b.Loop() {
		a, err := OpenWith(opts, dir)
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
