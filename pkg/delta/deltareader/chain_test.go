package deltareader

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// versions are compressed blobs, each a delta of the one before. Only the first is whole.
type versions struct {
	blobs  [][]byte
	deltas [][]byte
	shared bool // readers know which blobs are bases

	mu     sync.Mutex
	opened []int // how often each delta file was opened
}

func newVersions(t *testing.T, n int) *versions {
	t.Helper()
	v := &versions{deltas: make([][]byte, n), opened: make([]int, n)}
	content := make([]byte, 20_000)
	for i := range content {
		content[i] = byte(rand.Int32N(16))
	}
	for i := range n {
		before := content
		content = bytes.Clone(content)
		copy(content[500*i:], fmt.Sprint("version", i))
		var blob, file bytes.Buffer
		w := gzip.NewWriter(&blob)
		_, err := w.Write(content)
		fail.On(t, errors.Join(err, w.Close()))
		v.blobs = append(v.blobs, blob.Bytes())
		if i == 0 {
			continue
		}
		recipe, _, err := recompress.Detect(t.Context(), bytes.NewReader(blob.Bytes()), int64(blob.Len()), recompress.DetectOptions{})
		fail.On(t, err)
		text, err := recipe.MarshalBinary()
		fail.On(t, err)
		target := delta.Target{Digest: v.blob(i).Digest, Size: v.blob(i).Size, Content: bytes.NewReader(content), ContentSize: int64(len(content)), Recipe: text}
		_, err = delta.Encode(t.Context(), &file, target, []delta.Base{{Digest: v.blob(i - 1).Digest, Content: bytes.NewReader(before), Size: int64(len(before))}}, delta.Options{})
		fail.On(t, err)
		v.deltas[i] = file.Bytes()
	}
	return v
}

func (v *versions) blob(i int) ocispec.Descriptor {
	return ocispec.Descriptor{Digest: digest.FromBytes(v.blobs[i]), Size: int64(len(v.blobs[i]))}
}

// delta returns the delta of a version. Bases are opened whole if they are the first or read again.
func (v *versions) delta(i int, whole bool) Delta {
	return Delta{
		Blob: v.blob(i), Bases: []ocispec.Descriptor{v.blob(i - 1)}, Shared: v.shared && i+1 < len(v.blobs),
		Open: func(context.Context) (io.ReadCloser, error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.opened[i]++
			return io.NopCloser(bytes.NewReader(v.deltas[i])), nil
		},
		OpenBase: func(_ context.Context, _ digest.Digest, again bool) (io.ReadCloser, error) {
			if again && !whole {
				return nil, fs.ErrNotExist
			}
			return io.NopCloser(bytes.NewReader(v.blobs[i-1])), nil
		},
		BaseDelta: func(digest.Digest) (Delta, bool) {
			if i == 1 {
				return Delta{}, false
			}
			return v.delta(i-1, whole), true
		},
	}
}

func (v *versions) read(ctx context.Context, b *Builder, i int, whole bool) error {
	body, err := b.Blob(ctx, v.delta(i, whole))
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(body)
	if err == nil && !bytes.Equal(raw, v.blobs[i]) {
		err = errors.New("other bytes")
	}
	return errors.Join(err, body.Close())
}

// TestBasesOfSeries reads the layers of several versions of an image in any order, with several readers: no base is
// made twice.
func TestBasesOfSeries(t *testing.T) {
	t.Parallel()
	var layers []*versions
	for range 8 {
		layers = append(layers, newVersions(t, 6))
	}
	for _, readers := range []int{2, 8, 8} {
		b := New(t.TempDir())
		var g errgroup.Group
		g.SetLimit(readers)
		for _, n := range rand.Perm(len(layers) * 5) {
			g.Go(func() error { return layers[n/5].read(t.Context(), b, n%5+1, false) })
		}
		fail.On(t, g.Wait())
		fail.On(t, b.Close())
		for _, l := range layers {
			// Two for its header and its content as a blob, and two as a base. If it is shared, one is enough for its content.
			want := []int{0, 4, 4, 4, 4, 2}
			if l.shared {
				want = []int{0, 3, 3, 3, 3, 2}
			}
			fail.Diff(t, want, l.opened)
			l.opened, l.shared = make([]int, len(l.opened)), readers == 8
		}
	}
}

// TestBrokenBaseDelta reads another copy of a base whose delta is broken, and otherwise tells which one it is.
func TestBrokenBaseDelta(t *testing.T) {
	t.Parallel()
	v := newVersions(t, 5)
	v.deltas[2][len(v.deltas[2])-3] ^= 1
	b := New(t.TempDir())
	defer b.Close()
	fail.On(t, v.read(t.Context(), b, 4, true))
	fail.Diff(t, 2, v.opened[2])
	fail.On(t, b.Close())
	err := v.read(t.Context(), b, 4, false)
	var broken []digest.Digest
	for missing, ok := errors.AsType[*BaseError](err); ok; missing, ok = errors.AsType[*BaseError](missing.Err) {
		broken = append(broken, missing.Base)
	}
	fail.Diff(t, []digest.Digest{v.blob(3).Digest, v.blob(2).Digest}, broken)
	if err := v.read(t.Context(), b, 1, false); err != nil {
		t.Error(err)
	}
}

// TestFullDiskOfBases removes what no delta uses if the disk is full, and what is the oldest if it is much.
func TestFullDiskOfBases(t *testing.T) {
	t.Parallel()
	b := &bases{dir: t.TempDir()}
	defer b.removeIdle()
	loads := 0
	get := func(i int, size int64, err error) error {
		x, err := b.get(t.Context(), digest.FromString(fmt.Sprint(i)), size, func(context.Context, digest.Digest, int64) (*os.File, int64, error) {
			if loads++; err != nil && len(b.idle) > 0 {
				return nil, 0, err
			}
			f, err := os.CreateTemp(b.dir, "")
			return f, size, err
		})
		if err == nil {
			b.release(x)
		}
		return err
	}
	for i := range mostKept + 1 {
		fail.On(t, get(i, keptBytes/100, nil))
	}
	fail.Diff(t, mostKept, len(b.idle))
	fail.On(t, get(100, keptBytes, nil))
	fail.Diff(t, leastKept, len(b.idle))
	fail.Diff(t, int64(3*(keptBytes/100)+keptBytes), b.kept)
	loads = 0
	fail.On(t, get(101, 10, syscall.ENOSPC))
	fail.Diff(t, 2, loads)
	fail.Diff(t, 1, len(b.idle))
	if err := get(102, 10, &BaseError{"x", syscall.ENOSPC}); !errors.Is(err, syscall.ENOSPC) || len(b.idle) != 1 {
		t.Errorf("%v, %d are kept", err, len(b.idle))
	}
}
