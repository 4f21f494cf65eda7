// Package deltamaker makes the deltas of an archive.
//
// A Chooser finds, for each blob that an archive would carry, which blobs of the site it may resemble: the layer at
// the same place of the previous version of the same image, then its other layers, then those of other
// versions, and layers that share files with it. Make downloads the blob and these candidates, finds out how the
// blob was compressed, writes the delta, applies it, and compares the result with the blob. A delta that does not
// give the blob byte for byte, that saves too little, or that costs too much is not used, and the archive carries
// the blob itself. Deltas are kept in a cache for other sites with the same bases.
//
// Content is in temporary files while it is worked on, so memory does not depend on its size.
package deltamaker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/image"
)

const (
	// DefaultTime is how much processor time a delta may cost for each MB that it saves.
	DefaultTime = time.Second
	// leastSaving is how much a delta has to save of a blob, with Auto.
	leastSaving = 0.2
	megabyte    = 1e6
)

// Options are the options of Make.
type Options struct {
	// Effort is delta.Auto or delta.Max. With Max, a delta is used if it is smaller than its blob.
	Effort delta.Effort
	// Time is how much processor time a delta may cost for each MB that it saves. 0 is DefaultTime. It
	// does not limit Max.
	Time time.Duration
	// Compact also compares blobs with others of the same archive, and compresses better what resembles none. Nil only makes
	// deltas of what the site has.
	Compact *Compact
	// Compressors are those that the site reproduces, from its receipt. Nil are those of this program.
	Compressors []string
	// Lookup returns a blob of the site by its digest: layers that share files with a new one are found among
	// them. Nil finds none.
	Lookup func(digest.Digest) (Candidate, bool)
	// Cache is the folder for deltas that were made. Temp is the folder for temporary files, "" the one of
	// the system.
	Cache, Temp string
	// Progress, if not nil, is called with the number of bytes of new blobs that were dealt with, and how many deltas save of them.
	Progress func(n, saved int64)
	Log      *slog.Logger
}

// A Reason is why a blob is carried whole.
type Reason string

// The reasons.
const (
	NoBase          Reason = "no base"            // nothing at the site can be read that it may be based on
	OutOfTime       Reason = "out of time"        // comparing more would take longer than writing what it saves
	NotReproducible Reason = "compression"        // its compression cannot be reproduced, here or at the site
	SavesLittle     Reason = "saves little"       // the delta is not much smaller than the blob
	TooCostly       Reason = "processor time"     // the delta would cost more time than it may
	NotProven       Reason = "not proven"         // the delta does not give the blob
	Unreadable      Reason = "source unavailable" // the blob cannot be read; the run will report it
)

// A Result are the deltas that were made.
type Result struct {
	Deltas []archive.CarriedDelta
	// Whole are the blobs that are carried whole, by reason.
	Whole map[Reason]Amount
	// Rebuilt are the blobs that the deltas stand for, and Carried is the size of the deltas.
	Rebuilt Amount
	Carried int64
	// Cached is how many deltas were in the cache.
	Cached int
	// Requires are the compressors that the site has to reproduce, sorted.
	Requires []string

	kept map[digest.Digest]*os.File // blobs that were downloaded and are carried whole
}

// An Amount is a number of blobs and their size.
type Amount struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
}

func (a *Amount) add(size int64) {
	a.Blobs++
	a.Bytes += size
}

// Make makes the deltas of changed blobs, as far as they are worth it. Blobs without a delta are counted in
// Result.Whole. An error ends it: the end of the context, or a disk that is full. What was made is in the cache
// then.
func Make(ctx context.Context, changes []Change, source image.Reader, o Options) (*Result, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Time = cmp.Or(o.Time, DefaultTime)
	if err := durable.MkdirAll(o.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("keeping deltas: %w", err)
	}
	m := &maker{Options: o, source: source, result: &Result{Whole: map[Reason]Amount{}, kept: map[digest.Digest]*os.File{}}, similar: similarLayers{dir: o.Cache, lookup: o.Lookup}, free: space.Free}
	all := m.each
	if o.Compact != nil {
		all = m.compact
	}
	if err := all(ctx, changes); err != nil {
		m.result.Close()
		return nil, err
	}
	slices.Sort(m.result.Requires)
	m.result.Requires = slices.Compact(m.result.Requires)
	return m.result, nil
}

