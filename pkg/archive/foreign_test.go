package archive

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// tarOf returns a tar file with empty files.
func tarOf(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		fail.On(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600}))
	}
	fail.On(t, w.Close())
	return b.Bytes()
}

// TestForeignArchive checks that files with the name of a volume that are none are called what they are.
func TestForeignArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newSample(1, 3000).write(t, dir, Options{})
	ours := contentOf(t, filepath.Join(dir, volumeName(1, 1)))
	for name, tc := range map[string]struct {
		file       string
		raw        []byte
		want, hint string
	}{
		"empty":            {"mirror_000001.tar", nil, "mirror_000001.tar is empty: it has 0 bytes", "copy it again"},
		"zeros":            {"mirror_000001.tar", make([]byte, 4096), "begins with zeros", "copy it again"},
		"of oc mirror":     {"mirror_000002.tar", tarOf(t, "docker/registry/v2/repositories/a/_layers/sha256/x/link"), "mirror_000002.tar is an archive that oc mirror wrote", "gantry archive convert"},
		"its last part":    {"mirror_000002.tar", tarOf(t, "isc_2026-01-01T00:00:00Z.yaml", "working-dir/info"), "is an archive that oc mirror wrote", "gantry archive convert"},
		"of its version 1": {"mirror_seq1_000000.tar", tarOf(t, "publish/.metadata.json"), "is an archive of oc mirror version 1", "same configuration"},
		"compressed":       {"mirror_000001.tar", []byte{0x1f, 0x8b, 8, 0}, "is compressed", "decompress"},
		"text":             {"mirror_000001.tar", []byte("<html>not found"), "is not a tar file", "name the folder"},
		"of others":        {"mirror_000001.tar", tarOf(t, "etc/passwd"), "is a tar file of another program", "name the folder"},
		"our own, damaged": {"mirror_000001.tar", ours[:520], "begins like a volume of Gantry", "copy it again"},
		"our own, cut off": {"mirror_000001.tar", ours[:700], "cut off after 700 bytes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fail.On(t, os.WriteFile(filepath.Join(dir, tc.file), tc.raw, 0o600))
			_, err := Open(dir)
			says(t, err, tc.want, tc.hint)
		})
	}
}
