package parity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A memoryFile is a file in memory that can be written at any offset.
type memoryFile struct{ b []byte }

func (m *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	if end := int(at) + len(p); end > len(m.b) {
		m.b = append(m.b, make([]byte, end-len(m.b))...)
	}
	return copy(m.b[at:], p), nil
}

// A fixture is data shards with their parity files.
type fixture struct {
	l      Layout
	data   [][]byte
	parity []*memoryFile
}

func newFixture(t testing.TB, rnd *rand.Rand, parities int, sizes ...int64) *fixture {
	t.Helper()
	f := &fixture{l: Layout{Set: digest.FromString("set"), Sizes: sizes}}
	var data []io.ReaderAt
	for _, n := range sizes {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		f.data = append(f.data, b)
		data = append(data, bytes.NewReader(b))
	}
	var to []io.WriterAt
	for range parities {
		f.parity = append(f.parity, &memoryFile{})
		to = append(to, f.parity[len(f.parity)-1])
	}
	var read, want int64
	fail.On(t, Encode(t.Context(), f.l, data, to, func(n int64) { read += n }))
	for _, n := range sizes {
		want += n
	}
	fail.Diff(t, want, read)
	for _, p := range f.parity {
		fail.Diff(t, f.l.FileSize(), int64(len(p.b)))
	}
	return f
}

// recovery examines copies of the shards, nil for those that are missing.
func (f *fixture) recovery(t testing.TB, data, parity [][]byte) (*Recovery, error) {
	t.Helper()
	in := make([][]io.ReaderAt, len(data))
	for i, b := range data {
		if b != nil {
			in[i] = []io.ReaderAt{bytes.NewReader(b)}
		}
	}
	var files []File
	for _, b := range parity {
		if b == nil {
			continue
		}
		if h, err := ReadHead(f.l, bytes.NewReader(b)); err == nil {
			files = append(files, File{h, bytes.NewReader(b)})
		}
	}
	r, err := NewRecovery(f.l, in, files)
	if err == nil {
		err = r.Examine(t.Context(), nil)
	}
	return r, err
}

// copies returns copies of all shards.
func (f *fixture) copies() (data, parity [][]byte) {
	data = elements.Map(f.data, bytes.Clone)
	parity = elements.Map(f.parity, func(p *memoryFile) []byte { return bytes.Clone(p.b) })
	return data, parity
}

// rebuild rebuilds all data shards with damage and compares all with what they were.
func (f *fixture) rebuild(t *testing.T, r *Recovery, data [][]byte) {
	t.Helper()
	to := map[int]io.WriterAt{}
	for i := range f.data {
		if r.Damaged(i) > 0 {
			to[i] = &memoryFile{}
		}
	}
	fail.On(t, r.Rebuild(t.Context(), to, nil))
	for i := range f.data {
		got := data[i]
		if to[i] != nil {
			got = to[i].(*memoryFile).b
		}
		if !bytes.Equal(got, f.data[i]) {
			t.Errorf("shard %d of %d differs after it was rebuilt", i, len(f.data))
		}
	}
}

