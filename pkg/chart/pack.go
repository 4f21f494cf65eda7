package chart

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Pack makes the archive of a chart in a folder: every file that .helmignore does not exclude, sorted,
// without times and owners. The same folder gives the same bytes, unlike helm package.
func Pack(files fs.FS) (*Chart, error) {
	p := packer{files: files}
	text, err := p.read("Chart.yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the folder has no Chart.yaml")
	} else if err != nil {
		return nil, err
	}
	c, err := parse(nil, text)
	if err != nil {
		return nil, err
	}
	if p.rules, err = readIgnoreRules(files); err != nil {
		return nil, err
	}
	if err := p.walk(".", 0); err != nil {
		return nil, err
	}
	slices.Sort(p.names)
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	t := tar.NewWriter(z)
	var size int64
	for _, name := range p.names {
		content, err := p.read(name)
		if err != nil {
			return nil, err
		}
		if size += int64(len(content)); size > maxUnpacked {
			return nil, fmt.Errorf("the chart has more than %d bytes", maxUnpacked)
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: c.Name + "/" + name, Size: int64(len(content)), Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
		if _, err := t.Write(content); err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return nil, fmt.Errorf("packing the chart: %w", err)
	}
	c.Archive = b.Bytes()
	if len(c.Archive) > MaxArchive {
		return nil, fmt.Errorf("the packed chart has %d bytes, more than %d", len(c.Archive), MaxArchive)
	}
	return c, nil
}

// maxFolders is how deep folders of a chart may nest.
const maxFolders = 50

// A packer collects the files of a chart.
type packer struct {
	files fs.FS
	rules ignoreRules
	names []string
}

// walk collects the files of a folder. Symbolic links in the chart are followed, as Helm does.
func (p *packer) walk(dir string, depth int) error {
	if depth > maxFolders {
		return fmt.Errorf("%s: folders nest deeper than %d", dir, maxFolders)
	}
	entries, err := fs.ReadDir(p.files, dir)
	if err != nil {
		return err // it names the folder
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := fs.Stat(p.files, name)
		if err != nil {
			return err
		}
		switch {
		case p.rules.ignore(name, info.IsDir()):
		case info.IsDir():
			if err := p.walk(name, depth+1); err != nil {
				return err
			}
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file", name)
		case len(p.names) == maxFiles:
			return fmt.Errorf("the folder has more than %d files: list what is not part of the chart in .helmignore", maxFiles)
		default:
			p.names = append(p.names, name)
		}
	}
	return nil
}

// read reads a file of limited size.
func (p *packer) read(name string) ([]byte, error) {
	f, err := p.files.Open(name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxUnpacked+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(content) > maxUnpacked {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxUnpacked)
	}
	return content, nil
}

// ignoreRules are the patterns of .helmignore, in order.
type ignoreRules []ignoreRule

// An ignoreRule is one pattern. It is compared with the whole path if it has a slash before its end,
// otherwise with the name of a file.
type ignoreRule struct {
	pattern         string
	negate, onlyDir bool
}

// maxIgnore is the maximum size of .helmignore in bytes.
const maxIgnore = 1 << 20

// readIgnoreRules reads .helmignore, which need not exist. Helm ignores hidden files in templates
// without being told.
func readIgnoreRules(files fs.FS) (ignoreRules, error) {
	rules := ignoreRules{{pattern: "templates/.?*"}}
	f, err := files.Open(".helmignore")
	if errors.Is(err, fs.ErrNotExist) {
		return rules, nil
	} else if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("reading .helmignore: %w", err)
	}
	for line := range strings.Lines(string(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var r ignoreRule
		r.pattern, r.negate = strings.CutPrefix(line, "!")
		r.pattern, r.onlyDir = strings.CutSuffix(r.pattern, "/")
		if _, err := path.Match(r.pattern, "x"); err != nil || strings.Contains(r.pattern, "**") {
			return nil, fmt.Errorf(".helmignore: %q is not a pattern that Helm supports", line)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// ignore reports whether a file or folder is not part of the chart. As for Helm, any rule excludes a
// file, and a negated one excludes what does not match it.
func (rules ignoreRules) ignore(name string, isDir bool) bool {
	for _, r := range rules {
		if r.negate {
			if r.onlyDir && !isDir {
				return true
			}
			if !r.match(name) {
				return true
			}
			continue
		}
		if r.onlyDir && !isDir {
			continue
		}
		if r.match(name) {
			return true
		}
	}
	return false
}

func (r ignoreRule) match(name string) bool {
	pattern, rooted := strings.CutPrefix(r.pattern, "/")
	if !rooted && !strings.Contains(pattern, "/") {
		name = path.Base(name)
	}
	ok, _ := path.Match(pattern, name) // the pattern was checked
	return ok
}
