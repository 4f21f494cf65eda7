package delta

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/delta/packed"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// unpacked are the contents with their compressed parts unpacked, as the comparison sees them.
type unpacked struct {
	store     *packed.Store // nil if nothing is unpacked
	table     packed.Table
	target    *packed.View
	bases     []*packed.View
	addresses *addresses

	newNames []packed.Named   // the streams of table.Target
	oldNames [][]packed.Named // those of table.Bases
}

func (u *unpacked) close() {
	if u.store != nil {
		u.store.Close()
	}
}

// view sets what follows from the table.
func (u *unpacked) view(t Target, bases []Base) error {
	u.target = packed.NewView(t.Content, t.ContentSize, u.table.Target, u.store)
	u.bases = make([]*packed.View, len(bases))
	content, sizes := make([]io.ReaderAt, len(bases)), make([]int64, len(bases))
	total := int64(0)
	for i, b := range bases {
		v := packed.NewView(b.Content, b.Size, u.table.Bases[i], u.store)
		u.bases[i], content[i], sizes[i] = v, v, v.Size()
		if v.Size() > maxAddress-total {
			return invalid("the bases have more than %d bytes", int64(maxAddress))
		}
		total += v.Size()
	}
	u.addresses = newAddresses(content, sizes)
	return nil
}

// position returns where a byte of the target is.
func (u *unpacked) position(at int64) int64 { return u.target.Position(at) }

// near returns the addresses of a range of a base.
func (u *unpacked) near(base int, start, end int64) span {
	shift, v := u.addresses.starts[base], u.bases[base]
	return span{shift + v.Position(start), shift + v.Position(end)}
}

// requires returns what the reader has to reproduce.
func (u *unpacked) requires() []string {
	all := elements.Map(u.table.Recipes, func(r recompress.DeflateRecipe) string { return r.Requires() })
	slices.Sort(all)
	return slices.Compact(all)
}

// within returns the streams in a member.
func within(all []packed.Named, m Member) []packed.Named {
	from := sort.Search(len(all), func(i int) bool { return all[i].Start >= m.Offset })
	to := sort.Search(len(all), func(i int) bool { return all[i].Start >= m.Offset+m.Size })
	return all[from:to]
}

// A changedFile is a member of a base, and the members of the target that are compared with it and have other content. Members that are compared with
// none have no base: it is -1.
type changedFile struct {
	baseMember
	old     []packed.Named // to unpack
	targets []changedTarget
}

type changedTarget struct {
	Member
	packed.File // to unpack
	recipes     []recompress.DeflateRecipe
}

// changedFiles returns the files that may have streams to unpack. What the target has unchanged stays packed, because it is copied. In Solid, new files
// are unpacked, too.
func changedFiles(target *Members, pairings []pairing, version int) []*changedFile {
	type place struct {
		base   int
		offset int64
	}
	index, copied := map[place]*changedFile{}, map[place]bool{}
	var all []*changedFile
	for i, m := range target.Files {
		p := pairings[i]
		at := place{p.base, p.Offset}
		switch {
		case m.Size == 0:
		case !p.ok || p.Size == 0:
			if version == Solid {
				all = append(all, &changedFile{baseMember: baseMember{base: noBase}, targets: []changedTarget{{Member: m}}})
			}
		case p.same:
			copied[at] = true
		default:
			if index[at] == nil {
				index[at] = &changedFile{baseMember: p.baseMember}
				all = append(all, index[at])
			}
			index[at].targets = append(index[at].targets, changedTarget{Member: m})
		}
	}
	return slices.DeleteFunc(all, func(f *changedFile) bool { return f.base != noBase && copied[place{f.base, f.Offset}] })
}

const noBase = -1

// unpack unpacks the streams of changed members and of what these are compared with.
func (e *encoder) unpack(ctx context.Context, target *Members, pairings []pairing, bases []Base) (_ *unpacked, err error) {
	u := &unpacked{table: packed.Table{Bases: make([][]packed.Stream, len(bases))}, oldNames: make([][]packed.Named, len(bases))}
	var files []*changedFile
	limits := newStreamLimits(len(bases))
	for _, f := range changedFiles(target, pairings, e.options.Version) { // one at a time, so that there are never many more streams than a table may have
		if err := e.find(ctx, f, bases); err != nil {
			return nil, err
		}
		if limits.allow(f) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return u, u.view(e.target, bases)
	}
	if u.store, err = packed.NewStore(e.options.Temp); err != nil {
		return nil, err
	}
	err = e.each(ctx, files, func(ctx context.Context, f *changedFile) error { return e.detect(ctx, f, u.store, bases) })
	if err == nil {
		u.collect(files)
		err = u.view(e.target, bases)
	}
	if err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

// each calls do for the files, several at a time.
func (e *encoder) each(ctx context.Context, files []*changedFile, do func(ctx context.Context, f *changedFile) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.workers)
	for _, f := range files {
		g.Go(func() error { return do(ctx, f) })
	}
	return g.Wait()
}

// charged calls f and charges its time.
func (e *encoder) charged(f func() error) error {
	spent, err := measure(f)
	e.charging.Lock()
	defer e.charging.Unlock()
	e.stats.Time += spent
	if err == nil && e.options.Budget != nil && !e.options.Budget(e.stats.Time, 0, 0) {
		return ErrTooCostly
	}
	return err
}

