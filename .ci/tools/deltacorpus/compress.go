package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os/exec"

	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/pgzip"
)

// A compressor makes a blob of a layer as a program that builds images does.
type compressor struct {
	name     string
	compress func(ctx context.Context, w io.Writer, r io.Reader) error
}

// buildah is the compressor of Podman and Buildah.
const buildah = "pgzip"

// compressors returns all compressors. The names are those of files in the corpus.
func compressors() []compressor {
	through := func(open func(io.Writer) (io.WriteCloser, error)) func(context.Context, io.Writer, io.Reader) error {
		return func(_ context.Context, w io.Writer, r io.Reader) error {
			z, err := open(w)
			if err != nil {
				return err
			}
			if _, err := io.Copy(z, r); err != nil {
				return err
			}
			return z.Close()
		}
	}
	return []compressor{
		// Docker and BuildKit.
		{"go-gzip", through(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })},
		// crane, ko and other programs that use go-containerregistry.
		{"go-gzip-1", through(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, gzip.BestSpeed) })},
		{buildah, through(func(w io.Writer) (io.WriteCloser, error) { return pgzip.NewWriter(w), nil })},
		// Bazel's rules in Python and other programs that use zlib.
		{"zlib", program("python3", "-c", zlibProgram)},
		// Podman and Buildah with --compression-format zstd, BuildKit with compression=zstd.
		{"zstd", through(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })},
		{"none", func(_ context.Context, w io.Writer, r io.Reader) error { _, err := io.Copy(w, r); return err }},
	}
}

// zlibProgram compresses with zlib at its default level.
const zlibProgram = `import sys, zlib
z = zlib.compressobj(6, zlib.DEFLATED, 31)
while chunk := sys.stdin.buffer.read(1 << 16):
    sys.stdout.buffer.write(z.compress(chunk))
sys.stdout.buffer.write(z.flush())
`

func program(name string, args ...string) func(context.Context, io.Writer, io.Reader) error {
	return func(ctx context.Context, w io.Writer, r io.Reader) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Stdin, cmd.Stdout = r, w
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("compressing with %s: %w", name, err)
		}
		return nil
	}
}
