package packed

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// recipe returns the one of a stream that zlib makes at level 6.
func recipe(t testing.TB, file []byte, s *Stream, store *Store) recompress.DeflateRecipe {
	t.Helper()
	content := bytes.NewReader(file)
	fail.On(t, store.Unpack(t.Context(), content, s))
	r, err := recompress.NewDeflateDetector(nil).Detect(t.Context(), io.NewSectionReader(content, s.Start, s.Packed), s.Packed, store.Unpacked(*s), s.Unpacked)
	fail.On(t, err)
	return r
}

// example returns a target with all of its streams unpacked.
func example(t testing.TB) (target []byte, table *Table, store *Store) {
	t.Helper()
	store, err := NewStore(t.TempDir())
	fail.On(t, err)
	t.Cleanup(store.Close)
	target = jar(t, entry{"a", words(1, 8_000), false}, entry{"b", words(2, 20_000), false}, entry{"c", words(3, 500), false})
	target = append(target, zipped(t, 1, "", words(4, 9_000))...)
	at := bytes.LastIndex(target, []byte("\x1f\x8b\x08"))
	table = &Table{Bases: [][]Stream{nil}}
	for _, from := range []int{0, at} {
		end := at
		if from > 0 {
			end = len(target)
		}
		f, err := Find(bytes.NewReader(target), int64(from), int64(end-from))
		fail.On(t, err)
		for _, s := range f.Streams {
			r := recipe(t, target, &s.Stream, store)
			table.AddTarget(s.Stream, r)
			table.Bases[0] = append(table.Bases[0], s.Stream)
		}
	}
	if len(table.Target) != 4 || len(table.Recipes) != 2 {
		t.Fatalf("%+v", table)
	}
	return target, table, store
}

// TestView reads a view at all kinds of positions, and writes the content again in parts of all lengths.
func TestView(t *testing.T) {
	t.Parallel()
	target, table, store := example(t)
	v := NewView(bytes.NewReader(target), int64(len(target)), table.Target, store)
	all := make([]byte, v.Size())
	if n, err := v.ReadAt(all, 0); n != len(all) || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	for _, part := range [][]byte{words(1, 8_000), words(2, 20_000), words(3, 500), words(4, 9_000)} {
		if !bytes.Contains(all, part) {
			t.Error("a part is not unpacked")
		}
	}
	for _, s := range table.Target {
		start, end := v.Position(s.Start), v.Position(s.End())
		if end-start != s.Unpacked || v.Position(s.Start-3) != start-3 || v.Position(s.End()+1) != end+1 {
			t.Errorf("%+v is from %d to %d", s, start, end)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		at := r.IntN(len(all))
		b := make([]byte, r.IntN(len(all)-at+1))
		if n, err := v.ReadAt(b, int64(at)); n != len(b) || err != nil || !bytes.Equal(b, all[at:at+n]) {
			t.Fatalf("%d bytes at %d: %d, %v", len(b), at, n, err)
		}
	}
	if n, err := v.ReadAt(make([]byte, 10), v.Size()-4); n != 4 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	for range 3 {
		var out bytes.Buffer
		w, err := table.NewWriter(&out)
		fail.On(t, err)
		for rest := all; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(8_000))
			_, err := w.Write(rest[:n])
			fail.On(t, err)
			rest = rest[n:]
		}
		if err := w.Close(); err != nil || !bytes.Equal(out.Bytes(), target) {
			t.Fatalf("the content differs: %v", err)
		}
	}
}

// TestWriterRefuses has content that does not compress to streams of the same lengths.
func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	target, table, store := example(t)
	v := NewView(bytes.NewReader(target), int64(len(target)), table.Target, store)
	all, err := io.ReadAll(io.NewSectionReader(v, 0, v.Size()))
	fail.On(t, err)
	at := v.Position(table.Target[1].Start)
	for name, change := range map[string]func(b []byte) []byte{
		"longer":  func(b []byte) []byte { _, _ = rand.NewChaCha8([32]byte{}).Read(b[at : at+9000]); return b },
		"shorter": func(b []byte) []byte { clear(b[at : at+9000]); return b },
		"ends":    func(b []byte) []byte { return b[:at+100] },
	} {
		var out bytes.Buffer
		w, err := table.NewWriter(&out)
		fail.On(t, err)
		_, err = w.Write(change(bytes.Clone(all)))
		if name == "ends" {
			if err != nil || w.Close() == nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.Is(err, ErrStream) {
			t.Errorf("%s: %v", name, err)
		}
		if out.Len() > len(target) {
			t.Errorf("%s: %d bytes were written", name, out.Len())
		}
	}
}

