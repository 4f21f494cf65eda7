package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"sort"
	"syscall"

	"github.com/opencontainers/go-digest"
)

const (
	// readBuffer is how many bytes are read at once.
	readBuffer = 1 << 20
	// readAhead is how many of them wait to be hashed.
	readAhead = 4
	// maxFailures is how many places of a volume in a row may be unreadable before
	// the rest of it is given up: a scratch is small, a medium that is gone is not.
	maxFailures = 16
)

// A reading is a pass over the files of one medium: while one piece of a file is
// hashed, the next is read.
type reading struct {
	tell func(int64)
	free chan []byte
}

func newReading(tell func(int64)) *reading {
	r := &reading{tell: tell, free: make(chan []byte, readAhead)}
	for range readAhead {
		r.free <- make([]byte, readBuffer)
	}
	return r
}

// A chunk is what was read of a file, and why no more was.
type chunk struct {
	buf  []byte
	n    int
	err  error
	next int64 // where reading goes on after err
}

// read reads a file from its beginning to its end and has it compared.
func (r *reading) read(ctx context.Context, f *file, c *comparison) {
	chunks := make(chan chunk, readAhead)
	go func() {
		defer close(chunks)
		r.fetch(ctx, f, c.volume, chunks)
	}()
	for got := range chunks {
		c.write(got.buf[:got.n])
		r.tell(int64(got.n))
		r.free <- got.buf
		if got.err != nil {
			r.tell(got.next - c.at)
			c.skip(got.next, got.err)
		}
	}
	if ctx.Err() == nil && c.at < c.volume.Size {
		r.tell(c.volume.Size - c.at)
		c.rest(fmt.Sprintf("it ends after %d of %d bytes", c.at, c.volume.Size))
	}
}

// fetch reads a file piece by piece. Behind a place that cannot be read it goes on
// with what comes next in the volume.
func (r *reading) fetch(ctx context.Context, f *file, v *volume, to chan<- chunk) {
	failures := 0
	for at := int64(0); at < v.Size && ctx.Err() == nil; {
		buf := <-r.free
		n, err := f.ReadAt(buf[:min(readBuffer, v.Size-at)], at)
		at += int64(n)
		got := chunk{buf: buf, n: n}
		switch {
		case err == nil || at == v.Size:
			failures = 0
		case errors.Is(err, io.EOF):
			to <- got
			return
		default:
			if failures++; n > 0 {
				failures = 1
			}
			if at = v.behind(at); failures == maxFailures || gone(err) {
				at = v.Size
			}
			got.err, got.next = err, at
		}
		to <- got
	}
}

// gone reports whether an error says that there is no medium any more.
func gone(err error) bool {
	return errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) || errors.Is(err, fs.ErrClosed)
}

// behind is where what lies at an offset ends: the content of an entry, or what
// stands before it.
func (v *volume) behind(at int64) int64 {
	i := sort.Search(len(v.Entries), func(i int) bool { return v.Entries[i].Offset+v.Entries[i].Size > at })
	switch {
	case i == len(v.Entries):
		return v.Size
	case at < v.Entries[i].Offset:
		return v.Entries[i].Offset
	}
	return v.Entries[i].Offset + v.Entries[i].Size
}

// A comparison compares the bytes of a file, in their order, with what the set
// manifest says of a volume: content with its digest, all else with what this
// format determines.
type comparison struct {
	volume *volume
	at     int64 // what was seen
	next   int   // the entry that comes next, or is under way
	inside bool  // its content is
	hash   hash.Hash
	frame  []byte // what stands before it, as far as it was seen
	found  []finding
}

// write takes the bytes that follow.
func (c *comparison) write(b []byte) {
	for len(b) > 0 && c.at < c.volume.Size {
		n := min(int64(len(b)), c.end()-c.at)
		if c.inside {
			c.hash.Write(b[:n]) // never returns an error
		} else {
			c.frame = append(c.frame, b[:n]...)
		}
		c.at, b = c.at+n, b[n:]
		for c.at == c.end() && c.step("") {
		}
	}
}

// end is where the content, or what stands before it, ends.
func (c *comparison) end() int64 {
	switch {
	case c.next == len(c.volume.Entries):
		return c.volume.Size
	case c.inside:
		return c.volume.Entries[c.next].Offset + c.volume.Entries[c.next].Size
	}
	return c.volume.Entries[c.next].Offset
}

// step judges what has just ended, or could not be read, and goes on to what comes
// next. It is false at the end of the volume.
func (c *comparison) step(unread string) bool {
	if !c.inside {
		if unread == "" {
			c.compareFrame()
		} else {
			c.found = append(c.found, finding{Damage: Damage{Problem: unread}})
		}
		c.frame = c.frame[:0]
		if c.next == len(c.volume.Entries) {
			return false
		}
		c.inside, c.hash = true, hashOf(c.volume.Entries[c.next].described().Digest, c.hash)
		return true
	}
	e := &c.volume.Entries[c.next]
	problem := unread
	if want := e.described().Digest; problem == "" {
		if got := digest.NewDigest(want.Algorithm(), c.hash); got != want {
			problem = "its digest is " + string(got)
		}
	}
	if problem != "" {
		c.found = append(c.found, finding{
			Damage: Damage{Entry: e.path(), Offset: e.Offset, Problem: problem}, entries: []*entry{e},
		})
	}
	c.inside = false
	c.next++
	return true
}

// skip notes that nothing could be read up to an offset, at which something else
// begins.
func (c *comparison) skip(to int64, err error) {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if to != c.end() {
		c.rest(fmt.Sprintf("unreadable from offset %d on: %v; is the medium still there?", c.at, err))
		return
	}
	problem := fmt.Sprintf("unreadable from offset %d: %v", c.at, err)
	c.at = to
	for more := c.step(problem); more && c.at == c.end(); {
		more = c.step("")
	}
}

// rest notes that nothing more of the volume can be read.
func (c *comparison) rest(problem string) {
	f := finding{Damage: Damage{Problem: problem}, volume: true}
	for i := c.next; i < len(c.volume.Entries); i++ {
		f.entries = append(f.entries, &c.volume.Entries[i])
	}
	c.found = append(c.found, f)
	c.at, c.next, c.inside = c.volume.Size, len(c.volume.Entries), false
}

// compareFrame compares what stands before an entry, or at the end of the volume,
// with what this format determines, and says what of it was altered.
func (c *comparison) compareFrame() {
	begin := c.at - int64(len(c.frame))
	look := func(at int64, have, want []byte, what string) {
		if !bytes.Equal(have, want) {
			c.found = append(c.found, finding{Damage: Damage{Problem: fmt.Sprintf("the bytes from offset %d were altered: %s", begin+at, what)}})
		}
	}
	var padding int64
	if c.next > 0 {
		e := &c.volume.Entries[c.next-1]
		padding = min(padded(e.Size)-e.Size, int64(len(c.frame)))
		look(0, c.frame[:padding], make([]byte, padding), "the padding of "+e.path())
	}
	if c.next == len(c.volume.Entries) {
		look(padding, c.frame[padding:], make([]byte, trailerSize), "the end of the volume")
		return
	}
	e := &c.volume.Entries[c.next]
	look(padding, c.frame[padding:], prelude(e.path(), e.Size), "the header of "+e.path())
}

// hashOf is a hash for a digest, used again where it fits.
func hashOf(d digest.Digest, last hash.Hash) hash.Hash {
	if d.Algorithm() == digest.SHA256 {
		if last != nil && last.Size() == sha256.Size {
			last.Reset()
			return last
		}
		return sha256.New()
	}
	return d.Algorithm().Hash()
}