// TestRebuild removes shards and damages blocks at random. Up to the number of parity files at a position,
// every byte is rebuilt; with more, the recovery says how many are missing.
func TestRebuild(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n, m := 1+rnd.IntN(8), 1+rnd.IntN(3)
		sizes := make([]int64, n)
		for i := range sizes {
			sizes[i] = 1 + rnd.Int64N(5*minBlock)
		}
		f := newFixture(t, rnd, m, sizes...)
		blocks := f.l.blocks()
		data, parity := f.copies()
		damaged := make([]map[int]bool, blocks) // by block, the shards
		for b := range damaged {
			damaged[b] = map[int]bool{}
		}
		for range rnd.IntN(m + 2) {
			switch i := rnd.IntN(n + m); {
			case i < n && rnd.IntN(2) == 0:
				data[i] = nil
				for b := range blocks {
					if at, _ := f.l.blockAt(b); at < sizes[i] {
						damaged[b][i] = true
					}
				}
			case i < n:
				if data[i] == nil {
					continue
				}
				at := rnd.Int64N(sizes[i])
				data[i][at] ^= 0x55
				damaged[at/f.l.block()][i] = data[i][at] != f.data[i][at] || damaged[at/f.l.block()][i]
			default:
				parity[i-n] = nil
				for b := range blocks {
					damaged[b][i] = true
				}
			}
		}
		if !slices.ContainsFunc(parity, func(b []byte) bool { return b != nil }) {
			if _, err := f.recovery(t, data, parity); err == nil {
				t.Error("a recovery without parity files is accepted")
			}
			continue
		}
		wantBlocks, wantShards := 0, 0
		for b := range damaged {
			inData := false
			for i := range damaged[b] {
				inData = inData || i < n
			}
			if more := len(damaged[b]) - m; more > 0 && inData {
				wantBlocks, wantShards = wantBlocks+1, max(wantShards, more)
			}
		}
		r, err := f.recovery(t, data, parity)
		fail.On(t, err)
		gotBlocks, gotShards := r.Lost()
		if gotBlocks != wantBlocks || gotShards != wantShards {
			t.Errorf("%d shards, %d parity files: %d blocks are lost and %d shards too few, want %d and %d", n, m, gotBlocks, gotShards, wantBlocks, wantShards)
			continue
		}
		if wantBlocks > 0 {
			if err := r.Rebuild(t.Context(), map[int]io.WriterAt{0: &memoryFile{}}, nil); err == nil {
				t.Error("it rebuilds although too much is lost")
			}
			continue
		}
		f.rebuild(t, r, data)
	}
}

// TestDamagedParityFiles checks that one copy of the head is enough, and that a parity file with both
// copies damaged, or of other volumes, is not used.
func TestDamagedParityFiles(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	f := newFixture(t, rnd, 2, 3*minBlock, 2*minBlock)
	for name, tc := range map[string]struct {
		at   []int64
		lost bool
	}{
		"first head":          {[]int64{5}, false},
		"checksums":           {[]int64{pageSize + 5}, false},
		"last head":           {[]int64{f.l.headSize() + f.l.Length() + 100}, false},
		"both heads":          {[]int64{5, f.l.headSize() + f.l.Length() + 5}, true},
		"heads by one bit":    {[]int64{pageSize, f.l.FileSize() - f.l.headSize() + pageSize}, true},
		"the parity it needs": {[]int64{f.l.headSize() + 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			data, parity := f.copies()
			data[0], parity[1] = nil, nil
			for _, at := range tc.at {
				parity[0][at] ^= 1
			}
			r, err := f.recovery(t, data, parity)
			lost := err != nil
			if err == nil {
				blocks, _ := r.Lost()
				lost = blocks > 0
			}
			if lost != tc.lost {
				t.Fatalf("lost is %t: %v", lost, err)
			}
			if !lost {
				f.rebuild(t, r, data)
			}
		})
	}
	other := f.l
	other.Set = digest.FromString("other")
	if _, err := ReadHead(other, bytes.NewReader(f.parity[0].b)); err == nil || !strings.Contains(err.Error(), "other volumes") {
		t.Errorf("parity of another set: %v", err)
	}
}

// multiply multiplies in GF(2^8) with the polynomial x^8+x^4+x^3+x^2+1.
func multiply(a, b byte) (p byte) {
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			p ^= a
		}
		if a&0x80 != 0 {
			a = a<<1 ^ 0x1d
		} else {
			a <<= 1
		}
	}
	return p
}

