package deltamaker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/deltareader"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// How many bases a delta has, with each effort.
const maxBasesAuto, maxBasesMax = 2, 4

// A work is what is needed to make the delta of one blob.
type work struct {
	*maker
	change *Change
	key    string // in the cache, of the compactor's work
	// compared are the bases that are considered because they share files, and skipped reports whether one that is
	// better could not be read.
	compared    []digest.Digest
	skipped     bool
	downloading time.Duration // of the blob
	detected    time.Duration // processor time of finding recipe
	blob        *os.File      // the blob
	content     *os.File      // its uncompressed content
	size        int64         // of content
	recipe      *recompress.Recipe
	bases       []workBase
	delta       *os.File
	// requires are the compressors for parts of the content, which the delta describes unpacked.
	requires []string
}

// A workBase is a base with its uncompressed content.
type workBase struct {
	Candidate
	content *os.File
	size    int64
	release func() // ends the use of content
}

// open downloads a blob and finds out how it was compressed.
func (m *maker) open(ctx context.Context, c *Change) (_ *work, err error) {
	w := &work{maker: m, change: c}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	began := time.Now()
	if w.blob, err = m.download(ctx, c.Source, c.Blob); err != nil {
		return nil, err
	}
	w.downloading = time.Since(began)
	if w.content, w.size, err = m.uncompressed(w.blob, c.Blob.Size); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *work) close() {
	if w == nil {
		return
	}
	regular.Discard(w.blob)
	regular.Discard(w.content)
	regular.Discard(w.delta)
	for _, b := range w.bases {
		b.release()
	}
	w.bases = nil
}

// download reads a blob into a temporary file.
func (m *maker) download(ctx context.Context, source string, desc ocispec.Descriptor) (_ *os.File, err error) {
	f, err := m.temporary()
	if err != nil {
		return nil, err
	}
	opened, err := m.read(ctx, f, source, desc)
	if err != nil && opened && ctx.Err() == nil && !errors.As(err, new(*fs.PathError)) { // of the temporary file
		_, err = f.Seek(0, io.SeekStart)
		if err = errors.Join(err, f.Truncate(0)); err == nil { // bytes may change on the way
			_, err = m.read(ctx, f, source, desc)
		}
	}
	if err != nil {
		regular.Discard(f)
		return nil, unreadable(ctx, err)
	}
	return f, nil
}

// read writes a blob to a file. It reports whether the blob was opened.
func (m *maker) read(ctx context.Context, to *os.File, source string, desc ocispec.Descriptor) (opened bool, err error) {
	body, err := m.source.Blob(ctx, source, desc, 0)
	if err == nil {
		body, err = layout.Verified(ctx, body, desc, source)
	}
	if err != nil {
		return false, err
	}
	defer body.Close() // only read from
	_, err = io.Copy(to, body)
	return true, err
}

// unreadable returns the error for content that cannot be read. A full disk and the end of the context end the
// run.
func unreadable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return &wholeError{Unreadable, err}
}

// uncompressed writes the content of a blob to a temporary file.
func (m *maker) uncompressed(blob *os.File, size int64) (*os.File, int64, error) {
	content, err := recompress.Uncompress(io.NewSectionReader(blob, 0, size))
	if err != nil {
		return nil, 0, &wholeError{NotReproducible, err}
	}
	defer content.Close() // only read from
	f, err := m.temporary()
	if err != nil {
		return nil, 0, err
	}
	limit := deltareader.MaxContent(size)
	n, err := io.Copy(f, io.LimitReader(content, limit+1))
	switch {
	case errors.Is(err, syscall.ENOSPC):
		regular.Discard(f)
		return nil, 0, err
	case err == nil && n > limit:
		err = fmt.Errorf("it has more than %d bytes uncompressed", limit)
	}
	if err != nil {
		regular.Discard(f)
		return nil, 0, &wholeError{NotReproducible, err}
	}
	return f, n, nil
}

