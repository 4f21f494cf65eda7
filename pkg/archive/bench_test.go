package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
)

// gigabyte returns 256 blobs of 4 MB.
func gigabyte() *sample {
	s := &sample{bytes: map[digest.Digest][]byte{}}
	s.Plan = writeBytes([]byte("{}"))
	random := rand.NewChaCha8(sha256.Sum256(nil))
	for range 256 {
		raw := make([]byte, 4_000_000)
		_, _ = random.Read(raw)
		s.add(ocispec.MediaTypeImageLayer, raw)
	}
	return s
}

// each calls do for every entry, eight at a time.
func (s *sample) each(ctx context.Context, do func(context.Context, ocispec.Descriptor) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for _, e := range s.Entries {
		g.Go(func() error { return do(ctx, e) })
	}
	return g.Wait()
}

func BenchmarkWrite(b *testing.B) { benchmarkWrite(b, Options{VolumeSize: 300_000_000}) }

// BenchmarkWriteParts writes content in parts, so that everything is hashed twice: as a whole, and
// in parts.
func BenchmarkWriteParts(b *testing.B) { benchmarkWrite(b, Options{VolumeSize: 3_000_000}) }

func benchmarkWrite(b *testing.B, opts Options) {
	s := gigabyte()
	b.SetBytes(256 * 4_000_000)
	b.ReportAllocs()
	for b.Loop() {
		w, err := Create(b.Context(), b.TempDir(), s.content(), opts)
		if err != nil {
			b.Fatal(err)
		}
		err = s.each(b.Context(), func(ctx context.Context, e ocispec.Descriptor) error {
			return w.PutBlob(ctx, "", e, s.open(e.Digest))
		})
		if err := errors.Join(err, w.Finish(b.Context()), w.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	s, dir := gigabyte(), b.TempDir()
	s.write(b, dir, Options{VolumeSize: 300_000_000})
	b.SetBytes(256 * 4_000_000)
	b.ReportAllocs()
	for b.Loop() {
		a, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		err = s.each(b.Context(), func(ctx context.Context, e ocispec.Descriptor) error {
			body, err := a.Blob(ctx, "", e, 0)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, body)
			return errors.Join(err, body.Close())
		})
		if err := errors.Join(err, a.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	s, dir := gigabyte(), b.TempDir()
	s.write(b, dir, Options{VolumeSize: 300_000_000})
	b.SetBytes(256 * 4_000_000)
	for b.Loop() {
		a, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(a.Verify(b.Context(), nil), a.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenLarge opens the index of 50,000 blobs: packing, writing and
// reading its set manifest.
func BenchmarkOpenLarge(b *testing.B) {
	sizes := make([]int64, 50_000)
	for i := range sizes {
		sizes[i] = int64(2_000_000 + i)
	}
	c := Content{Plan: writeBytes([]byte("{}")), Entries: slices.Values(blobs(sizes...))}
	b.Run("pack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := pack(c, 1, "", 4<<30); err != nil {
				b.Fatal(err)
			}
		}
	})
	p, err := pack(c, 1, "", 4<<30)
	if err != nil {
		b.Fatal(err)
	}
	raw := encoded(b, p.set)
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parseSet(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWriteEncrypted writes an encrypted archive, so that everything is hashed twice, and
// encrypted in between.
func BenchmarkWriteEncrypted(b *testing.B) {
	benchmarkWrite(b, Options{VolumeSize: 300_000_000, Encrypt: to(person(b))})
}

func BenchmarkReadEncrypted(b *testing.B) {
	s, dir, who := gigabyte(), b.TempDir(), person(b)
	s.write(b, dir, Options{VolumeSize: 300_000_000, Encrypt: to(who)})
	b.SetBytes(256 * 4_000_000)
	b.ReportAllocs()
	for b.Loop() {
		a := openAs(b, dir, who)
		err := s.each(b.Context(), func(ctx context.Context, e ocispec.Descriptor) error {
			body, err := a.Blob(ctx, "", e, 0)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, body)
			return errors.Join(err, body.Close())
		})
		if err := errors.Join(err, a.Close()); err != nil {
			b.Fatal(err)
		}
	}
}
