package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzObjects checks that objects are the same after writing and reading.
func FuzzObjects(f *testing.F) {
	var b bytes.Buffer
	if _, err := writeMetas(&b, []*catalog.Meta{
		{Schema: "olm.package", Package: "p", Name: "p", File: "a/b.json", Line: 7, Raw: []byte(`{"schema":"olm.package","name":"p"}`)},
		{Schema: "s", Raw: []byte("{}")},
	}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\x00\x00\x00\x00\x00\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		metas, err := list(readMetas(bytes.NewReader(data), int64(len(data))))
		if err != nil {
			return
		}
		var b bytes.Buffer
		n, err := writeMetas(&b, metas)
		if err != nil || n != int64(b.Len()) || n > size(metas) {
			t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
		}
		again, err := list(readMetas(&b, n))
		if err != nil || len(again) != len(metas) {
			t.Fatalf("read %d of %d objects: %v", len(again), len(metas), err)
		}
		for i, m := range metas {
			if g := again[i]; g.Schema != m.Schema || g.Package != m.Package || g.Name != m.Name || g.File != m.File || g.Line != m.Line || !bytes.Equal(g.Raw, m.Raw) {
				t.Errorf("object %d: got %v, want %v", i, g, m)
			}
		}
	})
}

// FuzzSnapshot makes a file with correct checksums from any objects and any index, and checks that
// a snapshot of the result returns the same result.
func FuzzSnapshot(f *testing.F) {
	var objects bytes.Buffer
	for _, raw := range []string{
		`{"schema":"olm.package","name":"p","defaultChannel":"c"}`,
		`{"schema":"olm.channel","package":"p","name":"c","entries":[{"name":"p.v1"}]}`,
		`{"schema":"olm.bundle","package":"p","name":"p.v1","properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}}]}`,
	} {
		var m catalog.Meta
		fail.On(f, json.Unmarshal([]byte(raw), &m))
		m.Package, m.Raw = "p", []byte(raw)
		if _, err := writeMetas(&objects, []*catalog.Meta{&m}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(objects.Bytes(), []byte(`{"root":"r","whole":true,"names":["p"],"facts":{}}`), true)
	f.Add(objects.Bytes(), []byte(`{"root":"r","names":["p","q"]}`), false)
	f.Add(bytes.ReplaceAll(objects.Bytes(), []byte("\x01p"), []byte("\x01q")), []byte(`{"whole":true}`), false) // objects of another package
	f.Add([]byte{}, []byte(`{"root":"r","packages":[{"name":"q","at":8,"size":-1}]}`), true)
	z, err := zstd.NewWriter(nil)
	fail.On(f, err)
	f.Fuzz(func(t *testing.T, objects, text []byte, all bool) {
		var ix index
		if err := json.Unmarshal(text, &ix); err != nil {
			return
		}
		packed := z.EncodeAll(objects, nil)
		sum := sha256.Sum256(packed)
		complete := frame{At: int64(len(magic)), Size: int64(len(packed)), Unpacked: int64(len(objects)), SHA256: hex.EncodeToString(sum[:])}
		if len(ix.Packages) == 0 {
			ix.Packages = []storedPackage{{"p", complete}}
		}
		empty := sha256.Sum256(nil)
		if ix.Others.SHA256 == "" {
			ix.Others = frame{SHA256: hex.EncodeToString(empty[:])}
		}
		text, err := json.Marshal(ix)
		if err != nil {
			return
		}
		data := append([]byte(magic), packed...)
		at := uint64(len(data))
		data = binary.BigEndian.AppendUint64(append(data, text...), at)
		data = binary.BigEndian.AppendUint64(data, uint64(len(text)))
		sum = sha256.Sum256(text)
		data = append(append(data, sum[:]...), magic...)

		s, err := Open(bytes.NewReader(data), int64(len(data)), ix.Root)
		if err != nil {
			return
		}
		options := catalog.Options{Outline: !all}
		if !all {
			options.Keep = func(name string) bool { return name == "p" }
		}
		c, err := s.Catalog(options)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, Content{Root: ix.Root, Catalog: c, Options: options, Facts: s.Facts()}); err != nil {
			return
		}
		again, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()), ix.Root)
		fail.On(t, err)
		d, err := again.Catalog(options)
		fail.On(t, err)
		if len(d.Packages) != len(c.Packages) || len(d.Outlines) != len(c.Outlines) || len(d.Others) != len(c.Others) || len(d.Names) != len(c.Names) {
			t.Errorf("got %v, want %v", d, c)
		}
	})
}