// find lists the streams that are not the same in both versions of a file.
func (e *encoder) find(ctx context.Context, f *changedFile, bases []Base) error {
	return e.charged(func() error {
		count := 0
		for i := range f.targets {
			t := &f.targets[i]
			found, err := packed.Find(e.target.Content, t.Offset, t.Size)
			if err != nil {
				return fmt.Errorf("target: %w", err)
			}
			t.File = found
			if count += len(found.Streams); count > packed.MaxStreams {
				f.targets = nil
				return nil
			}
		}
		if count == 0 || f.base == noBase {
			return nil
		}
		base := bases[f.base]
		found, err := packed.Find(base.Content, f.Offset, f.Size)
		if err != nil {
			return fmt.Errorf("base %s: %w", base.Digest, err)
		}
		f.old = found.Streams
		return f.dropSame(ctx, e.target.Content, base.Content)
	})
}

// dropSame removes the streams that have the same packed bytes in both versions.
func (f *changedFile) dropSame(ctx context.Context, target, base io.ReaderAt) error {
	type sum [hashedContent]byte
	hashes := func(from io.ReaderAt, all []packed.Named) ([]sum, error) {
		out := make([]sum, len(all))
		h := sha256.New()
		for i, s := range all {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			h.Reset()
			n, err := io.Copy(h, io.NewSectionReader(from, s.Start, s.Packed))
			if err == nil && n < s.Packed {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return nil, fmt.Errorf("reading content at %d: %w", s.Start, err)
			}
			copy(out[i][:], h.Sum(nil))
		}
		return out, nil
	}
	old, err := hashes(base, f.old)
	if err != nil {
		return err
	}
	has := make(map[sum]bool, len(old)) // and whether the target has it, too
	for _, s := range old {
		has[s] = false
	}
	for i := range f.targets {
		t := &f.targets[i]
		own, err := hashes(target, t.Streams)
		if err != nil {
			return err
		}
		t.Streams = pick(t.Streams, func(i int) bool {
			_, same := has[own[i]]
			if same {
				has[own[i]] = true
			}
			return !same
		})
	}
	f.old = pick(f.old, func(i int) bool { return !has[old[i]] })
	return nil
}

// pick returns the elements whose index is wanted, in the same memory.
func pick[T any](all []T, wanted func(i int) bool) []T {
	out := all[:0]
	for i, x := range all {
		if wanted(i) {
			out = append(out, x)
		}
	}
	return out
}

// streamLimits keep what a table may have.
type streamLimits struct {
	left   int // streams
	target packed.Limit
	bases  []packed.Limit
}

func newStreamLimits(bases int) *streamLimits {
	return &streamLimits{left: packed.MaxStreams, bases: make([]packed.Limit, bases)}
}

// allow drops the streams of a file that are too many. It reports whether any of the target remain.
func (l *streamLimits) allow(f *changedFile) bool {
	count := 0
	for i := range f.targets {
		t := &f.targets[i]
		t.Streams = pick(t.Streams, func(i int) bool { return l.target.Allow(t.Streams[i].Stream) })
		count += len(t.Streams)
	}
	if count == 0 || count+len(f.old) > l.left {
		return false
	}
	if f.base != noBase {
		f.old = pick(f.old, func(i int) bool { return l.bases[f.base].Allow(f.old[i].Stream) })
	}
	l.left -= count + len(f.old)
	return true
}

// detect unpacks the streams of a file and finds their recipes. Streams of the target without a recipe stay as they are, and those of the base with the same
// names, too.
func (e *encoder) detect(ctx context.Context, f *changedFile, store *packed.Store, bases []Base) error {
	failed := map[string]bool{}
	usable := func(err error) (bool, error) {
		if errors.Is(err, packed.ErrStream) || errors.Is(err, recompress.ErrNotReproducible) {
			return false, nil
		}
		return err == nil, err
	}
	found := 0
	for i := range f.targets {
		t := &f.targets[i]
		d := recompress.NewDeflateDetector(e.options.Compressors, t.Likely...)
		var keep []packed.Named
		for _, s := range t.Streams {
			err := e.charged(func() error {
				err := store.Unpack(ctx, e.target.Content, &s.Stream)
				var r recompress.DeflateRecipe
				if err == nil {
					r, err = d.Detect(ctx, io.NewSectionReader(e.target.Content, s.Start, s.Packed), s.Packed, store.Unpacked(s.Stream), s.Unpacked)
				}
				ok, err := usable(err)
				if ok {
					keep, t.recipes = append(keep, s), append(t.recipes, r)
				} else {
					failed[s.Name] = true
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("target: %w", err)
			}
		}
		t.Streams = keep
		found += len(keep)
	}
	var keep []packed.Named
	for _, s := range f.old {
		if found == 0 || failed[s.Name] {
			continue
		}
		err := e.charged(func() error {
			ok, err := usable(store.Unpack(ctx, bases[f.base].Content, &s.Stream))
			if ok {
				keep = append(keep, s)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("base %s: %w", bases[f.base].Digest, err)
		}
	}
	f.old = keep
	return nil
}

// collect fills the table.
func (u *unpacked) collect(files []*changedFile) {
	type stream struct {
		packed.Named
		recipe recompress.DeflateRecipe
	}
	var all []stream
	for _, f := range files {
		for _, t := range f.targets {
			for i, s := range t.Streams {
				all = append(all, stream{s, t.recipes[i]})
			}
		}
		if f.base != noBase {
			u.oldNames[f.base] = append(u.oldNames[f.base], f.old...)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Start < all[j].Start })
	for _, s := range all {
		if u.table.AddTarget(s.Stream, s.recipe) {
			u.newNames = append(u.newNames, s.Named)
		}
	}
	for i, old := range u.oldNames {
		sort.Slice(old, func(i, j int) bool { return old[i].Start < old[j].Start })
		for _, s := range old {
			u.table.Bases[i] = append(u.table.Bases[i], s.Stream)
		}
	}
}
