package recompress

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// ErrNotReproducible is returned with the reason for a blob that no compressor of this build of the
// program reproduces, for damaged blobs, and for those whose content is longer than the limit.
var ErrNotReproducible = errors.New("the compression cannot be reproduced")

// DetectOptions are the options of Detect.
type DetectOptions struct {
	// MaxContent is the maximum length of the uncompressed content in bytes; 0 means 64 GiB.
	MaxContent int64
	// Now is the clock with which Report.Busy is measured; nil means processor time.
	Now func() time.Time
}

// A Report describes the work of Detect.
type Report struct {
	// Compressor is what reproduces the blob, as Recipe.Compressor returns it; empty if none does.
	Compressor string
	// Tried is the number of compressors and settings that were tried.
	Tried int
	// Wasted is the number of bytes of content that were compressed with the wrong ones, and 512 for each
	// member.
	Wasted int64
	// Busy is the processor time that decompressing and compressing took, of all cores together. Where that
	// cannot be measured, waiting for the blob is included.
	Busy time.Duration
}

// Wrong compressors usually differ in the first 100 KB. If content has long parts that all compress
// alike, for example random bytes or jar files, they differ later. What wrong ones may compress in all
// is limited to a multiple of the blob. It is enough for all candidates if the blob is small.
const (
	wasteFactor = 4
	minWaste    = 64 << 20
	smallWaste  = 256 << 20
)

// memberCost is the content that takes about as long as beginning a member.
const memberCost = 512

// wasteLimit returns how much the wrong ones of n candidates may compress.
func wasteLimit(size int64, n int) int64 {
	size = min(size, math.MaxInt64/max(wasteFactor, int64(n)))
	return max(minWaste, size*wasteFactor, min(size*int64(n), smallWaste))
}

// late is the content after which a compressor that differs is probably the right one with another
// setting.
const late = 256 << 10

const defaultMaxContent = 64 << 30

// Detect finds out how the blob was compressed. It compresses the content with one candidate after
// the other, the likely ones first, and compares the output with the blob until it differs. A recipe
// is returned only if the whole blob was reproduced. Blobs that are neither gzip nor zstd count as
// uncompressed. Otherwise Detect returns ErrNotReproducible, the error of ctx, or of reading the blob.
// The report is valid in each case.
func Detect(ctx context.Context, blob io.ReaderAt, size int64, o DetectOptions) (*Recipe, Report, error) {
	in := &blobInput{ReaderAt: blob}
	d := &detection{blob: in, size: size, max: o.MaxContent, clock: stopwatch{now: o.Now}}
	d.max = cmp.Or(d.max, defaultMaxContent)
	r, err := d.run(ctx)
	d.report.Busy = d.clock.busy()
	if cause := ctx.Err(); err != nil && cause != nil {
		return nil, d.report, cause
	}
	if cause := in.failure(); err != nil && cause != nil {
		return nil, d.report, fmt.Errorf("reading the blob: %w", cause)
	}
	return r, d.report, err
}

type detection struct {
	blob   io.ReaderAt
	size   int64
	max    int64
	format format
	report Report
	clock  stopwatch
}

func (d *detection) run(ctx context.Context) (*Recipe, error) {
	e, err := examine(d.blob, d.size)
	if err != nil {
		return nil, err
	}
	d.format = e.format
	all := e.candidates()
	limit := wasteLimit(d.size, len(all))
	for len(all) > 0 {
		c := all[0]
		all = all[1:]
		d.report.Tried++
		r, n, err := d.try(ctx, c) // to its end, since it may be right
		switch {
		case err == nil:
			d.report.Compressor = r.Compressor()
			return r, nil
		case !errors.Is(err, errDiffers):
			return nil, fmt.Errorf("%w: %w", ErrNotReproducible, err)
		}
		if n >= late {
			all = append(all, refine(c)...)
		}
		if d.report.Wasted += n; d.report.Wasted > limit {
			return nil, fmt.Errorf("%w: %d compressors made something else, after %d bytes", ErrNotReproducible, d.report.Tried, d.report.Wasted)
		}
	}
	return nil, fmt.Errorf("%w: %d compressors made something else", ErrNotReproducible, d.report.Tried)
}

// errDiffers is returned by try if the candidate makes another blob.
var errDiffers = errors.New("the output differs")

