package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func runBuild(ctx context.Context, args []string, stderr io.Writer) error {
	flags := newFlags("build", stderr)
	record := flags.String("record", "", "write the list to `file`, with the SHA-256 of downloads that it does not have yet")
	images := flags.Bool("compact", false, "build the images for deltacorpus compact instead of the pairs")
	wanted, err := flags.parse(args)
	if err != nil {
		return err
	}
	list, err := readList(listJSON)
	if err != nil {
		return err
	}
	b := builder{dir: *flags.dir, downloads: downloads{dir: filepath.Join(*flags.dir, "downloads")}, record: *record != "", stderr: stderr}
	for _, sub := range []string{"downloads", "tars", "blobs"} {
		if err := os.MkdirAll(filepath.Join(b.dir, sub), 0o755); err != nil {
			return err
		}
	}
	var problems []error
	for i, s := range list {
		if s.Compact != *images || !wanted(s.Name, s.Kind) {
			continue
		}
		layers, err := b.series(ctx, &list[i])
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			problems = append(problems, fmt.Errorf("%s: %w", s.Name, err))
			_, _ = fmt.Fprintf(stderr, "%s: %v\n", s.Name, err)
		}
		// The corpus is usable before it is complete.
		if err := updateCorpus(b.dir, s.Name, layers); err != nil {
			return err
		}
	}
	if *record != "" {
		out, err := formatList(list)
		if err != nil {
			return err
		}
		if err := os.WriteFile(*record, out, 0o644); err != nil {
			return err
		}
	}
	c, err := readCorpus(b.dir)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stderr, "%d layers, %d pairs in %s\n", len(c.Layers), len(c.pairs()), b.dir)
	if len(problems) > 0 {
		return fmt.Errorf("%d series are incomplete; a registry may no longer offer an old version", len(problems))
	}
	return nil
}

// formatList writes the list with one line for each version.
func formatList(list []series) ([]byte, error) {
	var b strings.Builder
	b.WriteString("[\n")
	for i, s := range list {
		versions := s.Versions
		s.Versions = nil
		head, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		b.WriteString("\t" + strings.TrimSuffix(string(head), "null}") + "[\n")
		for j, v := range versions {
			line, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			b.WriteString("\t\t" + string(line) + comma(j, len(versions)) + "\n")
		}
		b.WriteString("\t]}" + comma(i, len(list)) + "\n")
	}
	b.WriteString("]\n")
	return []byte(b.String()), nil
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

type builder struct {
	dir       string
	downloads downloads
	record    bool // the SHA-256 of all downloads is wanted
	stderr    io.Writer
}

// series makes the layers of all versions of a series. A version that is unavailable leaves out the
// pairs that it is in.
func (b *builder) series(ctx context.Context, s *series) ([]layer, error) {
	var problems []error
	var layers []layer
	previous := ""
	measured := len(s.Versions) - len(s.measured()) // the first base
	for i, v := range s.Versions {
		// Images are built a month apart.
		built := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC).AddDate(0, i, 0)
		r := s.release(i)
		l, err := b.layer(ctx, *s, r, built, i > measured)
		if err != nil {
			if ctx.Err() != nil {
				return layers, err
			}
			problems = append(problems, fmt.Errorf("%s: %w", v.Version, err))
			previous = ""
			continue
		}
		s.record(i, r.SHA256)
		if i > measured {
			l.Base = previous
		}
		layers = append(layers, l)
		previous = v.Version
	}
	return layers, errors.Join(problems...)
}

// layer makes a layer. A target is compressed by every compressor, a layer of an image for compact archives by the one of
// Docker and the one of Buildah, and a layer that is only a base by the first one.
func (b *builder) layer(ctx context.Context, s series, v release, built time.Time, target bool) (layer, error) {
	name := fileName(s.Name + "@" + v.Version)
	l := layer{Series: s.Name, Kind: s.Kind, Version: v.Version, Compact: s.Compact, Tar: "tars/" + name + ".tar"}
	began := time.Now()
	if _, err := os.Stat(filepath.Join(b.dir, l.Tar)); err != nil || b.record {
		var files []string
		packages := slices.Sorted(maps.Keys(v.Packages))
		for _, p := range packages {
			file, err := b.downloads.get(ctx, s, p, v.Packages[p])
			if err != nil {
				return l, err
			}
			sum, err := checkSum(file, v.SHA256[p])
			if err != nil {
				return l, err
			}
			v.SHA256[p] = sum
			files = append(files, file)
		}
		s.Packages = packages
		if err := b.pack(ctx, l.Tar, s, v.Version, files, built); err != nil {
			return l, err
		}
	}
	var err error
	if l.Size, l.SHA256, err = sumOf(filepath.Join(b.dir, l.Tar)); err != nil {
		return l, err
	}
	for i, z := range compressors() {
		if i > 0 && !target && !(l.Compact && z.name == buildah) {
			continue
		}
		p := blob{Compressor: z.name, File: "blobs/" + name + ".tar." + z.name}
		if err := b.compress(ctx, l, p, z); err != nil {
			return l, err
		}
		if p.Size, p.SHA256, err = sumOf(filepath.Join(b.dir, p.File)); err != nil {
			return l, err
		}
		l.Blobs = append(l.Blobs, p)
	}
	_, _ = fmt.Fprintf(b.stderr, "%s %s: %.1f MB, %.1f MB as gzip, %s\n", s.Name, v.Version, float64(l.Size)/1e6, float64(l.Blobs[0].Size)/1e6, time.Since(began).Round(time.Second/10))
	return l, nil
}

// compress makes a blob, unless it exists. The uncompressed one is a link to the tar archive.
func (b *builder) compress(ctx context.Context, l layer, p blob, z compressor) error {
	to := filepath.Join(b.dir, p.File)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	from := filepath.Join(b.dir, l.Tar)
	if z.name == "none" {
		return os.Link(from, to)
	}
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return writeFile(to, func(w *os.File) error { return z.compress(ctx, w, r) })
}

// pack makes a tar archive, unless it exists.
func (b *builder) pack(ctx context.Context, to string, s series, version string, files []string, built time.Time) error {
	to = filepath.Join(b.dir, to)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	entries, err := s.content(ctx, version, files, built)
	if err != nil {
		return err
	}
	return writeFile(to, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 1<<20)
		return errors.Join(pack(w, entries), w.Flush())
	})
}
