package archive

import (
	"cmp"
	"container/heap"
	"context"
	"io"
	"slices"
	"sort"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// A piece is a run of bytes of content in one file: all of it, or a part.
type piece struct {
	place
	member *member
	medium *medium
	file   *file
}

// at is where in the content the piece begins.
func (p *piece) at() int64 {
	if p.entry.Part != nil {
		return p.entry.Part.At
	}
	return 0
}

func (p *piece) end() int64 { return p.at() + p.entry.Size }

// fit reports whether the piece's volume is as it should be, as far as opening it
// tells.
func (p piece) fit() bool { return p.medium.problem == "" }

// described is what the entry's own bytes have to be.
func (e *entry) described() ocispec.Descriptor {
	if e.Part != nil {
		return ocispec.Descriptor{Digest: e.Part.Digest, Size: e.Size}
	}
	return ocispec.Descriptor{Digest: e.Digest, Size: e.Size}
}

// damage is what is said of a piece that cannot be read.
func (p *piece) damage(problem string) Damage {
	return Damage{File: p.member.set.Volumes[p.volume].Name, Entry: p.entry.file().path(), Offset: p.entry.Offset, Problem: problem}
}

// pieces are those of content that take accepts, in the order of preference.
// Content of another length than the first of it says is left out.
func (a *Archive) pieces(all []place, take func(piece) bool) []piece {
	var found []piece
	for _, at := range all {
		if at.entry.length() != all[0].entry.length() {
			continue
		}
		m := a.members[at.member]
		medium := &m.media[at.volume]
		for i := range medium.files {
			p := piece{place: at, member: m, medium: medium, file: &medium.files[i]}
			if take(p) {
				found = append(found, p)
			}
		}
	}
	return found
}

func anyPiece(piece) bool { return true }

// cover chooses from the pieces those that make up content of size bytes, in their
// order. accept is asked once about each that is about to be chosen; the first that it
// accepts is. ok is false where they do not reach. It takes n log n steps.
func cover(pieces []piece, size int64, accept func(*piece) bool) (chosen []piece, ok bool) {
	later := make([]int, len(pieces)) // pieces that begin behind what is chosen
	for i := range later {
		later[i] = i
	}
	slices.SortFunc(later, func(i, j int) int { return cmp.Compare(pieces[i].at(), pieces[j].at()) })
	var next preferred // the others
	var end int64
	for end < size || len(chosen) == 0 {
		for len(later) > 0 && pieces[later[0]].at() <= end {
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

// preferred is a heap of places in a list, the first of them on top.
type preferred struct{ sort.IntSlice }

// Push implements heap.Interface.
func (p *preferred) Push(x any) { p.IntSlice = append(p.IntSlice, x.(int)) }

// Pop implements heap.Interface.
func (p *preferred) Pop() any {
	last := len(p.IntSlice) - 1
	x := p.IntSlice[last]
	p.IntSlice = p.IntSlice[:last]
	return x
}

// covered reports whether the pieces make up content of size bytes.
func covered(pieces []piece, size int64) bool {
	_, ok := cover(pieces, size, func(*piece) bool { return true })
	return ok
}

// choose finds the pieces that content is read from. Where there is a choice, that
// is where the content is there more than once, its bytes are compared with their
// digests before: what is damaged in one place is read from where it is sound.
func (a *Archive) choose(ctx context.Context, have []place) ([]piece, error) {
	size := have[0].entry.length()
	all := a.pieces(have, anyPiece)
	var sum int64
	for i := range all {
		sum += all[i].entry.Size
	}
	if len(all) == 1 || sum == size && size > 0 { // no two have the same bytes
		chosen, ok := cover(all, size, func(*piece) bool { return true })
		if !ok {
			return nil, a.unfit(have)
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
	damage := &DamageError{Dir: a.dir()}
	chosen, ok = cover(all, size, func(p *piece) bool {
		problem := a.sound(ctx, p)
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
		damage.Damage = append(damage.Damage, a.gone(have)...)
		return nil, damage
	}
	for _, d := range damage.Damage {
		a.log.Warn("content is damaged in one place and is read from another", "problem", d.String())
	}
	a.mu.Lock()
	a.chosen[d] = chosen
	a.mu.Unlock()
	return chosen, nil
}

// sound reads a piece; what it finds wrong is the problem.
func (a *Archive) sound(ctx context.Context, p *piece) (problem string) {
	e := p.entry.file()
	section := io.NewSectionReader(p.file, e.Offset, e.Size)
	body, err := layout.Verified(ctx, io.NopCloser(section), e.described(), e.path())
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	if err != nil {
		return problemOf(err)
	}
	return ""
}

// unfit is the error for content whose volumes are not there.
func (a *Archive) unfit(have []place) error {
	return &DamageError{Dir: a.dir(), Damage: a.gone(have)}
}

// gone is what is wrong with the volumes that have content.
func (a *Archive) gone(have []place) []Damage {
	var damage []Damage
	for _, p := range have {
		if a.members[p.member].media[p.volume].problem != "" {
			damage = append(damage, a.damage(int(p.member), int(p.volume)))
		}
	}
	slices.SortFunc(damage, func(x, y Damage) int { return cmp.Compare(x.File, y.File) })
	return slices.CompactFunc(damage, func(x, y Damage) bool { return x.File == y.File })
}

// A joined reads pieces of content one after the other, from a place on.
type joined struct {
	pieces []piece
	at     int64 // in the content
	size   int64
	last   *piece    // that was read from
	opened io.Reader // what is left of it, where it is encrypted
}

func (j *joined) Read(b []byte) (int, error) {
	if j.at >= j.size {
		return 0, io.EOF
	}
	for len(j.pieces) > 0 && j.pieces[0].end() <= j.at {
		j.pieces, j.opened = j.pieces[1:], nil
	}
	if len(j.pieces) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	p := &j.pieces[0]
	j.last = p
	b = b[:min(int64(len(b)), p.end()-j.at)]
	var n int
	var err error
	if p.entry.Sealed != nil {
		n, err = j.decrypt(b)
	} else {
		n, err = p.file.ReadAt(b, p.entry.Offset+j.at-p.at())
	}
	j.at += int64(n)
	if err == io.EOF && n > 0 {
		err = nil // a file that ends too soon says so next time
	}
	return n, err
}

func (j *joined) Close() error { return nil }

// whole is the descriptor of the content that an entry has, or has a part of.
func whole(e *entry) ocispec.Descriptor {
	return ocispec.Descriptor{Digest: e.Digest, Size: e.length()}
}
