package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Limits on a bundle. A cluster stores no object of more than 1.5 MiB, and the compressed manifests
// of a bundle must fit into one.
const (
	maxFile     = 4 << 20
	maxTotal    = 32 << 20
	maxFiles    = 1000
	maxProblems = 1000
)

// A fault is a problem at a position.
type fault struct {
	position
	message string
}

// A reader reads one bundle.
type reader struct {
	fsys      fs.FS
	left      int64 // bytes that may still be read
	bundle    *Bundle
	manifests []*manifest
	problems  []catalog.Problem
}

// Read reads the bundle in a file system: in metadata/ a file of annotations and optionally
// dependencies and properties, each recognized by its content; in manifests/, or the folder that
// the annotations name, one ClusterServiceVersion and other objects, one per file. The error is a
// [*catalog.Error] with all problems, or an error of the file system. More than 1,000 files in a
// folder, 4 MiB in one file or 32 MiB in total are errors.
func Read(fsys fs.FS) (*Bundle, error) {
	r := &reader{fsys: fsys, left: maxTotal, bundle: &Bundle{}}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	if len(r.problems) > 0 {
		elements.Sort(r.problems, func(a, b catalog.Problem) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
		})
		return nil, &catalog.Error{Problems: r.problems}
	}
	return r.bundle, nil
}

func (r *reader) read() error {
	metadataFiles, err := r.metadata()
	if err != nil || len(r.problems) > 0 {
		return err
	}
	csv, err := r.objects(metadataFiles.manifests)
	if err != nil || csv == nil {
		return err
	}
	var c clusterServiceVersion
	if f := csv.decode(&c); f != nil {
		r.fault(f)
		return nil
	}
	r.describe(csv, &c)
	r.images(csv, &c)
	r.properties(metadataFiles, csv, &c)
	return nil
}

// objects reads the manifests. It returns the ClusterServiceVersion, or nil after adding a problem.
func (r *reader) objects(dir string) (csv *manifest, err error) {
	names, err := r.files(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		m, err := r.file(name, strict(name))
		if err != nil {
			return nil, err
		}
		switch {
		case m == nil:
			continue
		case m.json[0] != '{' || m.kind == "":
			r.warn(m.at(), "the file is not a Kubernetes object and is ignored")
			continue
		case m.kind == kindCSV && csv != nil:
			r.problem(m.at(), "the bundle has a second %s; the first is %s; create one bundle per version", kindCSV, csv.file)
		case m.kind == kindCSV:
			csv = m
		}
		if m.more {
			r.warn(m.at(), "only the first document of the file is used; put each object into its own file")
		}
		r.manifests = append(r.manifests, m)
		r.bundle.objects = append(r.bundle.objects, m.json)
	}
	if csv == nil && len(r.problems) == 0 {
		r.problem(position{file: dir}, "the folder has %d files but no %s; a bundle needs exactly one", len(names), kindCSV)
	}
	return csv, nil
}

// files returns the files of a folder, sorted, without hidden ones.
func (r *reader) files(dir string) ([]string, error) {
	entries, err := fs.ReadDir(r.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("missing folder %s; a bundle needs the folders metadata and manifests: %w", dir, err)
	} else if err != nil {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("folder %s has %d files, more than the limit of %d", dir, len(entries), maxFiles)
	}
	var names []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() {
			continue
		}
		info, err := fs.Stat(r.fsys, name) // follows links
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			names = append(names, name)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("%s is not a regular file", name)
		}
	}
	return names, nil
}

// file reads and parses a file. It returns nil for a file without content. A file that cannot be
// parsed is a problem if must is set, else it is ignored with a warning.
func (r *reader) file(name string, must bool) (*manifest, error) {
	f, err := r.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := read(f, min(maxFile, r.left))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.left -= int64(len(data))
	m, fault := parse(name, data)
	if fault != nil && must {
		r.fault(fault)
	} else if fault != nil {
		r.warn(position{file: name}, "the file is neither JSON nor YAML and is ignored")
	}
	return m, nil
}

// strict reports whether a file's name has an extension of JSON or YAML.
func strict(name string) bool {
	switch path.Ext(name) {
	case ".json", ".yaml", ".yml":
		return true
	}
	return false
}

func (r *reader) problem(at position, format string, args ...any) {
	if len(r.problems) == maxProblems {
		return
	}
	r.problems = append(r.problems, catalog.Problem{File: at.file, Line: at.line, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) fault(f *fault) { r.problem(f.position, "%s", f.message) }

func (r *reader) warn(at position, format string, args ...any) {
	p := catalog.Problem{File: at.file, Line: at.line, Message: fmt.Sprintf(format, args...)}
	r.bundle.Warnings = append(r.bundle.Warnings, p.String())
}
