package delta

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// file is a member of a layer in tests.
type file struct {
	path    string
	content []byte
}

func layer(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.path, Mode: 0o644, Size: int64(len(f.content)), ModTime: time.Unix(1700000000, 0), Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.path, "/") {
			h.Typeflag = tar.TypeDir
		}
		fail.On(t, w.WriteHeader(h))
		_, err := w.Write(f.content)
		fail.On(t, err)
	}
	fail.On(t, w.Close())
	return out.Bytes()
}

func random(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

func encode(t testing.TB, target []byte, o Options, bases ...[]byte) ([]byte, Stats) {
	t.Helper()
	var list []Base
	for _, b := range bases {
		list = append(list, Base{Digest: digest.FromBytes(b), Content: bytes.NewReader(b), Size: int64(len(b))})
	}
	var out bytes.Buffer
	s, err := Encode(t.Context(), &out, Target{
		Digest: digest.FromBytes(target), Size: 4711, Content: bytes.NewReader(target), ContentSize: int64(len(target)), Recipe: []byte("recipe"),
	}, list, o)
	fail.On(t, err)
	if s.Size != int64(out.Len()) || s.Unpacked == 0 && s.Matched+s.Inserted != int64(len(target)) {
		t.Fatalf("stats %+v of a delta of %d bytes, target %d bytes", s, out.Len(), len(target))
	}
	return out.Bytes(), s
}

func decode(t testing.TB, d []byte, bases ...[]byte) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	_, err := Decode(t.Context(), &out, bytes.NewReader(d), func(i int, b BaseInfo) (io.ReaderAt, error) {
		return bytes.NewReader(bases[i]), nil
	}, DecodeOptions{})
	return out.Bytes(), err
}

