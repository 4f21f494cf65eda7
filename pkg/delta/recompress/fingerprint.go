package recompress

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
)

// fingerprintSize is the number of bytes of a fingerprint.
const fingerprintSize = 8

// fingerprintBlock is the block size with which fingerprints are made.
const fingerprintBlock = 64 << 10

// Supported returns what this build of the program reproduces, as Recipe.Requires describes it: the
// names of compressors with level and fingerprint, sorted as compressors are tried. In a build with the
// versions of Go and of the libraries that fingerprints.txt is for, it compresses nothing; in another
// one, it compresses a sample with what differs, which takes up to 0.8 s of one core and 50 MB.
func Supported() []string {
	var all []string
	for _, c := range compressors() {
		for _, level := range c.levels {
			// A compressor that fails is not supported.
			if f, err := fingerprint(c, level, nil); err == nil {
				all = append(all, candidate{name: c.name, level: level}.requirement(f))
			}
		}
	}
	return all
}

// fingerprint returns the hash of what the compressor makes of the sample, without a gzip header. It
// uses e, which may be nil, if it is not known yet: some encoders have tables of 40 MB.
func fingerprint(c compressor, level int, e encoder) (string, error) {
	if c.format == uncompressed {
		return "", nil
	}
	if f, ok := known()[c.name+":"+strconv.Itoa(level)]; ok {
		return f, nil
	}
	key := candidate{name: c.name, level: level}
	if f, ok := fingerprints.Load(key); ok {
		return f.(string), nil
	}
	f, err := computeFingerprint(c, level, e)
	if err == nil {
		fingerprints.Store(key, f)
	}
	return f, err
}

// computeFingerprint is fingerprint for one that is not known.
func computeFingerprint(c compressor, level int, e encoder) (string, error) {
	size := 0
	if c.size != nil && !c.size.rare {
		size = fingerprintBlock
	}
	if e == nil || size != 0 { // e can have another block size
		var err error
		if e, err = c.open(level, size); err != nil {
			return "", fmt.Errorf("starting %s: %w", c.name, err)
		}
	}
	sum := sha256.New()
	e.Reset(sum)
	content := sample()
	switch {
	case c.unix:
		content = content[:len(content)/2] // package zlib is Gantry's own: no library changes it
	case c.format == gzipFormat:
		content = append(content, text(gzipText)...)
	default:
		content = append(content, text(zstdText)...)
	}
	if _, err := e.Write(content); err != nil {
		return "", fmt.Errorf("compressing a sample with %s: %w", c.name, err)
	}
	if err := e.Close(); err != nil {
		return "", fmt.Errorf("compressing a sample with %s: %w", c.name, err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:fingerprintSize]), nil
}

// fingerprints has those that were computed: candidate to string. They never change.
var fingerprints sync.Map

// sampleSize is above the windows of deflate and above a block of zstd.
const sampleSize = 256 << 10

// The lengths of text are several blocks, since a block can use the tables of the one before.
const (
	gzipText = 256 << 10
	zstdText = 768 << 10
)

// sample returns the content that fingerprints are made of. It must never change. It alternates
// between words, records as in programs, repetitions, copies of earlier content at all distances,
// and random bytes, so that most decisions of a compressor affect the output.
func sample() []byte {
	next := numbers()
	random := func() byte { return byte(next(256)) }
	word := vocabulary(next)
	b := make([]byte, 0, sampleSize+64<<10)
	for len(b) < sampleSize {
		switch n := 256 << next(7); next(5) {
		case 0:
			for end := len(b) + n; len(b) < end; {
				b = append(append(b, word()...), " \n.,;"[max(next(5)-next(9), 0)])
			}
		case 1:
			for i := range n / 8 {
				b = append(b, 0x48, 0x80|random()&15, byte(i), byte(i>>8), 0, 0, random()&3, random())
			}
		case 2:
			period := 1 + next(1+next(300))
			for range period {
				b = append(b, random())
			}
			for range n {
				b = append(b, b[len(b)-period])
			}
		case 3:
			for from := next(len(b) + 1); n > 0 && from < len(b); {
				k := min(4+next(60), n, len(b)-from)
				b = append(b, b[from:from+k]...)
				b = append(b, random())
				from, n = from+k+1, n-k-1
			}
		case 4:
			for range n / 4 {
				b = append(b, random())
			}
		}
	}
	return b[:sampleSize]
}

// numbers returns a generator of numbers below n.
func numbers() func(n int) int {
	state := uint64(0x9e3779b97f4a7c15)
	return func(n int) int { // xorshift64*
		state ^= state >> 12
		state ^= state << 25
		state ^= state >> 27
		return int(state*2685821657736338717>>33) % n
	}
}

// vocabulary returns a generator of words. Some are frequent.
func vocabulary(next func(n int) int) func() []byte {
	var words [512][]byte
	for i := range words {
		w := make([]byte, 2+next(9))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgkqjxz"[min(next(26), next(26))]
		}
		words[i] = w
	}
	return func() []byte { return words[min(next(512), next(512))] }
}

// text returns n bytes of words, with numbers now and then. It must never change.
func text(n int) []byte {
	next := numbers()
	word := vocabulary(next)
	b := make([]byte, 0, n+64)
	for len(b) < n {
		b = append(append(b, word()...), ' ')
		if next(8) == 0 {
			b = append(strconv.AppendInt(b, int64(next(1<<20)), 10), '\n')
		}
	}
	return b[:n]
}
