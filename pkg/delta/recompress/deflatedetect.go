package recompress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A DeflateKind is a compressor with a level, for example go-gzip with 1.
type DeflateKind struct {
	Compressor string
	Level      int
}

// A DeflateDetector finds the recipes of streams of raw deflate that were probably compressed alike, such as the entries of a zip file. It tries the last
// recipe that was right first, and gives up if few are. The results depend on nothing but the streams and their order.
type DeflateDetector struct {
	accept func(requires string) bool
	order  []candidate // the one that was right last comes first
	ready  encoder     // for order[0], if the last stream was reproduced by it
	buffer []byte

	right, wrong int64 // content that was compressed with the right and the wrong compressors, in bytes
	failures     int   // streams without a recipe
	found        int   // streams with one
}

const (
	// maxWrongDeflate is how much content may be compressed with the wrong compressors, apart from as much as with the right ones.
	maxWrongDeflate = 8 << 20
	// maxDeflateFailures is how many streams may have no recipe before one has.
	maxDeflateFailures = 3
)

// NewDeflateDetector returns a detector that tries the likely compressors first. accept reports whether a recipe that requires what Requires returns can
// be used; nil accepts all.
func NewDeflateDetector(accept func(requires string) bool, likely ...DeflateKind) *DeflateDetector {
	d := &DeflateDetector{accept: accept, buffer: make([]byte, copySize/2)}
	for _, k := range slices.Concat(likely, usualDeflate) {
		use := candidate{name: k.Compressor, level: k.Level}
		if _, ok := deflateCompressor(use); ok && !slices.Contains(d.order, use) {
			d.order = append(d.order, use)
		}
	}
	return d
}

// usualDeflate are the compressors of files, the likely ones first. 5 is the level of Go's archive/zip.
var usualDeflate = []DeflateKind{
	{"zlib", 6}, {"zlib", 9}, {"go-gzip", 5}, {"go-gzip", 6}, {"zlib", 1}, {"go-gzip", 1}, {"go-gzip", 9}, {"gnu-gzip", 9}, {"gnu-gzip", 6},
	{"klauspost-gzip", 5}, {"klauspost-gzip", 6}, {"zlib-memory9", 9}, {"zlib-memory9", 6},
	{"zlib", 5}, {"zlib", 4}, {"zlib", 3}, {"zlib", 2}, {"zlib", 7}, {"zlib", 8}, {"zlib-memory9", 8}, {"gnu-gzip", 1}, {"klauspost-gzip", 1}, {"klauspost-gzip", 9},
}

// Detect returns the recipe of a stream, which has size bytes and the given content. If there is none, it returns ErrNotReproducible.
func (d *DeflateDetector) Detect(ctx context.Context, stream io.ReaderAt, size int64, content io.ReaderAt, contentSize int64) (DeflateRecipe, error) {
	if d.failures >= maxDeflateFailures && d.found == 0 || d.wrong > maxWrongDeflate+d.right {
		return DeflateRecipe{}, fmt.Errorf("%w: no compressor makes the streams beside it", ErrNotReproducible)
	}
	all := slices.Clone(d.order)
	for i := 0; i < len(all); i++ {
		r, n, err := d.try(ctx, all[i], newComparer(stream, size), io.NewSectionReader(content, 0, contentSize))
		switch {
		case err == nil:
			d.right += n
			d.found++
			d.first(all[i])
			return r, nil
		case !errors.Is(err, errDiffers):
			return r, err
		}
		if d.wrong += n; n >= late {
			all = slices.Insert(all, i+1, slices.DeleteFunc(refine(all[i]), func(c candidate) bool { return slices.Contains(all, c) })...)
		}
		if d.wrong > maxWrongDeflate+d.right {
			break
		}
	}
	d.failures++
	return DeflateRecipe{}, fmt.Errorf("%w: all compressors made something else", ErrNotReproducible)
}

// first moves a candidate to the front.
func (d *DeflateDetector) first(use candidate) {
	i := slices.Index(d.order, use)
	if i > 0 {
		d.order = slices.Delete(d.order, i, i+1)
	}
	if i != 0 {
		d.order = slices.Insert(d.order, 0, use)
	}
}

// try compresses content with a candidate until the output differs. It returns how much content that was.
func (d *DeflateDetector) try(ctx context.Context, use candidate, want *comparer, content io.Reader) (DeflateRecipe, int64, error) {
	r := DeflateRecipe{use: use}
	e := d.ready
	if e == nil || use != d.order[0] {
		c, _ := deflateCompressor(use)
		var err error
		if e, err = c.open(use.level, use.size); err != nil {
			return r, 0, err
		}
	}
	e.Reset(want)
	n, err := d.copy(ctx, e, content)
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		return r, n, err
	}
	if want.left() != 0 {
		return r, n, errDiffers
	}
	d.ready = nil
	c, _ := deflateCompressor(use)
	if r.fingerprint, err = fingerprint(c, use.level, nil); err != nil {
		return r, n, err
	}
	if d.accept != nil && !d.accept(r.Requires()) {
		return r, n, errDiffers // another compressor may make the same
	}
	d.ready = e
	return r, n, nil
}

// copy writes content to the encoder.
func (d *DeflateDetector) copy(ctx context.Context, e encoder, content io.Reader) (int64, error) {
	total := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := fill(content, d.buffer)
		total += int64(n)
		if _, e := e.Write(d.buffer[:n]); e != nil {
			return total, e
		}
		switch err {
		case nil:
		case io.EOF:
			return total, nil
		default:
			return total, err
		}
	}
}
