package registrytest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
)

// epoch is the time stamp of all content, so that its digests depend only on its names.
var epoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// A layer is a gzipped tar archive in memory. It is not compressed: the output of a compressor may
// change with the Go release, and so would the digests.
type layer struct {
	mediaType      types.MediaType
	tar, gzipped   []byte
	diffID, digest v1.Hash
	err            error // of making it, which its methods return
}

// newLayer makes a layer of files and their parent folders, sorted.
func newLayer(files map[string]File) *layer {
	all := maps.Clone(files)
	for name := range files {
		for dir := path.Dir(path.Clean(name)); dir != "."; dir = path.Dir(dir) {
			all[dir+"/"] = File{}
		}
	}
	var list []File
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		f.Name = name
		list = append(list, f)
	}
	return layerOf(list)
}

// layerOf makes a layer of these entries, in this order.
func layerOf(files []File) *layer {
	size := 2 * 512 // plus 512 bytes for each file's header, and up to as many to fill its last block
	for _, f := range files {
		size += len(f.Data) + 2*512
	}
	var b bytes.Buffer
	b.Grow(size)
	tw := tar.NewWriter(&b)
	var err error
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: 0o644, Size: int64(len(f.Data)), ModTime: epoch}
		if strings.HasSuffix(f.Name, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		if f.Mode != 0 {
			h.Mode = f.Mode
		}
		headerErr := tw.WriteHeader(h)
		_, dataErr := tw.Write(f.Data)
		err = errors.Join(err, headerErr, dataErr)
	}
	err = errors.Join(err, tw.Close())
	z, zipErr := store(b.Bytes())
	return &layer{types.OCILayer, b.Bytes(), z, hash(b.Bytes()), hash(z), errors.Join(err, zipErr)}
}

// storers is a pool of gzip writers without compression. Each needs almost a megabyte, which is
// much for the small layers that tests make by the thousand.
var storers = sync.Pool{New: func() any {
	zw, _ := gzip.NewWriterLevel(io.Discard, gzip.NoCompression) // the level is valid
	return zw
}}

// store returns data in gzip format, without compression.
func store(data []byte) ([]byte, error) {
	var z bytes.Buffer
	z.Grow(len(data) + len(data)/1000 + 64)
	zw, _ := storers.Get().(*gzip.Writer)
	defer storers.Put(zw)
	zw.Reset(&z)
	_, err := zw.Write(data)
	err = errors.Join(err, zw.Close())
	return z.Bytes(), err
}

// randomLayer returns a layer with one file of size bytes, which depend only on seed.
func randomLayer(seed string, size int) *layer {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(seed))).Read(data) // never fails
	return newLayer(map[string]File{"opt/content/" + digest.FromString(seed).Encoded()[:16]: {Data: data}})
}

// as returns the layer with another media type.
func (l *layer) as(mt types.MediaType) *layer {
	c := *l
	c.mediaType = mt
	return &c
}

func (l *layer) Digest() (v1.Hash, error)            { return l.digest, l.err }
func (l *layer) DiffID() (v1.Hash, error)            { return l.diffID, l.err }
func (l *layer) Size() (int64, error)                { return int64(len(l.gzipped)), nil }
func (l *layer) MediaType() (types.MediaType, error) { return l.mediaType, nil }
func (l *layer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.gzipped)), nil
}

func (l *layer) Uncompressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.tar)), nil
}

func hash(b []byte) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: digest.FromBytes(b).Encoded()}
}
