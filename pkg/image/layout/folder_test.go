package layout

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestFolderIsRemoved removes the blobs of an open layout, as users remove those of a cache, and once more after another
// layout has filled the folder.
func TestFolderIsRemoved(t *testing.T) {
	t.Parallel()
	l, dir := newLayout(t)
	blob, other := describe("content"), describe("other")
	for range 3 {
		fail.On(t, l.Put(t.Context(), blob, strings.NewReader("content")))
		fail.On(t, l.Check(t.Context(), blob, nil))
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(BlobPath(blob.Digest)))); err != nil || info.Size() != blob.Size {
			t.Errorf("the blob is not in the folder: %v, %v", info, err)
		}
		fail.On(t, os.RemoveAll(filepath.Join(dir, "blobs")))
		if l.Has(blob) {
			t.Error("the layout still has the blob")
		}
		if _, err := l.Blob(t.Context(), blob, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reading it: %v", err)
		}
		fail.On(t, l.Remove(blob))
		if again, err := Open(dir); err != nil {
			t.Fatal(err)
		} else if err := again.Put(t.Context(), other, strings.NewReader("other")); err != nil {
			t.Fatal(err)
		}
	}
	written, err := l.Write(t.Context(), "", func(w io.Writer) error {
		_, err := io.WriteString(w, "other")
		return err
	})
	if err != nil || written.Digest != other.Digest || !l.Has(other) {
		t.Errorf("Write = %v, %v", written, err)
	}
}
