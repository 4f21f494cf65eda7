package deltareader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// How many bases that no delta uses are kept for the next one: leastKept, however large they are, and up to mostKept as
// long as they have at most keptBytes together. Deltas of one archive may be based on each other, and several chains of
// them are made at once. All are removed if the disk is full.
const (
	leastKept, mostKept = 4, 64
	keptBytes           = 1 << 30
)

// bases are the contents of base blobs, uncompressed in temporary files.
type bases struct {
	dir string

	mu   sync.Mutex
	all  map[digest.Digest]*base
	idle []*base // the one that was used last comes last
	kept int64   // bytes of idle
}

// An openFunc opens a blob as it is stored. again is true if what it opened first could not be read to its end: it
// opens another copy then, or returns an error if there is none.
type openFunc func(ctx context.Context, d digest.Digest, again bool) (io.ReadCloser, error)

// A loadFunc writes the uncompressed content of a blob, which is expected to have size bytes, to a temporary file.
type loadFunc func(ctx context.Context, d digest.Digest, size int64) (*os.File, int64, error)

// A base is the uncompressed content of a blob.
type base struct {
	digest digest.Digest
	ready  chan struct{} // closed when the fields below are set
	file   *os.File
	size   int64
	err    error
	// expected is the size that the call that loads it needs, and ended reports whether its context ended.
	expected int64
	ended    bool
	users    int // guarded by bases.mu
}

// get returns the content of a base, which has size bytes uncompressed. release has to be called with it. If another
// call that loads the base ends because of its own context, or of the size that it expects, get loads it again.
func (b *bases) get(ctx context.Context, d digest.Digest, size int64, load loadFunc) (*base, error) {
	found, known := b.find(d)
	return b.finish(ctx, found, known, size, load)
}

// finish loads what find returned, or waits for the call that does.
func (b *bases) finish(ctx context.Context, found *base, known bool, size int64, load loadFunc) (*base, error) {
	for {
		if !known {
			found.file, found.size, found.err = load(ctx, found.digest, size)
			if errors.Is(found.err, syscall.ENOSPC) && !errors.As(found.err, new(*BaseError)) && ctx.Err() == nil && b.removeIdle() {
				found.file, found.size, found.err = load(ctx, found.digest, size)
			}
			found.expected, found.ended = size, ctx.Err() != nil
			close(found.ready)
		}
		select {
		case <-found.ready:
		case <-ctx.Done():
			b.release(found)
			return nil, context.Cause(ctx)
		}
		err := found.err
		if err == nil && found.size != size {
			err = unfitError(fmt.Sprintf("it has %d bytes uncompressed, and the delta needs one with %d", found.size, size))
		}
		if err == nil {
			return found, nil
		}
		again := known && found.err != nil && (found.ended || found.expected != size)
		b.release(found)
		if !again || ctx.Err() != nil {
			return nil, err
		}
		found, known = b.find(found.digest)
	}
}

// find returns a base that is loaded already, or by another call. known is false for a new one, which the caller
// loads.
func (b *bases) find(d digest.Digest) (found *base, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[digest.Digest]*base{}
	}
	found, known = b.all[d]
	if !known {
		found = &base{digest: d, ready: make(chan struct{})}
		b.all[d] = found
	}
	if i := slices.Index(b.idle, found); i >= 0 {
		b.idle = slices.Delete(b.idle, i, i+1)
		b.kept -= found.size
	}
	found.users++
	return found, known
}

// release ends the use of a base.
func (b *bases) release(x *base) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x.users--
	select {
	case <-x.ready:
	default:
		return // another call loads it
	}
	if x.err != nil {
		if b.all[x.digest] == x {
			delete(b.all, x.digest) // another attempt may succeed
		}
		return
	}
	if x.users > 0 {
		return
	}
	b.idle = append(b.idle, x)
	b.kept += x.size
	for len(b.idle) > mostKept || len(b.idle) > leastKept && b.kept > keptBytes {
		b.removeOldest()
	}
}

// removeOldest removes the base that was used before all others that no delta uses. b.mu is locked.
func (b *bases) removeOldest() {
	x := b.idle[0]
	b.idle = b.idle[1:]
	b.kept -= x.size
	delete(b.all, x.digest)
	regular.Discard(x.file)
}

// removeIdle removes all files that no delta uses. It reports whether there were any.
func (b *bases) removeIdle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	removed := len(b.idle) > 0
	for len(b.idle) > 0 {
		b.removeOldest()
	}
	return removed
}

// load writes the uncompressed content of a blob to a temporary file. It ends after size bytes.
func (b *bases) load(ctx context.Context, d digest.Digest, size int64, open openFunc) (*os.File, int64, error) {
	body, err := open(ctx, d, false)
	if err != nil {
		return nil, 0, err
	}
	f, n, err := b.store(body, size)
	if err == nil {
		return f, n, nil
	}
	return b.again(ctx, d, size, open, err)
}

// again loads another copy of a blob that could not be loaded, if there is one.
func (b *bases) again(ctx context.Context, d digest.Digest, size int64, open openFunc, err error) (*os.File, int64, error) {
	if ctx.Err() != nil || errors.Is(err, syscall.ENOSPC) {
		return nil, 0, err
	}
	if body, other := open(ctx, d, true); other == nil {
		return b.store(body, size)
	}
	return nil, 0, err
}

// store writes the uncompressed content of a blob to a temporary file, and closes the blob.
func (b *bases) store(body io.ReadCloser, size int64) (*os.File, int64, error) {
	defer body.Close()
	f, err := regular.Temporary(b.dir, "gantry-base-*")
	if err != nil {
		return nil, 0, explainSpace(err, b.dir)
	}
	n, err := uncompress(f, body, size)
	if err != nil {
		regular.Discard(f)
		return nil, 0, explainSpace(err, b.dir)
	}
	return f, n, nil
}

// An unfitError says what a delta expects of a base that it is not.
type unfitError string

func (e unfitError) Error() string { return string(e) }

// uncompress writes the content of a blob, which must not have more than limit bytes, and reads the blob to its
// end, so that its digest is compared.
func uncompress(to io.Writer, blob io.Reader, limit int64) (n int64, err error) {
	content, err := recompress.Uncompress(blob)
	if err == nil {
		n, err = io.Copy(to, io.LimitReader(content, limit+1))
		err = errors.Join(err, content.Close())
	}
	if errors.As(err, new(*fs.PathError)) {
		return n, err // of the temporary file
	}
	if _, readErr := io.Copy(io.Discard, blob); readErr != nil {
		return n, errors.Join(err, readErr)
	}
	if err != nil {
		return n, unfitError(err.Error())
	}
	if n > limit {
		return n, unfitError(fmt.Sprintf("it has more than %d bytes uncompressed", limit))
	}
	return n, nil
}
