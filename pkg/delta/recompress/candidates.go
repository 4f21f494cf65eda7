package recompress

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/flate"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// evidence is what the beginning of a blob shows about its compressor.
type evidence struct {
	format format
	unix   bool  // the gzip header names an operating system, which Go does not
	level  int   // what the gzip header says about the level: 1, 9, or 0 for any other
	marked bool  // there is a sync flush
	block  int64 // the content before the first one
	single bool  // nothing but the end of the stream follows it
}

// searched is how much of a blob is searched for the end of the first block.
const searched = 4 << 20

// syncMark is an empty stored block, which a sync flush writes, without its first bits.
var syncMark = []byte{0, 0, 0xff, 0xff}

// lastBlock is an empty stored block that ends a stream.
var lastBlock = []byte{1, 0, 0, 0xff, 0xff}

// examine reads the first bytes of a blob.
func examine(blob io.ReaderAt, size int64) (evidence, error) {
	b := make([]byte, min(size, searched))
	if _, err := io.ReadFull(io.NewSectionReader(blob, 0, int64(len(b))), b); err != nil {
		return evidence{}, err
	}
	e := evidence{format: formatOf(b)}
	if e.format != gzipFormat {
		return e, nil
	}
	in := bytes.NewReader(b)
	buffered := bufio.NewReader(in)
	header, err := readGzipHeader(buffered)
	if err != nil {
		return e, fmt.Errorf("%w: %w", ErrNotReproducible, err)
	}
	const unknown = 255
	e.unix = header[9] != unknown
	switch header[8] {
	case 2:
		e.level = 9
	case 4:
		e.level = 1
	}
	stream := b[len(header):]
	e.findMark(stream)
	return e, nil
}

// findMark looks for the first sync flush of a deflate stream. Its bytes can also be a part of what is
// compressed, so they count only at the end of a block: what precedes them must be a complete stream
// if the last block is put behind them.
func (e *evidence) findMark(stream []byte) {
	const coincidences = 16
	end, work := 0, int64(0)
	for range coincidences {
		i := bytes.Index(stream[end:], syncMark)
		if i < 0 || work > 2*maxBlockSize {
			return
		}
		end += i + len(syncMark)
		in := bytes.NewReader(append(stream[:end:end], lastBlock...))
		var last tailWriter
		n, err := io.Copy(&last, io.LimitReader(flate.NewReader(in), maxBlockSize+1))
		if n > maxBlockSize || err == nil && in.Len() > 0 {
			return // no such blocks, or the stream ends before the mark; those of Go end with an empty stored block
		}
		work += n
		if err == nil && !bytes.Equal(last.b, syncMark) { // no stored block that ends with these bytes
			e.marked, e.block = true, n
			e.single = bytes.HasPrefix(stream[end:], lastBlock)
			return
		}
	}
}

// A tailWriter keeps the last bytes, as many as syncMark has.
type tailWriter struct{ b []byte }

func (t *tailWriter) Write(p []byte) (int, error) {
	t.b = append(t.b, p[max(0, len(p)-len(syncMark)):]...)
	t.b = t.b[max(0, len(t.b)-len(syncMark)):]
	return len(p), nil
}

// candidates returns what to try, the likely ones first.
func (e evidence) candidates() []candidate {
	var all []candidate
	ranks := map[candidate]int{}
	for _, c := range compressors() {
		if c.format != e.format {
			continue
		}
		for _, level := range c.levels {
			for _, s := range e.settings(c, level) {
				ranks[s] = e.rank(c, s)
				all = append(all, s)
			}
		}
	}
	elements.Sort(all, func(a, b candidate) int { return cmp.Compare(ranks[a], ranks[b]) })
	return all
}

// settings returns the sizes to try with a compressor and level.
func (e evidence) settings(c compressor, level int) []candidate {
	if c.size == nil || c.size.rare {
		all := []candidate{{name: c.name, level: level}}
		if c.size != nil && level == 0 { // stored blocks are as long as what is written at once
			for _, n := range c.size.usual {
				all = append(all, candidate{name: c.name, level: level, size: n})
			}
		}
		return all
	}
	use := c.size.usual
	if c.size.marked && !e.marked {
		return nil
	}
	switch {
	case c.size.marked && e.single:
		// All block sizes above the content give the same.
		i := slices.IndexFunc(use, func(n int) bool { return int64(n) > e.block })
		if i < 0 {
			return nil
		}
		use = use[i : i+1]
	case e.marked:
		use = slices.Clone(use) // the mark can be a coincidence
		for part := int64(1); part <= 4 && (part == 1 || !c.size.marked); part++ {
			// Not each block of pigz ends with a mark.
			n := int(e.block / part)
			if e.block%part == 0 && c.accepts(level, n) && !slices.Contains(use, n) {
				use = append(use, n)
			}
		}
	}
	var all []candidate
	for _, n := range use {
		all = append(all, candidate{name: c.name, level: level, size: n})
	}
	return all
}

// refine returns what to try after a candidate whose output differed late: the sizes that seldom
// have an effect.
func refine(c candidate) []candidate {
	used, _ := lookup(c.name)
	if used.size == nil || !used.size.rare || c.size != 0 || c.level == 0 {
		return nil
	}
	var all []candidate
	for _, n := range used.size.usual {
		all = append(all, candidate{name: c.name, level: c.level, size: n})
	}
	return all
}

// rank orders candidates: Go's default if the header is the one that Go writes for it, whatever the
// stream has, since most layers are of that kind; the kind of program that the header shows; blocks of
// the size at which there is a mark; then the levels that the header allows. Compressors write 9 and 1
// into the header, but programs can change it.
func (e evidence) rank(c compressor, s candidate) int {
	if c.name == "go-gzip" && s.level == c.levels[0] && !e.unix && e.level == 0 {
		return -1
	}
	r := 0
	if c.unix != e.unix {
		r += 4
	}
	if e.marked && (s.size == 0 || !e.single && e.block%int64(s.size) != 0) {
		r += 2
	}
	if e.level != 0 && e.level != s.level || e.level == 0 && (s.level == 1 || s.level == 9) {
		r++
	}
	return r
}
