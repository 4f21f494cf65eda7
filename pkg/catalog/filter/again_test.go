package filter

import (
	"hash/fnv"
	"math/rand/v2"
	"testing"
)

// choices uses bytes as a source of random numbers: each byte is one choice. When the bytes are
// used up, the rest follows from them.
type choices struct {
	data []byte
	rest *rand.PCG
}

func (c *choices) Uint64() uint64 {
	if len(c.data) == 0 {
		return c.rest.Uint64()
	}
	b := c.data[0]
	c.data = c.data[1:]
	return uint64(b) * 0x0101_0101_0101_0101
}

// FuzzAgain reads bytes as a package that OLM accepts, a selection, installed operators and
// requirements. OLM accepts the filtered result with all guaranteed properties, and filtering it
// again with the same arguments gives the same bytes.
//
// Slow: it filters and simulates OLM; catalog.FuzzRead reads what strangers wrote.
func FuzzAgain(f *testing.F) {
	f.Add([]byte{0}, false)
	f.Add([]byte{0x40, 0xa0, 0x20, 0xe0, 0x80, 0x10, 0xc0, 0x60}, false)
	f.Add([]byte("an edge to and fro"), true)
	f.Fuzz(func(t *testing.T, data []byte, wild bool) {
		h := fnv.New64a()
		h.Write(data)
		r := rand.New(&choices{data: data, rest: rand.NewPCG(1, h.Sum64())})
		c := randomPackage(t, r, wild)
		op, required := randomOperator(r, c.Packages[0])
		checkRandom(t, c, op, required, wild)
		if t.Failed() {
			t.Log(describe(c.Packages[0], op, required))
		}
	})
}
