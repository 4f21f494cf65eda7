package packed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
)

// Limits of a Table.
const (
	MaxStreams = 1 << 17 // streams of all contents
	MaxTable   = 4 << 20 // bytes
	maxRecipes = 16
)

// ErrTable is wrapped by errors about tables.
var ErrTable = errors.New("invalid table of compressed streams")

// A Table lists the streams that a delta sees unpacked, in the order of their positions.
type Table struct {
	Recipes []recompress.DeflateRecipe // of Target's streams, in the order of their first use
	Target  []Stream
	Bases   [][]Stream
}

// Empty reports whether there are no streams.
func (t *Table) Empty() bool {
	return len(t.Target) == 0 && !slices.ContainsFunc(t.Bases, func(s []Stream) bool { return len(s) > 0 })
}

// Unpacked returns how much longer a content is with its streams unpacked.
func Unpacked(streams []Stream) int64 {
	n := int64(0)
	for _, s := range streams {
		n += s.Unpacked - s.Packed
	}
	return n
}

// index returns the index of a recipe, which is added if it is new. ok is false if there are too many.
func (t *Table) index(r recompress.DeflateRecipe) (i int, ok bool) {
	if i = slices.Index(t.Recipes, r); i >= 0 {
		return i, true
	}
	if len(t.Recipes) == maxRecipes {
		return 0, false
	}
	t.Recipes = append(t.Recipes, r)
	return len(t.Recipes) - 1, true
}

// AddTarget appends a stream of the target, which follows the others, with its recipe. It returns false if there are too many recipes.
func (t *Table) AddTarget(s Stream, r recompress.DeflateRecipe) bool {
	i, ok := t.index(r)
	if ok {
		s.Recipe = i
		t.Target = append(t.Target, s)
	}
	return ok
}

// MarshalBinary returns the table as ParseTable reads it. Numbers are unsigned varints in their shortest form:
//
//	recipes     count (at most 16), then for each: length, bytes as recompress.DeflateRecipe.MarshalBinary returns them
//	contents    for the target, then for each base: the count of streams, then
//	            for each stream: how many bytes are between it and the end of the one before
//	            for each stream: its length
//	            for each stream: the length of what it unpacks to
//	            for each stream of the target: the index of its recipe, 1 byte
func (t *Table) MarshalBinary() ([]byte, error) {
	b := binary.AppendUvarint(nil, uint64(len(t.Recipes)))
	for _, r := range t.Recipes {
		raw, err := r.MarshalBinary()
		if err != nil {
			return nil, err
		}
		b = append(binary.AppendUvarint(b, uint64(len(raw))), raw...)
	}
	b = appendStreams(b, t.Target)
	for _, s := range t.Target {
		b = append(b, byte(s.Recipe))
	}
	for _, streams := range t.Bases {
		b = appendStreams(b, streams)
	}
	if len(b) > MaxTable {
		return nil, fmt.Errorf("%w: it has %d bytes; at most %d are allowed", ErrTable, len(b), MaxTable)
	}
	return b, nil
}

func appendStreams(b []byte, streams []Stream) []byte {
	b = binary.AppendUvarint(b, uint64(len(streams)))
	end := int64(0)
	for _, s := range streams {
		b = binary.AppendUvarint(b, uint64(s.Start-end))
		end = s.End()
	}
	for _, s := range streams {
		b = binary.AppendUvarint(b, uint64(s.Packed))
	}
	for _, s := range streams {
		b = binary.AppendUvarint(b, uint64(s.Unpacked))
	}
	return b
}

// ParseTable reads the table for a target and bases of these lengths. It refuses what MarshalBinary does not write, streams outside of the contents, and
// streams of a content that unpack to more than 64 MiB and 20 times their length. A recipe that this build of the program does not know is
// recompress.ErrUnsupported; whether it can follow a recipe is what NewWriter reports.
func ParseTable(b []byte, target int64, bases []int64) (*Table, error) {
	if len(b) > MaxTable {
		return nil, fmt.Errorf("%w: it has %d bytes; at most %d are allowed", ErrTable, len(b), MaxTable)
	}
	p := tableParser{Fields{B: b}, MaxStreams}
	t := &Table{}
	for range p.Number(maxRecipes) {
		r, err := recompress.ParseDeflate(p.Take(int(p.Number(recompress.MaxDeflateRecipe))))
		switch {
		case p.Bad:
			return nil, fmt.Errorf("%w: it ends early", ErrTable)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrTable, err)
		}
		t.Recipes = append(t.Recipes, r)
	}
	t.Target = p.streams(target)
	used := 0
	for i, r := range p.Take(len(t.Target)) {
		t.Target[i].Recipe = int(r)
		if int(r) > used || int(r) >= len(t.Recipes) {
			p.Bad = true
		}
		used = max(used, int(r)+1)
	}
	for _, size := range bases {
		t.Bases = append(t.Bases, p.streams(size))
	}
	distinct := true
	for i, r := range t.Recipes {
		distinct = distinct && !slices.Contains(t.Recipes[:i], r)
	}
	if p.Bad || len(p.B) > 0 || used != len(t.Recipes) || !distinct || t.Empty() {
		return nil, fmt.Errorf("%w: it has wrong fields", ErrTable)
	}
	again, err := t.MarshalBinary()
	if err == nil && !bytes.Equal(again, b) {
		err = fmt.Errorf("%w: it is not in canonical form", ErrTable)
	}
	return t, err
}

// Fields reads from the front of B; Bad is set once something is wrong.
type Fields struct {
	B   []byte
	Bad bool
}

// Take returns the next n bytes.
func (f *Fields) Take(n int) []byte {
	if n > len(f.B) {
		f.Bad, f.B = true, nil
		return nil
	}
	out := f.B[:n]
	f.B = f.B[n:]
	return out
}

// Number reads an unsigned varint up to limit.
func (f *Fields) Number(limit int64) int64 {
	v, n := binary.Uvarint(f.B)
	if n <= 0 || v > uint64(limit) {
		f.Bad, f.B = true, nil
		return 0
	}
	f.B = f.B[n:]
	return int64(v)
}

// A tableParser reads a table.
type tableParser struct {
	Fields
	left int // streams
}

// streams reads the streams of a content of size bytes.
func (p *tableParser) streams(size int64) []Stream {
	n := int(p.Number(int64(min(p.left, len(p.B))))) // a stream has more bytes than one
	if n == 0 {
		return nil
	}
	p.left -= n
	all := make([]Stream, n)
	for i := range all {
		all[i].Start = p.Number(size) // from the end of the one before
	}
	end, packed, unpacked := int64(0), int64(0), int64(0)
	for i := range all {
		s := &all[i]
		if s.Start > size-end {
			p.Bad = true
			return nil
		}
		s.Start += end
		if s.Packed = p.Number(size - s.Start); s.Packed == 0 {
			p.Bad = true
			return nil
		}
		end = s.End()
		packed += s.Packed
	}
	for i := range all {
		s := &all[i]
		if s.Unpacked = p.Number(math.MaxInt64); s.Unpacked == 0 || s.Unpacked > maxUnpacked(packed)-unpacked {
			p.Bad = true
			return nil
		}
		unpacked += s.Unpacked
	}
	return all
}