// make makes the delta and proves it.
func (w *work) make(ctx context.Context) (*entry, error) {
	members, err := delta.Index(w.content, w.size) //nolint:contextcheck // it reads a file of this machine
	if err != nil {
		return nil, err
	}
	similar := w.similar.find(w.change, fileHashes(members))
	for i := range similar {
		w.compared = append(w.compared, similar[i].Digest)
	}
	candidates := slices.Concat(w.change.Candidates, similar)
	if err := w.similar.remember(w.change.Blob.Digest, members); err != nil {
		return nil, err
	}
	if len(candidates) == 0 {
		return nil, &wholeError{NoBase, errNoBase}
	}
	if err := w.detect(ctx); err != nil {
		return nil, err
	}
	if w.Effort == delta.Auto && w.detected > w.allowed(w.change.Blob.Size) {
		return nil, &wholeError{TooCostly, fmt.Errorf("finding out how it was compressed cost %s", w.detected)}
	}
	if err := w.openBases(ctx, candidates); err != nil {
		return nil, err
	}
	stats, err := w.encode(ctx, w.budget)
	if err != nil {
		return nil, err
	}
	if err := w.worthIt(stats); err != nil {
		return nil, err
	}
	return w.prove(ctx)
}

// openBases downloads the bases. Those that cannot be read are skipped.
func (w *work) openBases(ctx context.Context, candidates []Candidate) error {
	for i := range candidates {
		if len(w.bases) == w.maxBases() {
			break
		}
		c := &candidates[i]
		blob, err := w.download(ctx, c.Source, c.Descriptor())
		if errors.As(err, new(*wholeError)) {
			w.skipped = true
			continue
		}
		if err != nil {
			return err
		}
		content, size, err := w.uncompressed(blob, c.Size)
		regular.Discard(blob)
		if errors.As(err, new(*wholeError)) {
			continue
		}
		if err != nil {
			return err
		}
		w.bases = append(w.bases, workBase{*c, content, size, func() { regular.Discard(content) }})
	}
	if len(w.bases) == 0 {
		return &wholeError{NoBase, errNoBase}
	}
	return nil
}

func (m *maker) maxBases() int {
	if m.Effort == delta.Max {
		return maxBasesMax
	}
	return maxBasesAuto
}

// detect finds the recipe of the blob.
func (w *work) detect(ctx context.Context) error {
	recipe, report, err := recompress.Detect(ctx, w.blob, w.change.Blob.Size, recompress.DetectOptions{})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &wholeError{NotReproducible, err}
	case !w.reproduced(recipe.Requires()):
		return &wholeError{NotReproducible, fmt.Errorf("the site does not reproduce %s", recipe.Requires())}
	}
	w.recipe, w.detected = recipe, report.Busy
	return nil
}

// reproduced reports whether the site reproduces a compressor.
func (m *maker) reproduced(requires string) bool {
	return m.Compressors == nil || slices.Contains(m.Compressors, requires)
}

// encode writes the delta.
func (w *work) encode(ctx context.Context, budget func(time.Duration, int64, int64) bool) (delta.Stats, error) {
	raw, err := w.recipe.MarshalBinary()
	if err != nil {
		return delta.Stats{}, err
	}
	if w.delta, err = w.temporary(); err != nil {
		return delta.Stats{}, err
	}
	var bases []delta.Base
	for _, b := range w.bases {
		bases = append(bases, delta.Base{Digest: b.Digest, Content: b.content, Size: b.size})
	}
	blob := w.change.Blob
	target := delta.Target{Digest: blob.Digest, Size: blob.Size, Content: w.content, ContentSize: w.size, Recipe: raw}
	w.encoding.Lock()
	defer w.encoding.Unlock()
	o := delta.Options{Effort: w.Effort, Version: w.version(), Budget: budget, Temp: w.Temp, Compressors: w.reproduced, Memory: &w.memory}
	stats, err := delta.Encode(ctx, w.delta, target, bases, o)
	w.requires = stats.Requires
	switch {
	case ctx.Err() != nil:
		return stats, context.Cause(ctx)
	case errors.Is(err, delta.ErrTooCostly):
		return stats, &wholeError{TooCostly, err}
	}
	return stats, err
}

