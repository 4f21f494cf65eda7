// Package deltareader makes blobs from deltas and from the blobs that these are based on, which may be carried as deltas,
// too.
//
// A Builder reads the header of a delta file, gets the bases, writes their uncompressed content to temporary
// files, applies the delta, compresses the result as the recipe in the delta says, and compares it with the
// digest of the blob: what is returned is the blob, byte for byte, or an error. Memory does not depend on the
// size of blobs. Deltas may come from strangers: nothing is written beyond the lengths that were announced
// and accepted.
package deltareader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// A Builder rebuilds blobs. It is safe for concurrent use.
type Builder struct {
	bases bases
	slots chan struct{}
}

// New returns a Builder. dir is the folder for temporary files, which have the uncompressed content of bases and
// what compressed parts of it unpack to; "" is the one of the system. Close removes the files.
func New(dir string) *Builder {
	return &Builder{bases: bases{dir: dir}, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// A Delta is what a blob is made from.
type Delta struct {
	// Blob describes the blob.
	Blob ocispec.Descriptor
	// Bases are the blobs that the delta may be based on.
	Bases []ocispec.Descriptor
	// Open opens the delta file.
	Open func(ctx context.Context) (io.ReadCloser, error)
	// OpenBase opens one of Bases as it is stored. Its reader compares it with its digest. A base that was
	// opened for one delta is used for others, too.
	// If again is true, what was opened first could not be read, and another copy is opened, if there is one.
	OpenBase func(ctx context.Context, d digest.Digest, again bool) (io.ReadCloser, error)
	// BaseDelta returns the delta of one of Bases that is carried as one. It may be nil. OpenBase is called for such a
	// base only if it cannot be made, with again. No blob may need itself.
	BaseDelta func(d digest.Digest) (of Delta, ok bool)
	// Shared means that other deltas are based on the blob: what it has uncompressed is written to a temporary file first,
	// so that they need not make it again.
	Shared bool
}

// Close removes the temporary files. No blob may be in use.
func (b *Builder) Close() error {
	b.bases.removeIdle()
	return nil
}

// A BaseError reports that a base cannot be read. A base that is intact and that the delta does not fit is none: the
// delta is wrong then.
type BaseError struct {
	Base digest.Digest
	Err  error
}

func (e *BaseError) Error() string {
	return fmt.Sprintf("%s, which the delta is based on, cannot be read: %v", e.Base, e.Err)
}
func (e *BaseError) Unwrap() error { return e.Err }

// Blob opens the blob of a delta. The blob is made while it is read, and reading ends with an error in place
// of io.EOF if it is another one. A base that cannot be read is a *BaseError. Blob waits while as many blobs
// as there are processors are open.
func (b *Builder) Blob(ctx context.Context, d Delta) (io.ReadCloser, error) {
	h, recipe, err := d.readHeader(ctx)
	if err != nil {
		return nil, err
	}
	job, content, err := b.start(ctx, &d, h)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	read, write := io.Pipe()
	job.read, job.cancel = read, cancel
	job.running.Go(func() {
		_ = write.CloseWithError(job.write(ctx, write, content, recipe)) // always nil
	})
	body, err := layout.Verified(ctx, job, d.Blob, "what was made from the delta")
	if err != nil {
		return nil, errors.Join(err, job.Close())
	}
	return &made{body, job}, nil
}

// A contentFunc writes the uncompressed content of a blob.
type contentFunc func(ctx context.Context, to io.Writer) error

// start begins to make a blob. What it needs is released with the job.
func (b *Builder) start(ctx context.Context, d *Delta, h *delta.Header) (*job, contentFunc, error) {
	if !d.Shared {
		job, err := b.begin(ctx, d, h)
		return job, func(ctx context.Context, to io.Writer) error { return job.decode(ctx, to) }, err
	}
	x, err := b.bases.get(ctx, d.Blob.Digest, h.ContentSize, func(ctx context.Context, _ digest.Digest, size int64) (*os.File, int64, error) {
		f, err := b.decode(ctx, d, size)
		return f, size, err
	})
	if err != nil {
		return nil, nil, err
	}
	job := &job{builder: b, bases: []*base{x}}
	if err := job.takeSlot(ctx); err != nil {
		job.release()
		return nil, nil, err
	}
	return job, func(_ context.Context, to io.Writer) error {
		_, err := io.Copy(to, io.NewSectionReader(x.file, 0, x.size))
		return err
	}, nil
}

// begin gets the bases of a delta and a slot, and opens the delta file.
func (b *Builder) begin(ctx context.Context, d *Delta, h *delta.Header) (_ *job, err error) {
	job := &job{builder: b}
	defer func() {
		if err != nil {
			job.release()
		}
	}()
	for _, want := range h.Bases {
		x, err := b.bases.get(ctx, want.Digest, want.ContentSize, func(ctx context.Context, base digest.Digest, size int64) (*os.File, int64, error) {
			if d.BaseDelta != nil {
				if of, ok := d.BaseDelta(base); ok {
					return b.content(ctx, &of, size, d.OpenBase)
				}
			}
			return b.bases.load(ctx, base, size, d.OpenBase)
		})
		switch {
		case err == nil:
			job.bases = append(job.bases, x)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, new(unfitError)):
			return nil, fmt.Errorf("the delta does not fit %s, which it is based on: %w", want.Digest, err)
		default:
			return nil, &BaseError{want.Digest, err}
		}
	}
	// Bases may be made from deltas themselves, so a slot is taken when they are complete.
	if err := job.takeSlot(ctx); err != nil {
		return nil, err
	}
	job.file, err = d.Open(ctx)
	return job, err
}

// content writes the uncompressed content of a delta's blob, which is a base of another, to a temporary file. It is not
// compressed: the digest of what is made from it shows whether it is right. If it cannot be made, the blob is opened
// where else there is a copy.
func (b *Builder) content(ctx context.Context, d *Delta, size int64, open openFunc) (*os.File, int64, error) {
	f, err := b.decode(ctx, d, size)
	if err == nil {
		return f, size, nil
	}
	return b.bases.again(ctx, d.Blob.Digest, size, open, err)
}

// decode writes the uncompressed content of a delta's blob to a temporary file.
func (b *Builder) decode(ctx context.Context, d *Delta, size int64) (*os.File, error) {
	h, _, err := d.readHeader(ctx)
	if err != nil {
		return nil, err
	}
	if h.ContentSize != size {
		return nil, unfitError(fmt.Sprintf("it has %d bytes uncompressed, and the delta needs one with %d", h.ContentSize, size))
	}
	job, err := b.begin(ctx, d, h)
	if err != nil {
		return nil, err
	}
	defer job.release()
	f, err := regular.Temporary(b.bases.dir, "gantry-base-*")
	if err != nil {
		return nil, explainSpace(err, b.bases.dir)
	}
	if err := job.decode(ctx, f); err != nil {
		regular.Discard(f)
		return nil, explainSpace(err, b.bases.dir)
	}
	return f, nil
}

// made reads a blob. Its end is returned only after the decoder ended without an error, too: a delta that gives the blob and
// announces another content was altered.
type made struct {
	io.ReadCloser
	job *job
}

func (m *made) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if (err == nil || err == io.EOF) && m.job.err != nil {
		return 0, m.job.err
	}
	return n, err
}

