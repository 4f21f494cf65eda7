package packed

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	own "github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// words returns n bytes of text.
func words(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, "word%d ", r.IntN(700))
	}
	return b.Bytes()[:n]
}

// entry is a part of a file in tests.
type entry struct {
	name    string
	content []byte
	stored  bool
}

// jar returns a zip file, whose entries are compressed as Java does.
func jar(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return own.NewWriter(to, own.Options{Level: 6}) })
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate} // with data descriptors
		if e.stored {
			h.Method = zip.Store
		}
		part, err := w.CreateHeader(h)
		fail.On(t, err)
		_, err = part.Write(e.content)
		fail.On(t, err)
	}
	fail.On(t, w.Close())
	return b.Bytes()
}

// program returns an ELF file whose sections are compressed as the linker of Go does, or as older ones did if their names begin with .zdebug.
func program(t testing.TB, wide bool, order bothOrders, sections ...entry) []byte {
	t.Helper()
	header, size, class, data := 52, 40, byte(1), byte(2)
	if wide {
		header, size, class = 64, 64, 2
	}
	if order.Uint16([]byte{1, 0}) == 1 {
		data = 1
	}
	names := []byte{0}
	body := make([]byte, header)
	copy(body, "\x7fELF")
	body[4], body[5], body[6] = class, data, 1
	var table []byte
	add := func(name string, kind uint32, flags uint64, content []byte) {
		at := uint64(len(body))
		body = append(body, content...)
		table = order.AppendUint32(table, uint32(len(names)))
		table = order.AppendUint32(table, kind)
		names = append(append(names, name...), 0)
		if wide {
			for _, v := range []uint64{flags, 0, at, uint64(len(content)), 0, 1, 0} {
				table = order.AppendUint64(table, v)
			}
			return
		}
		for _, v := range []uint64{flags, 0, at, uint64(len(content)), 0, 0, 1, 0} {
			table = order.AppendUint32(table, uint32(v))
		}
	}
	add("", 0, 0, nil)
	for _, s := range sections {
		if s.stored {
			add(s.name, 1, 0, s.content)
			continue
		}
		var b []byte
		flags := uint64(elfCompressed)
		switch {
		case strings.HasPrefix(s.name, ".zdebug"):
			b, flags = binary.BigEndian.AppendUint64([]byte("ZLIB"), uint64(len(s.content))), 0
		case wide:
			b = order.AppendUint32(order.AppendUint32(nil, 1), 0)
			b = order.AppendUint64(order.AppendUint64(b, uint64(len(s.content))), 1)
		default:
			b = order.AppendUint32(order.AppendUint32(order.AppendUint32(nil, 1), uint32(len(s.content))), 1)
		}
		var z bytes.Buffer
		w, err := zlib.NewWriterLevel(&z, flate.BestSpeed)
		fail.On(t, err)
		_, err = w.Write(s.content)
		fail.On(t, err)
		fail.On(t, w.Close())
		add(s.name, 1, flags, append(b, z.Bytes()...))
	}
	add(".shstrtab", 3, 0, append(bytes.Clone(names), ".shstrtab\x00"...))
	count, at := len(table)/size, uint64(len(body))
	if wide {
		order.PutUint64(body[40:], at)
		order.PutUint16(body[58:], uint16(size))
		order.PutUint16(body[60:], uint16(count))
		order.PutUint16(body[62:], uint16(count-1))
	} else {
		order.PutUint32(body[32:], uint32(at))
		order.PutUint16(body[46:], uint16(size))
		order.PutUint16(body[48:], uint16(count))
		order.PutUint16(body[50:], uint16(count-1))
	}
	return append(body, table...)
}

// zipped returns a gzip file.
func zipped(t testing.TB, level int, name string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	fail.On(t, err)
	w.Name = name
	_, err = w.Write(content)
	fail.On(t, err)
	fail.On(t, w.Close())
	return b.Bytes()
}

type bothOrders interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// find returns the streams of a file that is at a position of content.
func find(t testing.TB, file []byte) []Named {
	t.Helper()
	content := append(append(make([]byte, 1000), file...), "something else"...)
	f, err := Find(bytes.NewReader(content), 1000, int64(len(file)))
	fail.On(t, err)
	for i := range f.Streams {
		f.Streams[i].Start -= 1000
	}
	return f.Streams
}

