package archive

import (
	"cmp"
	"container/heap"
	"context"
	"io"
	"slices"
	"sort"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// A piece is content in one file: all of it, or a part.
type piece struct {
	location
	member *member
	found  *foundVolume
	file   *file
}

// start returns where in the content the piece begins.
func (p *piece) start() int64 {
	if p.entry.Part != nil {
		return p.entry.Part.At
	}
	return 0
}

func (p *piece) end() int64 { return p.start() + p.entry.Size }

// usable reports whether the piece's volume was found intact when it was opened.
func (p piece) usable() bool { return p.found.problem == "" }

// storedDescriptor describes the entry's own bytes.
func (e *entry) storedDescriptor() ocispec.Descriptor {
	if e.Part != nil {
		return ocispec.Descriptor{Digest: e.Part.Digest, Size: e.Size}
	}
	return ocispec.Descriptor{Digest: e.Digest, Size: e.Size}
}

// damage returns the damage of a piece that cannot be read.
func (p *piece) damage(problem string) Damage {
	return Damage{File: p.member.set.Volumes[p.volume].Name, Entry: p.entry.stored().path(), Offset: p.entry.Offset, Problem: problem}
}

// pieces returns the accepted pieces of content, in the order of preference. Pieces of content with
// another length than the first one are skipped.
func (a *Archive) pieces(all []location, take func(piece) bool) []piece {
	var found []piece
	for _, at := range all {
		if at.entry.length() != all[0].entry.length() {
			continue
		}
		m := a.members[at.member]
		volume := &m.volumes[at.volume]
		for i := range volume.files {
			p := piece{location: at, member: m, found: volume, file: &volume.files[i]}
			if take(p) {
				found = append(found, p)
			}
		}
	}
	return found
}

func anyPiece(piece) bool { return true }

// cover chooses pieces that make up content of size bytes, in their order. accept is called once
// for each piece that is about to be chosen; the first that it accepts is chosen. ok is false if
// the pieces do not suffice. The number of steps is n log n.
func cover(pieces []piece, size int64, accept func(*piece) bool) (chosen []piece, ok bool) {
	later := make([]int, len(pieces)) // pieces that begin after the end of the chosen ones
	for i := range later {
		later[i] = i
	}
	elements.Sort(later, func(i, j int) int { return cmp.Compare(pieces[i].start(), pieces[j].start()) })
	var next indexHeap // the others
	var end int64
	for end < size || len(chosen) == 0 {
		for len(later) > 0 && pieces[later[0]].start() <= end {
			heap.Push(&next, later[0])
			later = later[1:]
		}
		if next.Len() == 0 {
			return nil, false
		}
		p := &pieces[heap.Pop(&next).(int)]
		if p.end() <= end && size > 0 || !accept(p) {
			continue
		}
		chosen = append(chosen, *p)
		end = p.end()
	}
	return chosen, true
}

// indexHeap is a heap of indexes, the lowest on top.
type indexHeap struct{ sort.IntSlice }

// Push implements heap.Interface.
func (p *indexHeap) Push(x any) { p.IntSlice = append(p.IntSlice, x.(int)) }

// Pop implements heap.Interface.
func (p *indexHeap) Pop() any {
	last := len(p.IntSlice) - 1
	x := p.IntSlice[last]
	p.IntSlice = p.IntSlice[:last]
	return x
}

// covers reports whether the pieces make up content of size bytes.
func covers(pieces []piece, size int64) bool {
	_, ok := cover(pieces, size, func(*piece) bool { return true })
	return ok
}

// choosePieces finds the pieces that content is read from. If the content exists more than once,
// its bytes are compared with their digests first: content that is damaged in one volume is read from an
// intact copy.
func (a *Archive) choosePieces(ctx context.Context, have []location) ([]piece, error) {
	size := have[0].entry.length()
	all := a.pieces(have, anyPiece)
	var sum int64
	for i := range all {
		sum += all[i].entry.Size
	}
	if len(all) == 1 || sum == size && size > 0 { // no two have the same bytes
		chosen, ok := cover(all, size, func(*piece) bool { return true })
		if !ok {
			return nil, a.volumeError(have)
		}
		return chosen, nil
	}
	d := have[0].entry.Digest
	a.mu.Lock()
	chosen, ok := a.chosen[d]
	a.mu.Unlock()
	if ok {
		return chosen, nil
	}
	damage := &DamageError{Dir: a.dirNames()}
	chosen, ok = cover(all, size, func(p *piece) bool {
		problem := a.checkPiece(ctx, p)
		if problem == "" {
			return true
		}
		damage.Damage = append(damage.Damage, p.damage(problem))
		return false
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !ok {
		damage.Damage = append(damage.Damage, a.volumeDamage(have)...)
		return nil, damage
	}
	for _, d := range damage.Damage {
		a.addRepaired("content is damaged; reading it from an intact copy", d.String())
	}
	a.mu.Lock()
	a.chosen[d] = chosen
	a.mu.Unlock()
	return chosen, nil
}

// checkPiece reads a piece and returns what is wrong with it, or "".
func (a *Archive) checkPiece(ctx context.Context, p *piece) (problem string) {
	e := p.entry.stored()
	section := io.NewSectionReader(p.file, e.Offset, e.Size)
	body, err := layout.Verified(ctx, io.NopCloser(section), e.storedDescriptor(), e.path())
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	if err != nil {
		return problemOf(err)
	}
	return ""
}

// volumeError returns the error for content whose volumes are missing.
func (a *Archive) volumeError(have []location) error {
	return &DamageError{Dir: a.dirNames(), Damage: a.volumeDamage(have)}
}

// volumeDamage returns what is wrong with the volumes that have content.
func (a *Archive) volumeDamage(have []location) []Damage {
	var damage []Damage
	for _, p := range have {
		if a.members[p.member].volumes[p.volume].problem != "" {
			damage = append(damage, a.volumeProblem(int(p.member), int(p.volume)))
		}
	}
	elements.Sort(damage, func(x, y Damage) int { return cmp.Compare(x.File, y.File) })
	return slices.CompactFunc(damage, func(x, y Damage) bool { return x.File == y.File })
}

// descriptorOf returns the descriptor of the content that an entry, or a part, belongs to.
func descriptorOf(e *entry) ocispec.Descriptor {
	return ocispec.Descriptor{Digest: e.Digest, Size: e.length()}
}