// TestUnpackRefuses has streams that lie about their lengths, and damaged ones.
func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	target, table, store := example(t)
	good := table.Target[1]
	for name, change := range map[string]func(s *Stream){
		"unpacked less": func(s *Stream) { s.Unpacked-- },
		"unpacked more": func(s *Stream) { s.Unpacked++ },
		"packed less":   func(s *Stream) { s.Packed-- },
		"packed more":   func(s *Stream) { s.Packed++ },
		"elsewhere":     func(s *Stream) { s.Start += 11 },
		"one byte":      func(s *Stream) { s.Packed = 1 },
	} {
		s := good
		change(&s)
		if err := store.Unpack(t.Context(), bytes.NewReader(target), &s); !errors.Is(err, ErrStream) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	target, table, _ := example(t)
	raw, err := table.MarshalBinary()
	fail.On(t, err)
	size := int64(len(target))
	got, err := ParseTable(raw, size, []int64{size})
	fail.On(t, err)
	opts := []cmp.Option{cmpopts.IgnoreUnexported(Stream{}), cmp.Comparer(func(a, b recompress.DeflateRecipe) bool { return a == b })}
	want := *table
	want.Bases = [][]Stream{nil}
	for _, s := range table.Bases[0] {
		s.Recipe = 0
		want.Bases[0] = append(want.Bases[0], s)
	}
	fail.Diff(t, &want, got, opts...)
	for n := range raw {
		if _, err := ParseTable(raw[:n], size, []int64{size}); !errors.Is(err, ErrTable) {
			t.Errorf("%d bytes of it: %v", n, err)
		}
	}
	last := table.Target[3]
	for name, tc := range map[string]struct {
		target, base int64
		change       func(t *Table)
	}{
		"outside of the target": {last.End() - 1, size, func(*Table) {}},
		"outside of the base":   {size, last.End() - 1, func(*Table) {}},
		"nothing":               {size, size, func(t *Table) { *t = Table{Bases: [][]Stream{nil}} }},
		"zero length":           {size, size, func(t *Table) { t.Target[0].Packed = 0 }},
		"unpacks to nothing":    {size, size, func(t *Table) { t.Target[0].Unpacked = 0 }},
		"unpacks to too much":   {size, size, func(t *Table) { t.Bases[0][0].Unpacked = anyUnpacked + size*maxExpansion }},
		"unpacks to very much":  {size, size, func(t *Table) { t.Bases[0][0].Unpacked = math.MaxInt64 }},
		"unused recipe":         {size, size, func(t *Table) { t.Target = t.Target[:3] }},
		"order of recipes":      {size, size, func(t *Table) { t.Target[0].Recipe = 1 }},
		"no such recipe":        {size, size, func(t *Table) { t.Target[3].Recipe = 2 }},
		"a recipe twice":        {size, size, func(t *Table) { t.Recipes[1] = t.Recipes[0] }},
		"one base more":         {size, size, func(t *Table) { t.Bases = append(t.Bases, nil) }},
		"overlapping":           {size, size, func(t *Table) { t.Target[1].Start = t.Target[0].End() - 1 }},
	} {
		again, err := ParseTable(raw, size, []int64{size})
		fail.On(t, err)
		tc.change(again)
		changed, err := again.MarshalBinary()
		fail.On(t, err)
		if _, err := ParseTable(changed, tc.target, []int64{tc.base}); !errors.Is(err, ErrTable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLimit checks that streams that Limit allows are accepted by ParseTable, also without some of them.
func TestLimit(t *testing.T) {
	t.Parallel()
	var l Limit
	at := int64(0)
	var all []Stream
	for i := range 40 {
		s := Stream{Start: at, Packed: 100_000, Unpacked: int64(i) * 1_000_000}
		at = s.End()
		if i > 0 && l.Allow(s) {
			all = append(all, s)
		}
	}
	if len(all) < 5 || len(all) > 30 {
		t.Fatalf("%d streams are allowed", len(all))
	}
	for len(all) > 0 {
		raw, err := (&Table{Bases: [][]Stream{all}}).MarshalBinary()
		fail.On(t, err)
		if _, err := ParseTable(raw, 0, []int64{at}); err != nil {
			t.Fatalf("%d streams: %v", len(all), err)
		}
		all = all[1:]
	}
}

func FuzzParseTable(f *testing.F) {
	target, table, _ := example(f)
	raw, err := table.MarshalBinary()
	fail.On(f, err)
	f.Add(raw)
	size := int64(len(target))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := ParseTable(b, size, []int64{size})
		if err != nil {
			if !errors.Is(err, ErrTable) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		again, err := table.MarshalBinary()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x was read, %x is written, %v", b, again, err)
		}
	})
}