// TestFind finds the streams in all kinds of files, and unpacks them.
func TestFind(t *testing.T) {
	t.Parallel()
	a, b := words(1, 20_000), words(2, 300_000)
	inner := jar(t, entry{"x/A.class", a, false})
	files := map[string]struct {
		file []byte
		want []entry
	}{
		"jar":           {jar(t, entry{"a.txt", a, false}, entry{"stored", b, true}, entry{"empty", nil, false}, entry{"b.txt", b, false}), []entry{{"a.txt", a, false}, {"b.txt", b, false}}},
		"jar in a jar":  {jar(t, entry{"lib/inner.jar", inner, true}, entry{"b.txt", b, false}), []entry{{"lib/inner.jar!x/A.class", a, false}, {"b.txt", b, false}}},
		"three levels":  {jar(t, entry{"o.jar", jar(t, entry{"i.jar", inner, true}), true}), nil},
		"gzip":          {zipped(t, 6, "name.1", a), []entry{{"", a, false}}},
		"tiny":          {zipped(t, 6, "", []byte("x")), nil},
		"text":          {a, nil},
		"empty":         {nil, nil},
		"two gzip":      {append(zipped(t, 6, "", a), zipped(t, 6, "", b)...), []entry{{"", nil, true}}}, // found, and refused when it is unpacked
		"begins a file": {[]byte("\x7fELF"), nil},
	}
	for _, order := range []bothOrders{binary.LittleEndian, binary.BigEndian} {
		for _, wide := range []bool{false, true} {
			name := fmt.Sprintf("program %v %v", order, wide)
			files[name] = struct {
				file []byte
				want []entry
			}{program(t, wide, order, entry{".text", b, true}, entry{".debug_info", a, false}, entry{".zdebug_line", b, false}), []entry{{".debug_info", a, false}, {".zdebug_line", b, false}}}
		}
	}
	for name, tc := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := find(t, tc.file)
			if len(found) != len(tc.want) {
				t.Fatalf("%+v", found)
			}
			store, err := NewStore(t.TempDir())
			fail.On(t, err)
			defer store.Close()
			for i, s := range found {
				err := store.Unpack(t.Context(), bytes.NewReader(tc.file), &s.Stream)
				if tc.want[i].stored {
					if err == nil {
						t.Error("it was unpacked")
					}
					continue
				}
				got, readErr := io.ReadAll(store.Unpacked(s.Stream))
				if err != nil || readErr != nil || !bytes.Equal(got, tc.want[i].content) || s.Name != tc.want[i].name {
					t.Errorf("%s: %d bytes, %v, %v", s.Name, len(got), err, readErr)
				}
			}
		})
	}
}

// TestFindDamaged has files that are cut off or changed: what is found is within the file, in order.
func TestFindDamaged(t *testing.T) {
	t.Parallel()
	a := words(1, 3000)
	for _, file := range [][]byte{
		jar(t, entry{"a.txt", a, false}, entry{"in.jar", jar(t, entry{"b", a, false}), true}), zipped(t, 6, "n", a), program(t, true, binary.LittleEndian, entry{".debug_info", a, false}),
	} {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 3000 {
			changed := bytes.Clone(file)
			if i < len(file) {
				changed = changed[:i]
			}
			for range r.IntN(5) {
				if len(changed) > 4 {
					changed[4+r.IntN(len(changed)-4)] = byte(r.IntN(256))
				}
			}
			checkFound(t, changed, find(t, changed))
		}
	}
}

func checkFound(t *testing.T, file []byte, found []Named) {
	t.Helper()
	end := int64(0)
	for _, s := range found {
		if s.Start < end || s.Packed < minPacked || s.End() > int64(len(file)) || s.Unpacked < 1 {
			t.Fatalf("%+v", found)
		}
		end = s.End()
	}
}

// TestZip64 has an entry with the lengths of zip64, which is left out.
func TestZip64(t *testing.T) {
	t.Parallel()
	file := jar(t, entry{"a", words(1, 3000), false}, entry{"b", words(2, 3000), false})
	at := bytes.Index(file, []byte(zipEntry))
	copy(file[at+20:], "\xff\xff\xff\xff\xff\xff\xff\xff")
	if found := find(t, file); len(found) != 1 || found[0].Name != "b" {
		t.Errorf("%+v", found)
	}
	end := bytes.LastIndex(file, []byte(zipEnd))
	copy(file[end+8:], "\xff\xff\xff\xff")
	if found := find(t, file); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

// TestZipLimits has a zip file that refers to the same nested one again and again, and one with long names.
func TestZipLimits(t *testing.T) {
	t.Parallel()
	var small []entry
	for i := range 3000 {
		small = append(small, entry{fmt.Sprintf("%0400d", i), []byte("x"), true})
	}
	inner := jar(t, small...)
	file := jar(t, entry{"a.jar", inner, true}, entry{"b.txt", words(1, 3000), false}, entry{strings.Repeat("n", maxZipName+1), words(2, 3000), false})
	if found := find(t, file); len(found) != 1 || found[0].Name != "b.txt" {
		t.Errorf("%+v", found)
	}
	var f File
	left := int64(maxDirectory)
	s := &source{content: bytes.NewReader(file), size: int64(len(file))}
	for range 20 {
		s.entries(&f, "", 1, &left)
	}
	if left < 0 || left > int64(len(inner)) {
		t.Errorf("%d bytes are left", left)
	}
}

func FuzzFind(f *testing.F) {
	a := words(1, 500)
	f.Add(jar(f, entry{"a.txt", a, false}, entry{"in.jar", jar(f, entry{"b", a, false}), true}))
	f.Add(zipped(f, 6, "n", a))
	f.Add(program(f, true, binary.LittleEndian, entry{".debug_info", a, false}))
	f.Add(program(f, false, binary.BigEndian, entry{".zdebug_info", a, false}))
	f.Fuzz(func(t *testing.T, file []byte) { checkFound(t, file, find(t, file)) })
}
