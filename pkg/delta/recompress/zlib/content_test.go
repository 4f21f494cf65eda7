package zlib_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// newRandom returns a generator whose numbers are the same in every version of Go.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 18)) }

// kinds are the kinds of generated content.
var kinds = []string{"text", "random", "zeros", "cycle", "binary", "mixed", "sparse", "fibonacci", "distant"}

// content returns size bytes that are always the same for a kind and a seed.
func content(kind string, size int, seed uint64) []byte {
	random := newRandom(seed)
	var b bytes.Buffer
	for b.Len() < size {
		appendContent(&b, kind, size, random)
	}
	return b.Bytes()[:size]
}

func appendContent(b *bytes.Buffer, kind string, size int, random *rand.Rand) {
	switch kind {
	case "text":
		words := strings.Fields("a an the of operator catalog layer registry manifest digest mirror image release\n and or to is are with , . ; { } \n\t if err return func")
		b.WriteString(words[random.IntN(len(words))])
		b.WriteByte(" \n"[random.IntN(9)/8])
		if random.IntN(40) == 0 {
			fmt.Fprintf(b, "%x", random.Uint32())
		}
	case "random":
		b.WriteByte(byte(random.Uint32()))
	case "zeros":
		b.Write(make([]byte, size))
	case "cycle":
		period := make([]byte, 1+random.IntN(40000))
		for i := range period {
			period[i] = byte(random.Uint32())
		}
		for range 2 + random.IntN(3) {
			b.Write(period)
		}
	case "binary":
		// Records with fields that change little, like machine code and tables.
		for i := range 16 {
			b.WriteByte(byte(b.Len()>>uint(i%8)) & byte(0xf0+random.IntN(16)))
		}
	case "mixed":
		part := []string{"text", "random", "zeros", "cycle", "binary"}[random.IntN(5)]
		b.Write(content(part, 1+random.IntN(50000), random.Uint64()))
	case "sparse":
		b.Write(make([]byte, random.IntN(600)))
		b.WriteByte(byte(random.IntN(3)))
	case "fibonacci":
		// Frequencies for which the best Huffman code is longer than deflate allows.
		run, next := 1, 1
		order := random.Perm(256)
		for _, value := range order[:22] {
			for range run {
				b.WriteByte(byte(value))
			}
			run, next = next, run+next
		}
		shuffle := b.Bytes()
		random.Shuffle(len(shuffle), func(i, j int) { shuffle[i], shuffle[j] = shuffle[j], shuffle[i] })
	case "distant":
		// Strings that repeat at distances around the limit of matches.
		text := make([]byte, 3+random.IntN(300))
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		gap := make([]byte, 32768-300+random.IntN(320)-len(text))
		for i := range gap {
			gap[i] = byte(random.Uint32())
		}
		for range 3 {
			b.Write(text)
			b.Write(gap)
		}
	}
}
