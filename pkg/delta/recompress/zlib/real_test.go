package zlib_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
)

// TestRealContent compresses files of this machine as layers contain them: a tar stream of
// small files, and programs.
func TestRealContent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compresses 30 MB fifteen times")
	}
	l := startLibrary(t)
	contents := map[string][]byte{
		"usr-share": archiveOf(t, "/usr/share", 6<<20),
		"usr-bin":   archiveOf(t, "/usr/bin", 12<<20),
		"usr-lib":   archiveOf(t, "/usr/lib", 12<<20),
	}
	for name, data := range contents {
		if len(data) < 1<<20 {
			t.Log("too little content in", name)
			continue
		}
		for _, level := range []int{1, 6, 9} {
			what := fmt.Sprintf("%s, %d bytes, level %d", name, len(data), level)
			// Java's GZIPOutputStream has a buffer of 512 bytes, and Python's tarfile copies 16 KiB at once.
			for _, o := range []zlib.Options{{Level: level}, {Level: level, WriteSize: 16 << 10}, {Level: level, WriteSize: 512, MemoryLevel: 9}} {
				compare(t, fmt.Sprintf("%s, %+v", what, o), compress(t, o, data), l.compress(t, o, data))
			}
			for _, program := range []zlib.Program{zlib.Gzip, zlib.Pigz} {
				t.Run(fmt.Sprintf("%s-%s-%d", program, name, level), func(t *testing.T) {
					o := zlib.Options{Program: program, Level: level}
					compare(t, what, compress(t, o, data), runProgram(t, o, data))
				})
			}
		}
	}
}

// archiveOf returns a tar stream of the regular files below a directory, of about limit bytes.
func archiveOf(t *testing.T, root string, limit int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	enough := errors.New("enough")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // unreadable directories are left out
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 8<<20 {
			return nil //nolint:nilerr // unreadable files are left out
		}
		if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
		if b.Len() > limit {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return b.Bytes()
}
