package deltamaker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// Compact is how blobs of the same archive are compared.
type Compact struct {
	// DiskSpeed is how fast the archive can be written, in bytes per second. With delta.Auto, comparing ends when it took longer than
	// writing what it saved would take; see MostTime. 0 is DefaultDiskSpeed.
	DiskSpeed int64
	// Dependents is how many blobs may need the same one, directly or not: so many are lost with it. 0 is DefaultDependents.
	Dependents int
}

const (
	// DefaultDiskSpeed is about the speed of a USB stick, in bytes per second.
	DefaultDiskSpeed = 30e6
	// DefaultDependents is how many blobs may need the same one.
	DefaultDependents = 64

	// maxDepth is how many deltas of one archive may be based on each other, as package archive accepts it.
	maxDepth = 8
	// leastPacked is how much carrying a blob compactly has to save of it.
	leastPacked = 0.05
	// leastCovered is how much of a blob another one has to cover to be its base.
	leastCovered = 0.03
	// freeTime is how long comparing may take whatever it saves, or as long as writing the largest blob takes: the first blob
	// saves little, and only shows afterwards how much others save that are based on it.
	freeTime = 10 * time.Second
)

// MostTime returns how long comparing may take at most, with delta.Auto, if it saves so many bytes and the largest blob is this large.
func (c *Compact) MostTime(largest, saved int64) time.Duration {
	writing := func(size int64) time.Duration {
		return time.Duration(float64(size) / float64(c.diskSpeed()) * float64(time.Second))
	}
	return max(freeTime, writing(largest)) + writing(saved)
}

func (c *Compact) diskSpeed() int64 {
	if c.DiskSpeed > 0 {
		return c.DiskSpeed
	}
	return DefaultDiskSpeed
}

func (c *Compact) dependents() int {
	if c.Dependents > 0 {
		return c.Dependents
	}
	return DefaultDependents
}

// A compactor deals with blobs in their order, so that each can be based on those before it, and the same blobs give the same deltas. One goroutine reads
// the next blob and finds out how it was compressed, another one encodes, and a third one proves.
type compactor struct {
	*maker
	earlier  []*member
	contents contents
	largest  int64 // the size of the largest blob

	mu    sync.Mutex    // guards the fields below
	busy  time.Duration // of encoding, with reading bases again; waiting for the next blob does not count
	ahead time.Duration // of examining the next blob; downloading does not count, because it is needed in any case
	saved int64
}

// A prepared blob is one that was read, or that an earlier run knew.
type prepared struct {
	change *Change
	sketch *sketch
	work   *work // nil if it was not read
	// similar are blobs of the site that share files with it, if it was read.
	similar []Candidate
	err     error
}

// An outcome is the delta of a blob, or why there is none.
type outcome struct {
	made *entry
	err  error
}

