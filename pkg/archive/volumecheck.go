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
	// readAhead is how many buffers wait to be hashed.
	readAhead = 4
	// maxFailures is how many positions of a volume in a row may be unreadable before the rest is
	// skipped: a scratch is small, a removed disk is not.
	maxFailures = 16
)

// A fileReader reads the files of one device: while one chunk of a file is hashed, the next is
// read.
type fileReader struct {
	progress func(int64)
	free     chan []byte
}

func newFileReader(report func(int64)) *fileReader {
	r := &fileReader{progress: report, free: make(chan []byte, readAhead)}
	for range readAhead {
		r.free <- make([]byte, readBuffer)
	}
	return r
}

// A chunk is a piece of a file that was read, and the error that ended reading.
type chunk struct {
	buf  []byte
	n    int
	err  error
	next int64 // where reading continues after err
}

// read reads a file from beginning to end and passes it to c.
func (r *fileReader) read(ctx context.Context, f *file, c *volumeChecker) {
	chunks := make(chan chunk, readAhead)
	go func() {
		defer close(chunks)
		r.fetch(ctx, f, c.volume, chunks)
	}()
	for got := range chunks {
		c.write(got.buf[:got.n])
		r.progress(int64(got.n))
		r.free <- got.buf
		if got.err != nil {
			r.progress(got.next - c.offset)
			c.skip(got.next, got.err)
		}
	}
	if ctx.Err() == nil && c.offset < c.volume.Size {
		r.progress(c.volume.Size - c.offset)
		c.failRest(fmt.Sprintf("it ends after %d of %d bytes", c.offset, c.volume.Size))
	}
}

// fetch reads a file chunk by chunk. After an unreadable position it continues at the next boundary
// in the volume.
func (r *fileReader) fetch(ctx context.Context, f *file, v *volume, to chan<- chunk) {
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
			if at = v.nextBoundary(at); failures == maxFailures || deviceGone(err) {
				at = v.Size
			}
			got.err, got.next = err, at
		}
		to <- got
	}
}

// deviceGone reports whether an error tells that the device was removed.
func deviceGone(err error) bool {
	return errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) || errors.Is(err, fs.ErrClosed)
}

// nextBoundary returns where the part of the volume at an offset ends: the content of an entry, or
// what precedes it.
func (v *volume) nextBoundary(at int64) int64 {
	i := sort.Search(len(v.Entries), func(i int) bool { return v.Entries[i].Offset+v.Entries[i].Size > at })
	switch {
	case i == len(v.Entries):
		return v.Size
	case at < v.Entries[i].Offset:
		return v.Entries[i].Offset
	}
	return v.Entries[i].Offset + v.Entries[i].Size
}

// A volumeChecker compares the bytes of a file, in their order, with the volume in the set
// manifest: content with its digest, everything else with what the format prescribes.
type volumeChecker struct {
	volume   *volume
	offset   int64 // number of bytes checked
	next     int   // the next entry, or the current one
	inside   bool  // its content is
	hash     hash.Hash
	frame    []byte // the bytes before it, as far as they were read
	findings []finding
}

// write checks the next bytes.
func (c *volumeChecker) write(b []byte) {
	for len(b) > 0 && c.offset < c.volume.Size {
		n := min(int64(len(b)), c.end()-c.offset)
		if c.inside {
			c.hash.Write(b[:n]) // never returns an error
		} else {
			c.frame = append(c.frame, b[:n]...)
		}
		c.offset, b = c.offset+n, b[n:]
		for c.offset == c.end() && c.finishPart("") {
		}
	}
}

// end returns where the content, or what precedes it, ends.
func (c *volumeChecker) end() int64 {
	switch {
	case c.next == len(c.volume.Entries):
		return c.volume.Size
	case c.inside:
		return c.volume.Entries[c.next].Offset + c.volume.Entries[c.next].Size
	}
	return c.volume.Entries[c.next].Offset
}

// finishPart checks what has just ended, or could not be read, and continues with the next part. It
// returns false at the end of the volume.
func (c *volumeChecker) finishPart(unread string) bool {
	if !c.inside {
		if unread == "" {
			c.compareFrame()
		} else {
			c.findings = append(c.findings, finding{Damage: Damage{Problem: unread}})
		}
		c.frame = c.frame[:0]
		if c.next == len(c.volume.Entries) {
			return false
		}
		c.inside, c.hash = true, hashOf(c.volume.Entries[c.next].storedDescriptor().Digest, c.hash)
		return true
	}
	e := &c.volume.Entries[c.next]
	problem := unread
	if want := e.storedDescriptor().Digest; problem == "" {
		if got := digest.NewDigest(want.Algorithm(), c.hash); got != want {
			problem = "its digest is " + string(got)
		}
	}
	if problem != "" {
		c.findings = append(c.findings, finding{
			Damage: Damage{Entry: e.path(), Offset: e.Offset, Problem: problem}, entries: []*entry{e},
		})
	}
	c.inside = false
	c.next++
	return true
}

// skip records that nothing could be read up to an offset at which another part begins.
func (c *volumeChecker) skip(to int64, err error) {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if to != c.end() {
		c.failRest(fmt.Sprintf("unreadable from offset %d on: %v; is the disk still connected?", c.offset, err))
		return
	}
	problem := fmt.Sprintf("unreadable from offset %d: %v", c.offset, err)
	c.offset = to
	for more := c.finishPart(problem); more && c.offset == c.end(); {
		more = c.finishPart("")
	}
}

// failRest records that nothing more of the volume can be read.
func (c *volumeChecker) failRest(problem string) {
	f := finding{Damage: Damage{Problem: problem}, volume: true}
	for i := c.next; i < len(c.volume.Entries); i++ {
		f.entries = append(f.entries, &c.volume.Entries[i])
	}
	c.findings = append(c.findings, f)
	c.offset, c.next, c.inside = c.volume.Size, len(c.volume.Entries), false
}

// compareFrame compares what precedes an entry, or the end of the volume, with what the format
// prescribes, and reports what was altered.
func (c *volumeChecker) compareFrame() {
	begin := c.offset - int64(len(c.frame))
	look := func(at int64, have, want []byte, what string) {
		if !bytes.Equal(have, want) {
			c.findings = append(c.findings, finding{Damage: Damage{Problem: fmt.Sprintf("the bytes from offset %d were altered: %s", begin+at, what)}})
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
	look(padding, c.frame[padding:], tarHeader(e.path(), e.Size), "the header of "+e.path())
}

// hashOf returns a hash for a digest. It reuses the last one if it fits.
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