// try compresses the content with a candidate and compares the output with the blob. It returns the
// recipe if all bytes are equal, and the work, in bytes of content.
func (d *detection) try(ctx context.Context, cand candidate) (*Recipe, int64, error) {
	c, _ := lookup(cand.name)
	e, err := c.open(cand.level, cand.size)
	if err != nil {
		return nil, 0, err
	}
	e = d.clock.watch(e)
	defer e.Reset(io.Discard) // waits for blocks that are being compressed
	parts, err := d.open()
	if err != nil {
		return nil, 0, err
	}
	defer parts.Close()
	want := newComparer(d.blob, d.size)
	t := &trial{
		detection: d, members: memberWriter{w: want, format: c.format, encoder: e},
		recipe: &Recipe{compressor: cand.name, level: cand.level, size: cand.size},
	}
	for {
		p, err := parts.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = t.add(ctx, p, want)
		}
		if err != nil {
			return nil, t.work(), err
		}
	}
	if want.left() != 0 {
		return nil, t.work(), errDiffers
	}
	if t.recipe.fingerprint, err = fingerprint(c, cand.level, e); err != nil {
		return nil, t.work(), err
	}
	// A recipe that Parse would refuse is not returned.
	b, err := t.recipe.MarshalBinary()
	if err == nil {
		_, err = Parse(b)
	}
	return t.recipe, t.work(), err
}

func (d *detection) open() (blobReader, error) {
	switch d.format {
	case gzipFormat:
		return newGzipBlob(io.NewSectionReader(d.blob, 0, d.size)), nil
	case zstdFormat:
		return newZstdBlob(d.blob, d.size)
	}
	return &plainBlob{r: io.NewSectionReader(d.blob, 0, d.size)}, nil
}

// plainBlob is one uncompressed member.
type plainBlob struct {
	r    io.Reader
	done bool
}

func (b *plainBlob) Close() {}

func (b *plainBlob) next() (part, error) {
	if b.done {
		return part{}, io.EOF
	}
	b.done = true
	return part{content: b.r}, nil
}

// A trial is a run of one candidate over the blob.
type trial struct {
	*detection
	members memberWriter
	recipe  *Recipe
	raw     int
	content int64
	begun   int64 // members
	buffer  []byte
}

func (t *trial) work() int64 { return t.content + t.begun*memberCost }

func (t *trial) add(ctx context.Context, p part, want io.Writer) error {
	r := t.recipe
	if p.raw != nil {
		if t.raw += len(p.raw); t.raw > maxRaw {
			return fmt.Errorf("%w: more than %d bytes are not compressed content", errFormat, maxRaw)
		}
		if n := len(r.segments); n > 0 && r.segments[n-1].raw != nil {
			r.segments[n-1].raw = append(r.segments[n-1].raw, p.raw...)
		} else {
			r.segments = append(r.segments, segment{raw: p.raw})
		}
		_, err := want.Write(p.raw)
		return err
	}
	s := segment{}
	if p.header != nil {
		s.header = slices.IndexFunc(r.headers, func(h []byte) bool { return bytes.Equal(h, p.header) })
		if s.header < 0 {
			s.header = len(r.headers)
			r.headers = append(r.headers, p.header)
		}
	}
	if len(r.headers) > maxHeaders || len(r.segments) == maxSegments {
		return fmt.Errorf("%w: too many members, or members with different headers", errFormat)
	}
	t.begun++
	err := t.members.begin(p.header)
	if err == nil {
		s.length, err = t.copy(ctx, p.content)
	}
	if err == nil {
		err = t.members.finish()
	}
	r.segments = append(r.segments, s)
	return err
}

const copySize = 128 << 10

// copy compresses the content of a member. Long content is decompressed in a goroutine of its own.
func (t *trial) copy(ctx context.Context, content io.Reader) (int64, error) {
	if t.buffer == nil {
		t.buffer = make([]byte, copySize)
	}
	content = &timed{r: content, clock: &t.clock}
	n, err := t.copyUpTo(ctx, content, readAheadAfter)
	if err != nil || n < readAheadAfter {
		return n, err
	}
	ahead := newReadAhead(content)
	defer ahead.stop()
	rest, err := t.copyUpTo(ctx, ahead, math.MaxInt64)
	return n + rest, err
}

func (t *trial) copyUpTo(ctx context.Context, content io.Reader, limit int64) (int64, error) {
	var total int64
	for total < limit {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := fill(content, t.buffer)
		total, t.content = total+int64(n), t.content+int64(n)
		if t.content > t.max {
			return total, fmt.Errorf("%w: the content has more than %d bytes", errFormat, t.max)
		}
		if e := t.members.write(t.buffer[:n]); e != nil {
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
	return total, nil
}
