package deltamaker

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

const (
	sketchSize   = 1024 // hashes of a sketch
	sketchWindow = 24   // bytes that a hash is of
	sketchSuffix = ".sketch"
	// maxSketches is how many of the latest blobs a new one is compared with.
	maxSketches = 4096
)

// A sketch is a sample of uncompressed content: the lowest hashes of 24 bytes, among those at places that depend only on the bytes there. Contents that have
// bytes in common have hashes in common.
type sketch struct {
	hashes []uint64 // sorted
	whole  bool     // all places were hashed, not only those with the lowest hashes
}

// newSketch reads content.
func newSketch(ctx context.Context, content io.ReaderAt, size int64) (*sketch, error) {
	s := &sketch{whole: true}
	limit := ^uint64(0)
	buf := make([]byte, 256<<10)
	for at := int64(0); at < size; at += int64(len(buf)) - sketchWindow + 1 {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		b := buf[:min(int64(len(buf)), size-at)]
		if n, err := content.ReadAt(b, at); n < len(b) {
			return nil, fmt.Errorf("reading content at %d: %w", at, err)
		}
		for i := 0; i+sketchWindow <= len(b); i++ {
			const prime, prime2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
			x := binary.LittleEndian.Uint64(b[i:])
			if x*prime>>58 != 0 || x == 0 {
				continue
			}
			h := (x ^ binary.LittleEndian.Uint64(b[i+8:])*prime ^ binary.LittleEndian.Uint64(b[i+16:])*prime2) * prime
			if h ^= h >> 29; h < limit {
				s.hashes = append(s.hashes, h)
			}
		}
		if len(s.hashes) > 8*sketchSize {
			limit = s.reduce()
		}
	}
	s.reduce()
	return s, nil
}

// reduce keeps the lowest hashes, and returns the limit for more.
func (s *sketch) reduce() uint64 {
	slices.Sort(s.hashes)
	s.hashes = slices.Compact(s.hashes)
	if len(s.hashes) <= sketchSize {
		return ^uint64(0)
	}
	s.whole = false
	s.hashes = slices.Clone(s.hashes[:sketchSize])
	return s.hashes[sketchSize-1]
}

// highest returns the hash up to which all are known.
func (s *sketch) highest() uint64 {
	if s.whole || len(s.hashes) == 0 {
		return ^uint64(0)
	}
	return s.hashes[len(s.hashes)-1]
}

// covered estimates which part of the content another one has, too.
func (s *sketch) covered(by *sketch) float64 {
	limit := by.highest()
	known, common, i := 0, 0, 0
	for _, h := range s.hashes {
		if h > limit {
			break
		}
		known++
		for i < len(by.hashes) && by.hashes[i] < h {
			i++
		}
		if i < len(by.hashes) && by.hashes[i] == h {
			common++
		}
	}
	if known == 0 {
		return 0
	}
	return float64(common) / float64(known)
}

// without returns the sketch of what another content does not have.
func (s *sketch) without(other *sketch) *sketch {
	rest := &sketch{whole: s.whole}
	for _, h := range s.hashes {
		if _, ok := slices.BinarySearch(other.hashes, h); !ok {
			rest.hashes = append(rest.hashes, h)
		}
	}
	return rest
}

// sketchOf returns the sketch of a blob that an earlier run made, or nil.
func (m *maker) sketchOf(d digest.Digest) *sketch {
	raw, _, err := regular.ReadPath(m.sketchPath(d), 8*(sketchSize+1))
	if err != nil || len(raw) < 8 || len(raw)%8 != 0 {
		return nil
	}
	s := &sketch{whole: binary.LittleEndian.Uint64(raw) == 1}
	for raw = raw[8:]; len(raw) > 0; raw = raw[8:] {
		s.hashes = append(s.hashes, binary.LittleEndian.Uint64(raw))
	}
	if !slices.IsSorted(s.hashes) {
		return nil
	}
	return s
}

// keepSketch keeps a sketch for later runs.
func (m *maker) keepSketch(d digest.Digest, s *sketch) error {
	whole := uint64(0)
	if s.whole {
		whole = 1
	}
	raw := binary.LittleEndian.AppendUint64(nil, whole)
	for _, h := range s.hashes {
		raw = binary.LittleEndian.AppendUint64(raw, h)
	}
	if err := durable.WriteFile(m.sketchPath(d), raw); err != nil {
		return fmt.Errorf("keeping the sketch of a layer: %w", err)
	}
	return nil
}

func (m *maker) sketchPath(d digest.Digest) string {
	return m.path(strings.Replace(string(d), ":", "-", 1) + sketchSuffix)
}

// contents keeps uncompressed contents of blobs that were read, as long as there is space.
type contents struct {
	room func(kept int64) int64 // how many bytes may be kept

	mu   sync.Mutex
	all  map[digest.Digest]*kept
	size int64
	last int
}

type kept struct {
	file  *os.File
	size  int64
	used  int // when, counted by contents.last
	users int
}

// take returns the content of a blob, or nil. It stays until it is released.
func (c *contents) take(d digest.Digest) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.all[d]
	if k != nil {
		c.last++
		k.used = c.last
		k.users++
	}
	return k
}

// add keeps a content, which is in use until it is released.
func (c *contents) add(d digest.Digest, f *os.File, size int64) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	k := &kept{f, size, c.last, 1}
	if c.all[d] == nil {
		c.all[d] = k
		c.size += size
	}
	return k
}

// release ends the use of a content, and removes the oldest ones if they need too much space.
func (c *contents) release(d digest.Digest, k *kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.users--
	if c.all[d] != k && k.users == 0 {
		regular.Discard(k.file)
		return
	}
	for room := c.room(c.size); c.size > room; {
		oldest := digest.Digest("")
		for d, k := range c.all {
			if k.users == 0 && (oldest == "" || k.used < c.all[oldest].used) {
				oldest = d
			}
		}
		if oldest == "" {
			return
		}
		c.remove(oldest)
	}
}

func (c *contents) remove(d digest.Digest) {
	k := c.all[d]
	delete(c.all, d)
	c.size -= k.size
	regular.Discard(k.file)
}

func (c *contents) close() {
	for d := range c.all {
		c.remove(d)
	}
}
