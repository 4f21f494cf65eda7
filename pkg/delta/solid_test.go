package delta

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestCalls checks that calls of one function become the same bytes, and that every content is restored, in any portions.
func TestCalls(t *testing.T) {
	t.Parallel()
	program := make([]byte, 0, 1000)
	for i := range uint32(100) {
		at := i * 10
		distance := 5000 - (at + 5) // to one place
		program = append(program, 0xE8, byte(distance), byte(distance>>8), byte(distance>>16), byte(distance>>24), 1, 2, 3, 4, 5)
	}
	b := bytes.Clone(program)
	new(calls).encode(b)
	if bytes.Count(b, []byte{0xE8, 0x88, 0x13, 0, 0}) != 100 {
		t.Errorf("the calls have different bytes: % x", b[:40])
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		content := make([]byte, r.IntN(300))
		for i := range content {
			content[i] = []byte{0xE8, 0xE9, 0, 0xFF, 1, byte(r.IntN(256))}[r.IntN(6)]
		}
		start := calls{r.Uint32()}
		to, from := start, start
		for rest := bytes.Clone(content); len(content) > 0; {
			n := 1 + r.IntN(len(content))
			to.encode(rest[:n])
			from.decode(rest[:n])
			to.position += uint32(n)
			from.position += uint32(n)
			if !bytes.Equal(rest[:n], content[:n]) {
				t.Fatalf("from % x to % x", content[:n], rest[:n])
			}
			rest, content = rest[n:], content[n:]
		}
	}
}

// TestSolid checks that Solid is smaller where content repeats itself after more than a frame.
func TestSolid(t *testing.T) {
	t.Parallel()
	once := random(1, Auto.parameters(Plain).frame+100_000)
	content := append(bytes.Clone(once), once...)
	plain, _ := encode(t, content, Options{})
	solid, _ := encode(t, content, Options{Version: Solid})
	if len(solid) > len(once)+3000 || len(plain) < 2*len(once) {
		t.Errorf("%d bytes, and plainly %d, of twice %d", len(solid), len(plain), len(once))
	}
}

// TestSolidDamage checks that no altered delta gives the content without an error, and that bytes after those of a frame are refused.
func TestSolidDamage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	base := sample(r, 50_000)
	target := append(edit(r, base, 20), sample(r, 20_000)...)
	d, _ := encode(t, target, Options{Version: Solid}, base)
	got, err := decode(t, d, base)
	fail.On(t, err)
	fail.Diff(t, true, bytes.Equal(got, target))
	for range 300 {
		altered := bytes.Clone(d)
		altered[r.IntN(len(altered))] ^= 1 << r.IntN(8)
		if got, err := decode(t, altered, base); err == nil && !bytes.Equal(got, target) {
			t.Fatal("other content is returned without an error")
		}
	}
	s, err := newSolidReader()
	fail.On(t, err)
	defer s.close()
	w, err := newSolidWriter(Auto.parameters(Plain))
	fail.On(t, err)
	w.begin()
	chunk, err := w.pack([]byte("some inserted bytes"))
	fail.On(t, err)
	if _, err := s.read(bytes.NewReader(append(chunk, 0)), int64(len(chunk)+1), 19, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("a byte too many: %v", err)
	}
}
