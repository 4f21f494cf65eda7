package catalog

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"sync"
)

// Options select what a reader keeps.
type Options struct {
	// Keep reports whether to keep the objects of a package; nil keeps all. Objects that belong to
	// no package are always kept. It is called from several goroutines.
	Keep func(pkg string) bool
	// Outline also fills [Catalog.Outlines]: what the packages that Keep excludes provide and
	// require, without their text.
	Outline bool
	// Pack saves memory for large catalogs with few used bundles: the text of bundles is
	// kept compressed. Meta.Raw is nil, and so are the values of properties that are manifests;
	// Bundle.Complete returns both. Everything else is as without it.
	Pack bool
	// DropText, if not nil, saves memory for large catalogs that are not written: Meta.Raw is nil,
	// and so are the values of properties that are manifests. It is called once with each kept
	// bundle before its text is dropped, from several goroutines. It may keep the bundle, but not
	// its text.
	DropText func(*Bundle)
}

// wants reports whether objects of the package are kept. An object without a package is kept
// whatever its schema, so that it can be reported.
func (o Options) wants(pkg string) bool {
	return pkg == "" || o.Keep == nil || o.Keep(pkg)
}

// A Reader reads a catalog whose files come one by one, as from the layers of an image. It parses
// each file at once and keeps only what [Options] select. Ignored files are dropped at the end,
// when every `.indexignore` is known.
type Reader struct {
	options Options
	idle    sync.Pool // of *parser, whose buffers grow to the largest object
	packing func() (*packing, error)

	mu      sync.Mutex
	files   map[string]*parsed
	ignores map[string][]string
}

// A parsed is the content of one file.
type parsed struct {
	path        string
	metas       []*Meta
	withoutText []decoded // instead of metas, if the text is dropped or packed
	names       []string  // of olm.package objects that were not kept
	outlined    []decoded // objects that were not kept
	problems    []Problem
}

// NewReader returns a reader of an empty catalog.
func NewReader(options Options) *Reader {
	return &Reader{
		options: options,
		packing: sync.OnceValues(newPacking),
		files:   map[string]*parsed{},
		ignores: map[string][]string{},
	}
}

// File reads one file of the catalog, whatever its name: JSON objects, or YAML documents. The path
// is slash-separated and below the catalog's root. Reading the same path again replaces the file,
// as in a later layer. It may be called from several goroutines.
//
// The error is the read error of r. Problems of the content are reported by [Reader.Catalog], since
// the file may turn out to be ignored.
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

	return r.part(name, func(p *parser) error { return p.parse(in) })
}

// Objects adds objects that were read before, instead of a file of the name. Their identities must
// match their texts, which must not be modified afterwards.
func (r *Reader) Objects(name string, metas iter.Seq2[*Meta, error]) error {
	return r.part(name, func(p *parser) error { return p.addAll(metas) })
}

// part adds the content of one file.
func (r *Reader) part(name string, parse func(*parser) error) error {
	p, ok := r.idle.Get().(*parser)
	if !ok {
		p = newParser(r.options)
		if r.options.Pack {
			packing, err := r.packing()
			if err != nil {
				return fmt.Errorf("reading %s: %w", name, err)
			}
			p.pack = &packer{packing: packing}
		}
	}
	defer r.idle.Put(p)
	p.begin(name)
	if err := parse(p); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[name] = p.end()
	return nil
}

// Catalog builds the catalog from the files so far, without those that an `.indexignore` lists. The
// result does not depend on the order of the files. The error is an [*Error] with all problems.
func (r *Reader) Catalog() (*Catalog, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	ignored := matchIgnored(r.ignores)
	var (
		metas       []*Meta
		withoutText []decoded
		outlined    []decoded
		names       []string
		found       Error
	)
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if ignored(name) {
			continue
		}
		f := r.files[name]
		metas = append(metas, f.metas...)
		withoutText = append(withoutText, f.withoutText...)
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
	c := build(append(contents, withoutText...))
	c.Outlines = group(outlined)
	c.Names = append(c.Names, names...)
	slices.Sort(c.Names)
	c.Names = slices.Compact(c.Names)
	return c, nil
}