// compact makes the deltas in the order of the blobs.
func (m *maker) compact(ctx context.Context, changes []Change) error {
	c := &compactor{maker: m, contents: contents{all: map[digest.Digest]*kept{}, room: m.room}}
	defer c.contents.close()
	for i := range changes {
		c.largest = max(c.largest, changes[i].Blob.Size)
	}
	outcomes := make([]outcome, len(changes))
	ahead := make(chan *prepared)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(3) // one reads, one encodes, one proves
	g.Go(func() error {
		defer close(ahead)
		for i := range changes {
			p := c.prepare(ctx, &changes[i])
			select {
			case ahead <- p:
			case <-ctx.Done():
				p.work.close()
				return context.Cause(ctx)
			}
		}
		return nil
	})
	g.Go(func() error {
		for i := range changes {
			p, ok := <-ahead
			if !ok {
				return nil // it ended with an error
			}
			made, w, err := c.next(ctx, p)
			if w == nil {
				outcomes[i] = outcome{made, err}
				if err := c.ended(ctx, p.change, made, err); err != nil {
					return err
				}
				continue
			}
			g.Go(func() error {
				defer w.close()
				made, err := w.prove(ctx)
				if err == nil {
					err = m.keep(w.key, made, w)
				}
				outcomes[i] = outcome{made, err}
				return c.ended(ctx, p.change, made, err)
			})
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range changes {
		if err := m.record(&changes[i], outcomes[i].made, outcomes[i].err); err != nil {
			return err
		}
	}
	return nil
}

// ended reports progress. An error that is not about a single blob ends all.
func (c *compactor) ended(ctx context.Context, change *Change, made *entry, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !errors.As(err, new(*wholeError)) {
		return c.record(change, nil, err)
	}
	c.progress(change, made)
	return nil
}

// late reports whether comparing took longer than it may.
func (c *compactor) late() bool { return c.lateWith(0, 0) }

// lateWith is late during the work on a blob, with its time, and what it saved so far.
func (c *compactor) lateWith(running time.Duration, saved int64) bool {
	if c.Effort == delta.Max {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.busy+running, c.ahead) > c.Compact.MostTime(c.largest, c.saved+saved)
}

var errLate = &wholeError{OutOfTime, errors.New("comparing took longer than writing what it saved would")}

// prepare reads a blob, unless an earlier run knew it.
func (c *compactor) prepare(ctx context.Context, change *Change) *prepared {
	p := &prepared{change: change}
	if c.late() {
		p.err = errLate
	} else if p.sketch = c.sketchOf(change.Blob.Digest); p.sketch == nil {
		p.err = c.read(ctx, p)
	}
	return p
}

// read downloads a blob and examines its content. If its compression cannot be reproduced, others can still be based on it.
func (c *compactor) read(ctx context.Context, p *prepared) (err error) {
	blob, began := p.change.Blob.Digest, time.Now()
	if p.work, err = c.open(ctx, p.change); err != nil {
		return err
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ahead += time.Since(began) - p.work.downloading
	}()
	members, err := delta.Index(p.work.content, p.work.size) //nolint:contextcheck // it reads a file of this machine
	if err != nil {
		return err
	}
	files := fileHashes(members)
	p.similar = c.similar.find(p.change, files)
	if err := c.similar.remember(blob, members); err != nil {
		return err
	}
	if p.sketch == nil {
		if p.sketch, err = newSketch(ctx, p.work.content, p.work.size); err != nil {
			return err
		}
		if err := c.keepSketch(blob, p.sketch); err != nil {
			return err
		}
	}
	return p.work.detect(ctx)
}

// next encodes a blob. It returns what is known of an earlier run, or the work that is to be proven.
func (c *compactor) next(ctx context.Context, p *prepared) (*entry, *work, error) {
	began := time.Now()
	made, w, err := c.encodeNext(ctx, p)
	c.mu.Lock()
	c.busy += time.Since(began)
	c.mu.Unlock()
	if w == nil {
		c.finish(p, err)
	}
	return made, w, err
}

// finish ends the use of a blob that is carried whole, or whose delta was in the cache.
func (c *compactor) finish(p *prepared, err error) {
	if p.work == nil {
		return
	}
	if errors.As(err, new(*wholeError)) {
		c.keepBlob(p.work)
	}
	p.work.close()
}

// encodeNext is next without the time.
func (c *compactor) encodeNext(ctx context.Context, p *prepared) (*entry, *work, error) {
	if p.sketch == nil {
		return nil, nil, p.err
	}
	bases := c.choose(p)
	change := *p.change
	change.Candidates = append(candidates(bases), change.Candidates...)
	key := c.key(&change) //nolint:contextcheck // the sample of the codec is small, and made once for all blobs
	if made, err := c.cached(key, &change); made != nil || err != nil {
		c.join(p, bases, made)
		return made, nil, err
	}
	if p.work == nil && p.err == nil {
		if c.late() {
			p.err = errLate
		} else {
			p.err = c.read(ctx, p)
		}
	}
	if p.err == nil {
		p.work.key, p.work.change = key, &change
		p.err = c.encode(ctx, p, bases)
	}
	if p.err != nil {
		var whole *wholeError
		if !errors.As(p.err, &whole) {
			return nil, nil, p.err
		}
		c.join(p, nil, nil)
		if whole.reason == SavesLittle || whole.reason == NotReproducible {
			return nil, nil, errors.Join(p.err, c.keepReason(key, whole.reason, p.compared()))
		}
		return nil, nil, p.err
	}
	return nil, p.work, nil
}

func (p *prepared) compared() []digest.Digest {
	var all []digest.Digest
	for i := range p.similar {
		all = append(all, p.similar[i].Digest)
	}
	return all
}

// encode encodes a blob that was read.
func (c *compactor) encode(ctx context.Context, p *prepared, bases []*member) error {
	w, began := p.work, time.Now()
	if err := c.openAll(ctx, p, bases); err != nil {
		return err
	}
	stats, err := w.encode(ctx, func(_ time.Duration, done, size int64) bool {
		saved := int64(float64(w.change.Blob.Size)*float64(done)/float64(max(1, w.size))) - size
		return !c.lateWith(time.Since(began), max(0, saved))
	})
	if whole := new(wholeError); errors.As(err, &whole) && whole.reason == TooCostly {
		return errLate
	}
	if err != nil {
		return err
	}
	saved := w.change.Blob.Size - stats.Size
	if float64(saved) < leastPacked*float64(w.change.Blob.Size) {
		return &wholeError{SavesLittle, fmt.Errorf("it would have %d bytes, and the blob has %d", stats.Size, w.change.Blob.Size)}
	}
	c.mu.Lock()
	c.saved += saved
	c.mu.Unlock()
	c.join(p, bases, &entry{Bases: w.deltaBases()})
	return nil
}

// openAll opens the contents of the bases: blobs of the same archive, and blobs of the site if the first does not cover most of it.
func (c *compactor) openAll(ctx context.Context, p *prepared, bases []*member) error {
	w, all := p.work, candidates(bases)
	if len(bases) == 0 || p.sketch.covered(bases[0].sketch) < mostlyCovered {
		all = append(all, p.change.Candidates...)
		all = append(all, p.similar...)
	}
	for i := range all {
		if len(w.bases) == c.maxBases() {
			break
		}
		k, err := c.content(ctx, &all[i])
		if errors.As(err, new(*wholeError)) {
			continue
		}
		if err != nil {
			return err
		}
		w.bases = append(w.bases, workBase{all[i], k.file, k.size, func() { c.contents.release(all[i].Digest, k) }})
	}
	return nil
}

// content returns the uncompressed content of a blob, which is read again if it was not kept.
func (c *compactor) content(ctx context.Context, from *Candidate) (*kept, error) {
	if k := c.contents.take(from.Digest); k != nil {
		return k, nil
	}
	blob, err := c.download(ctx, from.Source, from.Descriptor())
	if err != nil {
		return nil, err
	}
	defer regular.Discard(blob)
	content, size, err := c.uncompressed(blob, from.Size)
	if err != nil {
		return nil, err
	}
	return c.contents.add(from.Digest, content, size), nil
}

// room returns how many bytes of contents may be kept: a ninth of the space, as for blobs.
func (m *maker) room(kept int64) int64 {
	free, err := m.free(cmp.Or(m.Temp, os.TempDir()))
	if err != nil {
		return 0
	}
	return min((free+kept)/9, mostKept)
}

// mostKept is how many bytes of uncompressed contents are kept.
const mostKept = 8 << 30
