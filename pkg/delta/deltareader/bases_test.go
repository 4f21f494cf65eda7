package deltareader

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// loader returns a function that loads blobs as they are stored.
func (b *bases) loader(open openFunc) loadFunc {
	return func(ctx context.Context, d digest.Digest, size int64) (*os.File, int64, error) {
		return b.load(ctx, d, size, open)
	}
}

// TestBaseOfAnother checks that a base is loaded again if the call that loads it is canceled, or expects another size,
// and that other errors are those of all calls that wait.
func TestBaseOfAnother(t *testing.T) {
	t.Parallel()
	raw := bytes.Repeat([]byte("base"), 1000)
	size := int64(len(raw))
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		cancel bool
		size   int64 // that the first call expects
		err    error // of its blob
		want   error
		loads  int
	}{
		"canceled":      {true, size, context.Canceled, nil, 2},
		"smaller":       {false, 10, nil, nil, 2},
		"larger":        {false, size + 1, nil, nil, 1},
		"unreadable":    {false, size, broken, broken, 1},
		"both can read": {false, size, nil, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bases{dir: t.TempDir()}
			defer b.removeIdle()
			d := digest.FromBytes(raw)
			loads := 0
			opened, proceed, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				x, err := b.get(ctx, d, tc.size, b.loader(func(_ context.Context, _ digest.Digest, again bool) (io.ReadCloser, error) {
					if again {
						return nil, fs.ErrNotExist // there is no other copy
					}
					loads++
					close(opened)
					<-proceed
					return io.NopCloser(bytes.NewReader(raw)), tc.err
				}))
				if err == nil {
					b.release(x)
				}
				first <- err
			}()
			<-opened
			if tc.cancel {
				cancel()
			}
			found, known := b.find(d) // as a second call that waits
			if !known {
				t.Fatal("it is not shared")
			}
			close(proceed)
			firstErr := <-first
			if (firstErr == nil) != (tc.size == size && tc.err == nil) {
				t.Errorf("the first call: %v", firstErr)
			}
			x, err := b.finish(t.Context(), found, known, size, b.loader(func(context.Context, digest.Digest, bool) (io.ReadCloser, error) {
				loads++
				return io.NopCloser(bytes.NewReader(raw)), nil
			}))
			if !errors.Is(err, tc.want) || loads != tc.loads {
				t.Fatalf("%v after %d loads", err, loads)
			}
			if err == nil {
				fail.Diff(t, size, x.size)
				b.release(x)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, x := range b.all {
				if x.users != 0 || x.err != nil {
					t.Errorf("%+v remains", x)
				}
			}
		})
	}
}