// each makes the deltas in any order.
func (m *maker) each(ctx context.Context, changes []Change) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(2, runtime.GOMAXPROCS(0))) // one is encoded, while others are downloaded and compressed
	for i := range changes {
		g.Go(func() error {
			made, err := m.delta(ctx, &changes[i])
			return m.add(ctx, &changes[i], made, err)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	elements.Sort(m.result.Deltas, func(a, b archive.CarriedDelta) int { return cmp.Compare(a.Digest, b.Digest) })
	return nil
}

// A maker makes deltas.
type maker struct {
	Options
	source   image.Reader
	encoding sync.Mutex   // held by the goroutine that encodes, which uses all processors
	memory   delta.Memory // guarded by encoding
	similar  similarLayers

	sample  sync.Once
	sampled string // what encodes returns

	// supported replaces recompress.Supported; nil does not.
	supported []string
	// free returns the free space in a folder.
	free func(dir string) (int64, error)

	mu        sync.Mutex // guards the fields below
	result    *Result
	keptBytes int64 // size of the blobs in result.kept
}

// add adds the delta of a blob to the result, or why there is none.
func (m *maker) add(ctx context.Context, c *Change, made *entry, err error) error {
	if err == nil || ctx.Err() == nil {
		m.progress(c, made)
	}
	return m.record(c, made, err)
}

func (m *maker) record(c *Change, made *entry, err error) error {
	var whole *wholeError
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case errors.As(err, &whole):
		amount := m.result.Whole[whole.reason]
		amount.add(c.Blob.Size)
		m.result.Whole[whole.reason] = amount
		m.Log.Debug("a blob is carried whole", "digest", c.Blob.Digest, "reason", whole.reason, "error", whole.cause)
		return nil
	case space.IsFull(err):
		return advice.Wrap(advice.NoSpace, fmt.Errorf("%s has no space for the uncompressed content of layers, from which deltas are made: %w", cmp.Or(m.Temp, os.TempDir()), err),
			"free some space, or set Options.Delta and Options.Compact off")
	case err != nil:
		return fmt.Errorf("making the delta of %s: %w", c.Blob.Digest, err)
	}
	m.result.Deltas = append(m.result.Deltas, made.carried())
	m.result.Rebuilt.add(c.Blob.Size)
	m.result.Carried += made.size
	if made.cached {
		m.result.Cached++
	}
	m.result.Requires = append(m.result.Requires, made.Requires...)
	return nil
}

// progress reports that a blob was dealt with. made is nil if it is carried whole.
func (m *maker) progress(c *Change, made *entry) {
	if m.Progress == nil {
		return
	}
	saved := int64(0)
	if made != nil {
		saved = c.Blob.Size - made.size
	}
	m.Progress(c.Blob.Size, saved)
}

// A wholeError tells why a blob is carried whole.
type wholeError struct {
	reason Reason
	cause  error
}

func (e *wholeError) Error() string { return fmt.Sprintf("%s: %v", e.reason, e.cause) }
func (e *wholeError) Unwrap() error { return e.cause }

// delta returns the delta of a blob, from the cache or a new one. A *wholeError tells why there is none.
func (m *maker) delta(ctx context.Context, c *Change) (*entry, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // what is in the cache is found without it
	}
	if len(c.Candidates) == 0 && !m.similar.any() {
		return nil, &wholeError{NoBase, errNoBase}
	}
	key := m.key(c) //nolint:contextcheck // the sample of the codec is small, and made once for all blobs
	if found, err := m.cached(key, c); found != nil || err != nil {
		return found, err
	}
	w, err := m.open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer w.close()
	made, err := w.make(ctx)
	var whole *wholeError
	switch {
	case err == nil:
		return made, m.keep(key, made, w)
	case !errors.As(err, &whole):
		return nil, err
	}
	m.keepBlob(w)
	if whole.reason == Unreadable || whole.reason == NoBase || w.skipped { // the next run may find more
		return nil, err
	}
	return nil, errors.Join(err, m.keepReason(key, whole.reason, w.compared))
}

// carried returns the delta as an archive carries it.
func (e *entry) carried() archive.CarriedDelta {
	file := e.file
	return archive.CarriedDelta{
		Delta: archive.Delta{Digest: e.Blob, Size: e.BlobSize, File: e.Digest, Format: e.format, Bases: e.Bases}, FileSize: e.size,
		Open: func(context.Context) (io.ReadCloser, error) {
			f, _, err := regular.OpenPath(file)
			return f, err
		},
	}
}

// temporary creates a temporary file, for regular.Discard.
func (m *maker) temporary() (*os.File, error) { return regular.Temporary(m.Temp, "gantry-delta-*") }

// path returns the path of a file in the cache.
func (m *maker) path(name string) string { return filepath.Join(m.Cache, name) }