// roundTrip encodes with both efforts and versions, compares what is rebuilt, and returns the delta of Auto in Plain.
func roundTrip(t testing.TB, target []byte, bases ...[]byte) ([]byte, Stats) {
	t.Helper()
	var first []byte
	var stats Stats
	memory := &Memory{}
	kinds := []Options{{Version: Solid}, {Effort: Max}, {Effort: Max, Version: Solid}, {Version: Plain}}
	if testing.Short() {
		kinds = kinds[2:]
	}
	for _, o := range kinds {
		o.Workers = 1
		d, s := encode(t, target, o, bases...)
		o.Workers, o.Memory = 3, memory
		again, _ := encode(t, target, o, bases...)
		if !bytes.Equal(d, again) {
			t.Fatalf("%+v: three workers write another delta than one", o)
		}
		got, err := decode(t, d, bases...)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		if !bytes.Equal(got, target) {
			t.Fatalf("%+v: the rebuilt content differs", o)
		}
		first, stats = d, s
	}
	return first, stats
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	unit, zeros := 1<<18, 5<<19
	if testing.Short() {
		unit, zeros = 1<<17, 1<<19 // still more than one piece
	}
	big := random(1, 5*unit+17)
	edited := bytes.Clone(big)
	for i := 100; i < len(edited); i += 4099 {
		edited[i]++
	}
	for _, c := range []struct {
		name   string
		target []byte
		bases  [][]byte
		limit  int // of the delta without its header
	}{
		{"nothing", nil, nil, 10},
		{"nothing from something", nil, [][]byte{big}, 10},
		{"no base", []byte("abc"), nil, 40},
		{"empty base", []byte("abc"), [][]byte{nil}, 40},
		{"short", []byte("a"), [][]byte{[]byte("b")}, 40},
		{"the same", big, [][]byte{big}, 60},
		{"shorter", big[:2*unit], [][]byte{big}, 100},
		{"the end", big[2*unit:], [][]byte{big}, 200},
		{"longer", append(bytes.Clone(big), "more"...), [][]byte{big}, 200},
		{"twice", append(bytes.Clone(big), big...), [][]byte{big}, 500},
		{"edited", edited, [][]byte{big}, 5000},
		{"halves exchanged", append(bytes.Clone(big[2*unit:]), big[:2*unit]...), [][]byte{big}, 500},
		{"insertion", append(append(bytes.Clone(big[:234567]), "inserted"...), big[234567:]...), [][]byte{big}, 300},
		{"two bases", append(bytes.Clone(big[4*unit:]), edited[:4*unit]...), [][]byte{edited[:4*unit], big[4*unit:]}, 500},
		{"across bases", big, [][]byte{big[:2*unit], nil, big[2*unit:]}, 500},
		{"zeros", make([]byte, zeros), [][]byte{big}, 1000},
		{"zeros from zeros", make([]byte, zeros), [][]byte{make([]byte, zeros*3/5)}, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, _ := roundTrip(t, c.target, c.bases...)
			h, err := ReadHeader(bytes.NewReader(d))
			fail.On(t, err)
			head, err := h.MarshalBinary()
			fail.On(t, err)
			if n := len(d) - len(head); n > c.limit {
				t.Errorf("the delta has %d bytes, limit %d", n, c.limit)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	a, b, c := random(1, 200_000), random(2, 600_000), random(3, 70_000)
	changed := bytes.Clone(b)
	copy(changed[300_000:], "something else")
	base := layer(t, file{"usr/", nil}, file{"usr/a", a}, file{"usr/lib/libb.so.1.2.3", b}, file{"usr/c", c}, file{"usr/empty", nil})
	target := layer(t, file{"usr/", nil}, file{"opt/moved", a}, file{"usr/c", append([]byte("x"), c...)}, file{"usr/empty", nil},
		file{"usr/lib/libb.so.1.3", changed}, file{"usr/new", random(4, 1000)}, file{"usr/" + strings.Repeat("long/", 60), nil})
	d, s := roundTrip(t, target, base)
	want := MemberStats{Unchanged: 3, Moved: 1, SamePath: 1, Similar: 1, New: 2}
	fail.Diff(t, want, s.Members)
	if len(d) > 3000 {
		t.Errorf("the delta has %d bytes", len(d))
	}
}

// TestRandomEdits compares what is rebuilt after edits of all kinds, with a base of text, a program-like base and a random one.
func TestRandomEdits(t *testing.T) {
	t.Parallel()
	seeds := uint64(40)
	if testing.Short() {
		seeds = 12
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		base := sample(r, r.IntN(300_000))
		target := edit(r, base, r.IntN(40))
		if r.IntN(4) == 0 {
			base = base[:r.IntN(len(base)+1)]
		}
		d, _ := encode(t, target, Options{Effort: Effort(seed % 2), Version: Plain + int(seed/2%2)}, base)
		got, err := decode(t, d, base)
		if err != nil || !bytes.Equal(got, target) {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// sample returns words of four bytes, text or random bytes.
func sample(r *rand.Rand, n int) []byte {
	kind, b := r.IntN(3), make([]byte, 0, n+16)
	for len(b) < n {
		switch kind {
		case 0:
			b = append(b, 0xe8, byte(r.IntN(256)), byte(r.IntN(8)), 0, 0)
		case 1:
			b = fmt.Appendf(b, "word%d ", r.IntN(5000))
		default:
			b = append(b, byte(r.IntN(256)))
		}
	}
	return b[:n]
}

// edit changes b at some places: bytes, words by the same amount, insertions, deletions, and moved blocks.
func edit(r *rand.Rand, b []byte, edits int) []byte {
	b = bytes.Clone(b)
	for range edits {
		if len(b) < 100 {
			b = append(b, sample(r, 200)...)
		}
		at := r.IntN(len(b) - 50)
		n := r.IntN(min(len(b)-at, 1+len(b)/10))
		switch r.IntN(5) {
		case 0:
			for i := range min(n, 20) {
				b[at+i] = byte(r.IntN(256))
			}
		case 1:
			for i := at; i < at+n; i += 5 + r.IntN(9) {
				b[i] += 16
			}
		case 2:
			b = append(b[:at:at], append(sample(r, n), b[at:]...)...)
		case 3:
			b = append(b[:at:at], b[at+n:]...)
		default:
			block := bytes.Clone(b[at : at+n])
			rest := append(b[:at:at], b[at+n:]...)
			to := r.IntN(len(rest) + 1)
			b = append(rest[:to:to], append(block, rest[to:]...)...)
		}
	}
	return b
}

func TestBudget(t *testing.T) {
	t.Parallel()
	target := random(1, 8<<20)
	calls := 0
	_, err := Encode(t.Context(), io.Discard, Target{Digest: digest.FromBytes(nil), Content: bytes.NewReader(target), ContentSize: int64(len(target))}, nil,
		Options{Budget: func(_ time.Duration, done, soFar int64) bool {
			calls++
			if done != int64(calls)*Auto.parameters(Plain).piece || soFar < done/2 || soFar > 2*done {
				t.Errorf("call %d: done %d, delta so far %d", calls, done, soFar)
			}
			return calls < 3
		}})
	if !errors.Is(err, ErrTooCostly) || calls != 3 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	target := random(1, 8<<20)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Encode(ctx, io.Discard, Target{Digest: digest.FromBytes(nil), Content: bytes.NewReader(target), ContentSize: int64(len(target))}, nil,
		Options{Budget: func(time.Duration, int64, int64) bool { cancel(); return true }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("encoding: %v", err)
	}
	d, _ := encode(t, target, Options{}, target)
	_, err = Decode(ctx, io.Discard, bytes.NewReader(d), func(int, BaseInfo) (io.ReaderAt, error) { return bytes.NewReader(target), nil }, DecodeOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("decoding: %v", err)
	}
}

// TestShortContent has contents that end before the announced size.
func TestShortContent(t *testing.T) {
	t.Parallel()
	b := random(1, 100_000)
	short := Target{Digest: digest.FromBytes(b), Content: bytes.NewReader(b), ContentSize: int64(len(b)) + 1}
	if _, err := Encode(t.Context(), io.Discard, short, nil, Options{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("target: %v", err)
	}
	d, _ := encode(t, b, Options{}, b)
	if _, err := decode(t, d, b[:50_000]); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("base: %v", err)
	}
}
