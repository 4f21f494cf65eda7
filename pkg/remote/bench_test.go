package remote_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// serveBlob is a registry that has one blob and takes any.
func serveBlob(blob []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			w.Header().Set("Content-Length", strconv.Itoa(len(blob)))
			_, _ = w.Write(blob)
		case http.MethodPost:
			w.Header().Set("Location", "/v2/upload")
			w.WriteHeader(http.StatusAccepted)
		default:
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusCreated)
		}
	})
}

func benchmarkSizes(b *testing.B, f func(b *testing.B, repo reference.Reference, blob []byte, c *remote.Client)) {
	for _, size := range []int{4 << 10, 64 << 20} {
		b.Run(strconv.Itoa(size>>10)+"KiB", func(b *testing.B) {
			blob := bytes.Repeat([]byte{'x'}, size)
			s := startRegistry(b, func(http.Handler) http.Handler { return serveBlob(blob) })
			c := newClient(b, remote.Options{Side: remote.Destination})
			repo := repoAt(s, "a")
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			f(b, repo, blob, c)
		})
	}
}

func BenchmarkBlob(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, repo reference.Reference, blob []byte, c *remote.Client) {
		desc := describe(blob)
		for range b.N {
			r, err := c.Blob(b.Context(), repo, desc, 0)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				b.Fatal(err)
			}
			_ = r.Close()
		}
	})
}

// One client's blob is another's upload, without a copy between them.
func BenchmarkCopy(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, repo reference.Reference, blob []byte, c *remote.Client) {
		desc := describe(blob)
		for range b.N {
			_, err := c.PushBlob(b.Context(), repo, desc, nil, func(ctx context.Context, offset int64) (io.ReadCloser, error) {
				return c.Blob(ctx, repo, desc, offset)
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
