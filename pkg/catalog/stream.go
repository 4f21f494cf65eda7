package catalog

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Stream calls each for every object of the file-based catalog in a file system: file by file in
// the order of their paths, and in order within a file, so that the same catalog always gives the
// same sequence. It reads what [Read] reads and keeps one object at a time. It does not decode
// members; [New] does.
//
// An error of each ends the stream and is returned unchanged. Problems of the content do not: they
// are all in the [*Error] at the end.
func Stream(ctx context.Context, fsys fs.FS, each func(*Meta) error) error {
	files, err := list(fsys)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errNoFiles
	}
	elements.Sort(files, func(a, b listed) int { return cmp.Compare(a.name, b.name) })

	s := NewStreamer(each)
	for _, ignores := range []bool{true, false} {
		for _, file := range files {
			if ignores != (path.Base(file.name) == IgnoreFile) {
				continue
			}
			if err := s.open(ctx, fsys, file.name); err != nil {
				return err
			}
		}
	}
	return s.Close()
}

// A Streamer is a [Reader] for catalogs that are not kept in memory: it passes the objects of files
// that come one by one to a function. It must not be used by several goroutines.
type Streamer struct {
	parser  *parser
	ignores map[string][]string
	ignored func(string) bool // nil while more .indexignore files may come
	found   Error
}

// NewStreamer returns a streamer that calls each for every object.
func NewStreamer(each func(*Meta) error) *Streamer {
	p := newParser(Options{})
	p.each = each
	return &Streamer{parser: p, ignores: map[string][]string{}}
}

// File reads one file of the catalog once, as [Reader.File] does. Ignored files are not read, so
// all `.indexignore` files must come before all other files, in any order. The error is the read
// error of r or the error of the function that receives the objects.
func (s *Streamer) File(name string, r io.Reader) error {
	name = path.Clean(name)
	if path.Base(name) == IgnoreFile {
		lines, err := readIgnore(r)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		s.ignores[name] = lines
		s.ignored = nil
		return nil
	}
	if s.ignored == nil {
		s.ignored = matchIgnored(s.ignores)
	}
	if s.ignored(name) {
		return nil
	}
	s.parser.begin(name)
	if err := s.parser.parse(r); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if s.parser.err != nil {
		return s.parser.err
	}
	s.found.Problems = append(s.found.Problems, s.parser.out.problems...)
	return nil
}

// Close ends the catalog. The error is an [*Error] with all problems of its files.
func (s *Streamer) Close() error {
	if len(s.found.Problems) == 0 {
		return nil
	}
	s.found.sort()
	return &s.found
}

func (s *Streamer) open(ctx context.Context, fsys fs.FS, name string) error {
	f, err := fsys.Open(name)
	if err != nil {
		return fmt.Errorf("reading the catalog: %w", err)
	}
	defer f.Close() // read only
	return s.File(name, contextReader{ctx, f})
}
