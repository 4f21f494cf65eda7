package filter

import (
	"hash/fnv"
	"math/rand/v2"
	"testing"
)

// choices makes bytes into the source of what is random: each byte is a choice,
// and when they are used up the rest follows from them.
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

// FuzzAgain reads bytes as a package that OLM takes, a selection, what clusters
// run and what others need. Filtering gives what OLM takes with every promise
// held, and filtering that again, with the same installed operators and needs,
// gives the same bytes.
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