// readHeader reads and checks the header of the delta file.
func (d *Delta) readHeader(ctx context.Context) (*delta.Header, *recompress.Recipe, error) {
	file, err := d.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() // only read from
	h, err := delta.ReadHeader(file)
	if err != nil {
		return nil, nil, err
	}
	if h.Digest != d.Blob.Digest || h.Size != d.Blob.Size {
		return nil, nil, fmt.Errorf("the delta is for %s of %d bytes", h.Digest, h.Size)
	}
	if limit := MaxContent(d.Blob.Size); h.ContentSize > limit {
		return nil, nil, fmt.Errorf("the blob would have %d bytes uncompressed, and at most %d are allowed", h.ContentSize, limit)
	}
	for _, want := range h.Bases {
		i := slices.IndexFunc(d.Bases, func(b ocispec.Descriptor) bool { return b.Digest == want.Digest })
		switch {
		case i < 0:
			return nil, nil, fmt.Errorf("the delta is based on %s, which the archive does not announce", want.Digest)
		case want.ContentSize > MaxContent(d.Bases[i].Size):
			return nil, nil, fmt.Errorf("the base %s would have %d bytes uncompressed, and at most %d are allowed", want.Digest, want.ContentSize, MaxContent(d.Bases[i].Size))
		}
	}
	recipe, err := recompress.Parse(h.Recipe)
	if err == nil {
		err = recipe.Check()
	}
	return h, recipe, err
}

const (
	// maxExpansion is how many times as large as a blob its uncompressed content may be.
	maxExpansion = 200
	// leastLimit is how large the uncompressed content of any blob may be, in bytes.
	leastLimit = 64 << 20
)

// MaxContent returns how large the uncompressed content of a blob may be that deltas are made for, or based on,
// in bytes. size is the one of the blob.
func MaxContent(size int64) int64 {
	if size > (1<<62)/maxExpansion {
		return 1 << 62
	}
	return max(leastLimit, size*maxExpansion)
}

// A job makes one blob.
type job struct {
	builder *Builder
	bases   []*base
	file    io.ReadCloser // the delta file; nil if the content exists
	slot    bool
	read    *io.PipeReader
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	once    sync.Once
	err     error // of making the blob, as far as it was read
}

// write writes the blob.
func (j *job) write(ctx context.Context, to io.Writer, content contentFunc, recipe *recompress.Recipe) error {
	blob, err := recipe.NewWriter(to)
	if err != nil {
		return err
	}
	err = content(ctx, blob)
	return explainSpace(errors.Join(err, blob.Close()), j.builder.bases.dir)
}

// decode writes the uncompressed content of the blob.
func (j *job) decode(ctx context.Context, to io.Writer) error {
	_, err := delta.Decode(ctx, to, j.file, func(i int, _ delta.BaseInfo) (io.ReaderAt, error) { return j.bases[i].file, nil }, delta.DecodeOptions{Temp: j.builder.bases.dir})
	return err
}

// Read implements io.Reader.
func (j *job) Read(p []byte) (int, error) {
	n, err := j.read.Read(p)
	if err != nil && err != io.EOF {
		j.err = err
	}
	return n, err
}

// Close ends the job.
func (j *job) Close() error {
	j.once.Do(func() {
		j.cancel(context.Canceled)
		_ = j.read.Close() // always nil; the writer ends with it
		j.running.Wait()
		j.release()
	})
	return nil
}

// takeSlot waits until fewer blobs are made than there are processors.
func (j *job) takeSlot(ctx context.Context) error {
	select {
	case j.builder.slots <- struct{}{}:
		j.slot = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (j *job) release() {
	for _, x := range j.bases {
		j.builder.bases.release(x)
	}
	j.bases = nil
	if j.file != nil {
		_ = j.file.Close() // only read from
		j.file = nil
	}
	if j.slot {
		<-j.builder.slots
		j.slot = false
	}
}

// explainSpace adds what to do if a folder for temporary files is full.
func explainSpace(err error, dir string) error {
	if errors.Is(err, syscall.ENOSPC) {
		dir = cmp.Or(dir, os.TempDir())
		return fmt.Errorf("%s has no space for the uncompressed content of what a delta is based on: %w", dir, err)
	}
	return err
}
