package deltamaker

import (
	"cmp"
	"context"
	"io"
	"os"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// maxKept is how many blobs are kept: each is an open file.
const maxKept = 128

// keepBlob keeps a blob that was downloaded and has no delta, so that it is not downloaded again. All of these take
// at most a ninth of the space: the archive may be on the same disk.
func (m *maker) keepBlob(w *work) {
	size := w.change.Blob.Size
	m.mu.Lock()
	defer m.mu.Unlock()
	free, err := m.free(cmp.Or(m.Temp, os.TempDir()))
	if err != nil || free < 8*(m.keptBytes+size) || len(m.result.kept) >= maxKept {
		return
	}
	m.keptBytes += size
	m.result.kept[w.change.Blob.Digest] = w.blob
	w.blob = nil
}

// Source returns a reader of another source that reads the blobs that Make downloaded, and that have no delta, from
// this machine.
func (r *Result) Source(from image.Reader) image.Reader {
	if len(r.kept) == 0 {
		return from
	}
	return &keptSource{from, r}
}

// Close removes the blobs that Make downloaded. The deltas stay in the cache.
func (r *Result) Close() {
	for _, f := range r.kept {
		regular.Discard(f)
	}
	r.kept = nil
}

// A keptSource reads blobs that were downloaded before.
type keptSource struct {
	image.Reader
	result *Result
}

// Blob implements image.Reader.
func (s *keptSource) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	f := s.result.kept[desc.Digest]
	if f == nil || offset < 0 || offset > desc.Size {
		return s.Reader.Blob(ctx, from, desc, offset)
	}
	body := io.NopCloser(io.NewSectionReader(f, offset, desc.Size-offset))
	return layout.Rest(ctx, body, desc, offset, "what was downloaded")
}
