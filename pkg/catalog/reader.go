package catalog

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"sync"
)

// Options say what a reader keeps.
type Options struct {
	// Keep reports whether the objects of a package are wanted; nil wants all.
	// Objects that belong to no package are always kept. It is called from
	// several goroutines.
	Keep func(pkg string) bool
	// Outline asks for [Catalog.Outlines]: what the packages that Keep does not
	// want offer and need, without their text.
	Outline bool
	// Shed, if not nil, asks for a catalog without text, for who wants to know
	// about a large one and not to write it: Meta.Raw is nil, and so are the
	// values of properties that are manifests. Shed sees each
	// bundle that is kept once, from several goroutines, before it loses these;
	// it may hold on to the bundle, but not to its text.
	Shed func(*Bundle)
}

// wants reports whether objects of the package are kept. An object without a
// package is kept whatever its schema, so that it can be reported.
func (o Options) wants(pkg string) bool {
	return pkg == "" || o.Keep == nil || o.Keep(pkg)
}

// A Reader reads a catalog whose files come one by one, as they do out of the
// layers of an image: it parses each at once and keeps only what [Options]
// want, and decides at the end, when the last `.indexignore` is known, which
// files count.
type Reader struct {
	options Options
	idle    sync.Pool // of *parser, whose buffers grow to the largest object

	mu      sync.Mutex
	files   map[string]*parsed
	ignores map[string][]string
}

// parsed is what one file gave.
type parsed struct {
	path     string
	metas    []*Meta
	shed     []decoded // instead of metas
	names    []string  // of olm.package objects that were not kept
	outlined []decoded // objects that were not kept
	problems []Problem
}

// NewReader returns a reader of an empty catalog.
func NewReader(options Options) *Reader {
	return &Reader{
		options: options,
		files:   map[string]*parsed{},
		ignores: map[string][]string{},
	}
}

// File reads one file of the catalog, whatever its name: JSON objects one after
// the other, or YAML documents. The path is slash-separated and below the
// catalog's root. A path that is given again replaces what it gave before, as a
// later layer does. It may be called from several goroutines.
//
// The error is r's own. What is wrong with the content is kept for
// [Reader.Catalog], since the file may turn out to be ignored.
func (r *Reader) File(name string, in io.Reader) error {
	name = path.Clean(name)
	if path.Base(name) == IgnoreFile {
		lines, err := readIgnore(in)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ignores[name] = lines
		return nil
	}

	p, ok := r.idle.Get().(*parser)
	if !ok {
		p = newParser(r.options)
	}
	defer r.idle.Put(p)
	p.out = &parsed{path: name}
	if err := p.parse(in); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[name] = p.out
	return nil
}

// Catalog builds the catalog from the files so far, without those that an
// `.indexignore` names. The result does not depend on the order in which the
// files came. The error is an [*Error] with everything that is wrong.
func (r *Reader) Catalog() (*Catalog, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	ignored := matchIgnored(r.ignores)
	var (
		metas    []*Meta
		shed     []decoded
		outlined []decoded
		names    []string
		found    Error
	)
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if ignored(name) {
			continue
		}
		f := r.files[name]
		metas = append(metas, f.metas...)
		shed = append(shed, f.shed...)
		outlined = append(outlined, f.outlined...)
		names = append(names, f.names...)
		found.Problems = append(found.Problems, f.problems...)
	}
	contents, err := decodeAll(metas)
	if e := (*Error)(nil); errors.As(err, &e) {
		found.Problems = append(found.Problems, e.Problems...)
	}
	if len(found.Problems) > 0 {
		found.sort()
		return nil, &found
	}
	c := build(append(contents, shed...))
	c.Outlines = group(outlined)
	c.Names = append(c.Names, names...)
	slices.Sort(c.Names)
	c.Names = slices.Compact(c.Names)
	return c, nil
}