// worthIt returns an error if the delta of something at the site costs too much for what it saves.
func (w *work) worthIt(stats delta.Stats) error {
	blob := w.change.Blob
	saved := blob.Size - stats.Size
	if saved <= 0 || w.Effort == delta.Auto && float64(saved) < leastSaving*float64(blob.Size) {
		return &wholeError{SavesLittle, fmt.Errorf("the delta has %d bytes, and the blob %d", stats.Size, blob.Size)}
	}
	if spent := w.detected + stats.Time; w.Effort == delta.Auto && spent > w.allowed(saved) {
		return &wholeError{TooCostly, fmt.Errorf("it cost %s and saves %d bytes", spent, saved)}
	}
	return nil
}

// minTime is how much processor time each delta may cost whatever it saves.
const minTime = 100 * time.Millisecond

// allowed returns how much processor time a delta may cost that saves so many bytes.
func (w *work) allowed(saved int64) time.Duration {
	return max(minTime, time.Duration(float64(w.Time)*float64(saved)/megabyte))
}

// budget reports whether a delta that is this far may be worth its time.
func (w *work) budget(spent time.Duration, _, size int64) bool {
	if w.Effort == delta.Max {
		return true
	}
	// The rest is expected to be like the first part, and at best as if nothing had to be carried for it.
	best := w.change.Blob.Size - size
	return w.detected+spent <= w.allowed(best)
}

// prove applies the delta, and compares the result with the content that gave the blob when detect compressed it. Without Compact, it compresses the
// result once more, and compares it with the blob.
func (w *work) prove(ctx context.Context) (*entry, error) {
	size, err := w.delta.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	own := sha256.New()
	file := io.TeeReader(io.NewSectionReader(w.delta, 0, size), own)
	err = w.decode(ctx, file)
	if err == nil {
		_, err = io.Copy(io.Discard, file)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return nil, err
	}
	if err != nil {
		w.Log.Warn("a delta does not give its blob, which is carried whole", "digest", w.change.Blob.Digest, "error", err)
		return nil, &wholeError{NotProven, err}
	}
	e := &entry{
		Blob: w.change.Blob.Digest, BlobSize: w.change.Blob.Size, Digest: digest.NewDigest(digest.SHA256, own), Requires: append(w.requires, w.recipe.Requires()), size: size, format: w.format(), Bases: w.deltaBases(),
	}
	return e, nil
}

// decode reads a delta and checks what it gives: the content, with Compact, and otherwise the blob.
func (w *work) decode(ctx context.Context, file io.Reader) error {
	base := func(i int, _ delta.BaseInfo) (io.ReaderAt, error) { return w.bases[i].content, nil }
	if w.Compact != nil {
		_, err := delta.Decode(ctx, io.Discard, file, base, delta.DecodeOptions{Temp: w.Temp})
		return err
	}
	sum := w.change.Blob.Digest.Algorithm().Digester()
	out, err := w.recipe.NewWriter(sum.Hash())
	if err != nil {
		return err
	}
	_, err = delta.Decode(ctx, out, file, base, delta.DecodeOptions{Temp: w.Temp})
	if err = errors.Join(err, out.Close()); err == nil && sum.Digest() != w.change.Blob.Digest {
		err = fmt.Errorf("the delta gives %s", sum.Digest())
	}
	return err
}

func (w *work) deltaBases() (all []archive.DeltaBase) {
	return elements.Map(w.bases, func(b workBase) archive.DeltaBase { return b.DeltaBase })
}