// TestFormat compares a parity file with the description in docs/archive-format.md: the line, the checksums
// and the code. With two data shards, the rows of the code's matrix after the unit matrix follow from the line
// through both bytes: parity j is (j-1)·a + j·b with j = 2, 3 and so on, subtraction being exclusive or.
func TestFormat(t *testing.T) {
	t.Parallel()
	f := newFixture(t, rand.New(rand.NewPCG(5, 6)), 2, minBlock+512, 1024)
	line := `{"kind":"GantryParity","version":1,"set":"` + string(f.l.Set) + `","volumes":2,"size":66048,"block":65536,"parity":2,"parities":2}` + "\n"
	raw := f.parity[1].b
	if !bytes.HasPrefix(raw, []byte(line+"\x00")) {
		t.Errorf("the file begins with %q", raw[:200])
	}
	long := f.data[0]
	short := append(bytes.Clone(f.data[1]), make([]byte, len(long)-len(f.data[1]))...)
	own := raw[f.l.headSize() : f.l.headSize()+f.l.Length()]
	sums := pageSize
	for _, shard := range [][]byte{long, short, own} {
		for _, block := range [][]byte{shard[:minBlock], shard[minBlock:]} {
			want := sha256.Sum256(block)
			if !bytes.Equal(raw[sums:sums+sumSize], want[:]) {
				t.Errorf("the checksum at %d differs", sums)
			}
			sums += sumSize
		}
	}
	whole := sha256.Sum256(raw[:sums])
	if !bytes.Equal(raw[sums:sums+sumSize], whole[:]) || !bytes.Equal(raw[:f.l.headSize()], raw[f.l.headSize()+f.l.Length():]) {
		t.Error("the checksum of the head or its copy differs")
	}
	for i, p := range f.parity {
		j := byte(2 + i)
		for at := range long {
			if want := multiply(j^1, long[at]) ^ multiply(j, short[at]); p.b[f.l.headSize()+int64(at)] != want {
				t.Fatalf("parity %d at %d is %d, want %d", i+1, at, p.b[f.l.headSize()+int64(at)], want)
			}
		}
	}
}

func TestCountAndReserve(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ shards, percent, want int }{{10, 10, 1}, {11, 10, 2}, {1, 10, 1}, {20, 10, 2}, {10, 25, 3}, {10, 100, 10}} {
		fail.Diff(t, tc.want, Count(tc.shards, tc.percent))
	}
	for _, size := range []int64{1 << 20, 650_000_000, 4_700_000_000, 25 << 30, 500 << 30} {
		for _, n := range []int{1, 10, MaxShards - 1} {
			l := Layout{Sizes: slices.Repeat([]int64{size - Reserve(size)}, n)}
			if got := l.FileSize(); got > size {
				t.Errorf("volumes of %d bytes less the reserve: parity of %d has %d bytes", size, n, got)
			}
			if l.blocks() > maxBlocks {
				t.Errorf("%d blocks", l.blocks())
			}
		}
	}
	if err := (Layout{Sizes: slices.Repeat([]int64{1}, 200)}).Check(57); err == nil {
		t.Error("more than 256 shards are accepted")
	}
}

// TestCanceled checks that nothing is written after cancellation.
func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	l, to := Layout{Sizes: []int64{10}}, &memoryFile{}
	err := Encode(ctx, l, []io.ReaderAt{bytes.NewReader(make([]byte, 10))}, []io.WriterAt{to}, nil)
	if !errors.Is(err, stop) || len(to.b) > 0 {
		t.Errorf("%v after %d bytes", err, len(to.b))
	}
}

// FuzzReadHead checks that a head that is accepted has the same bytes when it is written again, and that
// nothing of a stranger's file makes the recovery fail other than with an error.
func FuzzReadHead(f *testing.F) {
	l := Layout{Set: digest.FromString("set"), Sizes: []int64{minBlock + 1, 100}}
	to := &memoryFile{}
	data := []io.ReaderAt{bytes.NewReader(make([]byte, minBlock+1)), bytes.NewReader(make([]byte, 100))}
	fail.On(f, Encode(f.Context(), l, data, []io.WriterAt{to}, nil))
	f.Add(to.b[:l.headSize()])
	f.Add([]byte(`{"kind":"GantryParity","version":1}` + "\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file := bytes.NewReader(raw)
		h, err := ReadHead(l, file)
		if err != nil {
			return
		}
		again, err := h.marshal(l)
		if err != nil || !bytes.Contains(raw, again) {
			t.Fatalf("the head changes when it is written again: %v", err)
		}
		r, err := NewRecovery(l, [][]io.ReaderAt{nil, {data[1]}}, []File{{h, file}})
		if err != nil {
			return
		}
		fail.On(t, r.Examine(t.Context(), nil))
		if blocks, _ := r.Lost(); blocks == 0 {
			fail.On(t, r.Rebuild(t.Context(), map[int]io.WriterAt{0: &memoryFile{}}, nil))
		}
	})
}
