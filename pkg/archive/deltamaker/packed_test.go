package deltamaker

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/delta/deltareader"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// phrases returns words, many of them several times, so that the levels of a compressor differ. Some depend on the month.
func phrases(seed uint64, size, month int) []byte {
	r := rand.New(rand.NewPCG(seed, 8))
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%x ", r.IntN(3000)*r.IntN(40))
		if i%3000 == 7 {
			fmt.Fprintf(&b, "month %d\n", month)
		}
	}
	return b.Bytes()
}

// jar returns a zip file with compressed entries. compress may be nil.
func jar(t *testing.T, month int, compress zip.Compressor) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if compress != nil {
		w.RegisterCompressor(zip.Deflate, compress)
	}
	for i, name := range []string{"Main.class", "Other.class"} {
		part, err := w.Create(name)
		if err == nil {
			_, err = part.Write(phrases(uint64(20+i), 100<<10, month))
		}
		fail.On(t, err)
	}
	fail.On(t, w.Close())
	return b.Bytes()
}

// program returns an ELF file with a section that is compressed as the linker of Go does.
func program(t *testing.T, month int) []byte {
	t.Helper()
	order := binary.LittleEndian
	content := phrases(30, 200<<10, month)
	section := bytes.NewBuffer(order.AppendUint64(order.AppendUint64(order.AppendUint64(nil, 1), uint64(len(content))), 1))
	z, err := zlib.NewWriterLevel(section, flate.BestSpeed)
	if err == nil {
		_, err = z.Write(content)
	}
	fail.On(t, errors.Join(err, z.Close()))
	names := "\x00.debug_info\x00"
	file := make([]byte, 64)
	copy(file, "\x7fELF\x02\x01\x01")
	table := make([]byte, 64)
	for _, s := range []struct {
		name  uint32
		flags uint64
		b     []byte
	}{{1, 1 << 11, section.Bytes()}, {0, 0, []byte(names)}} {
		table = order.AppendUint32(order.AppendUint32(table, s.name), 1)
		for _, v := range []uint64{s.flags, 0, uint64(len(file)), uint64(len(s.b)), 0, 1, 0} {
			table = order.AppendUint64(table, v)
		}
		file = append(file, s.b...)
	}
	order.PutUint64(file[40:], uint64(len(file)))
	for i, v := range []uint16{64, 3, 2} { // size and number of section headers, and the one with the names
		order.PutUint16(file[58+2*i:], v)
	}
	return append(file, table...)
}

// TestPacked makes a delta of a layer in which nothing but compressed parts of files changed, and makes the layer again. The compressed bytes have
// nothing in common, so the delta is small only if it sees through the compression.
func TestPacked(t *testing.T) {
	t.Parallel()
	source := newMemory()
	month := func(n int) ocispec.Descriptor {
		return source.add(layer(t, map[string][]byte{"a": jar(t, n, nil), "b": program(t, n), "c": text(3, 5<<10, 0)}))
	}
	old, now := month(1), month(2)
	without := func(prefix string) []string {
		return slices.DeleteFunc(slices.Clone(recompress.Supported()), func(name string) bool { return strings.HasPrefix(name, prefix) })
	}
	for name, tc := range map[string]struct {
		compressors []string
		require     []string
		least, most int64
	}{
		"all":              {nil, []string{"go-gzip:1/", "go-gzip:5/", "go-gzip:6/"}, 0, now.Size / 50},
		"a site without 1": {without("go-gzip:1/"), []string{"go-gzip:5/", "go-gzip:6/"}, now.Size / 4, now.Size * 3 / 4}, // the section stays as it is
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Cache: t.TempDir(), Temp: t.TempDir(), Time: time.Hour, Compressors: tc.compressors}
			made, err := Make(t.Context(), []Change{{Blob: now, Source: "src", Candidates: []Candidate{candidate(old)}}}, source, o)
			fail.On(t, err)
			defer made.Close()
			same := slices.EqualFunc(made.Requires, tc.require, strings.HasPrefix)
			if len(made.Deltas) != 1 || made.Carried < tc.least || made.Carried > tc.most || !same {
				t.Fatalf("%+v of %d bytes", made, now.Size)
			}
			again, err := Make(t.Context(), []Change{{Blob: now, Source: "src", Candidates: []Candidate{candidate(old)}}}, source, o)
			if err != nil || again.Cached != 1 || !slices.Equal(again.Requires, made.Requires) {
				t.Errorf("from the cache: %+v, %v", again, err)
			}
			rebuild(t, source, made.Deltas[0].Open, old, now)
			if left, err := os.ReadDir(o.Temp); err != nil || len(left) > 0 {
				t.Errorf("temporary files remain: %v, %v", left, err)
			}
		})
	}
}

// rebuild makes a blob as a site does.
func rebuild(t *testing.T, source *memory, open func(ctx context.Context) (io.ReadCloser, error), old, now ocispec.Descriptor) {
	t.Helper()
	b := deltareader.New(t.TempDir())
	defer b.Close()
	body, err := b.Blob(t.Context(), deltareader.Delta{
		Blob: now, Bases: []ocispec.Descriptor{old}, Open: open,
		OpenBase: func(ctx context.Context, d digest.Digest, _ bool) (io.ReadCloser, error) {
			return source.Blob(ctx, "src", ocispec.Descriptor{Digest: d, Size: old.Size}, 0)
		},
	})
	fail.On(t, err)
	got, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil || !bytes.Equal(got, source.content[now.Digest]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
