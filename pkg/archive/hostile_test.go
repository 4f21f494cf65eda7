package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// A hostile volume is one that a tar program reads differently than Gantry does.
type hostile struct {
	raw    []byte
	volume *volume
	target *entry // a blob in it, whose header is altered
}

// header changes the header of the target and corrects its checksum.
func (h *hostile) header(change func(block []byte)) {
	block := h.raw[h.target.Offset-blockSize : h.target.Offset]
	change(block)
	copy(block[148:], "        ")
	sum := 0
	for _, b := range block {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
}

// name changes the name in the header.
func (h *hostile) name(name string) {
	h.header(func(block []byte) { copy(block[:100], name+strings.Repeat("\x00", 100-len(name))) })
}

// kind turns the entry into something other than a file.
func (h *hostile) kind(flag byte, link string) {
	h.header(func(block []byte) {
		block[156] = flag
		copy(block[157:257], link)
	})
}

// insert inserts bytes before the header of the target, and moves everything after them.
func (h *hostile) insert(raw []byte) {
	at := h.target.Offset - tarHeaderSize(h.target.path())
	h.raw = append(h.raw[:at:at], append(bytes.Clone(raw), h.raw[at:]...)...)
	for i := range h.volume.Entries {
		if h.volume.Entries[i].Offset > at {
			h.volume.Entries[i].Offset += int64(len(raw))
		}
	}
	h.volume.Size += int64(len(raw))
}

// frame returns the digest that a hostile writer puts into the set manifest: the digest of the
// bytes in the volume.
func (h *hostile) frame() digest.Digest {
	sum := sha256.New()
	var end int64
	for i := range h.volume.Entries {
		e := &h.volume.Entries[i]
		sum.Write(h.raw[end:e.Offset])
		end = e.Offset + e.Size
	}
	sum.Write(h.raw[end:])
	return digest.NewDigest(digest.SHA256, sum)
}

// TestHostileVolumes checks that volumes with tar entries that Gantry never writes are refused: all headers are compared
// as a whole. If
// the set manifest was changed to match, they are refused when the archive is opened; if it is the
// one of the intact volume, when the archive is verified.
func TestHostileVolumes(t *testing.T) {
	file := func(path string, content string) []byte {
		raw := append(tarHeader(path, int64(len(content))), content...)
		return append(raw, make([]byte, padded(int64(len(content)))-int64(len(content)))...)
	}
	const altered, moved = "were altered: the header of blobs/sha256/", "too long: it has "
	for name, tc := range map[string]struct {
		make     func(h *hostile)
		intact   string // the error with the set manifest of the intact volume
		matching string // the error with a set manifest changed to match; "" is the error about a frame
	}{
		"absolute path":    {func(h *hostile) { h.name("/etc/passwd") }, altered, ""},
		"dot-dot path":     {func(h *hostile) { h.name("../../outside") }, altered, ""},
		"windows drive":    {func(h *hostile) { h.name(`C:\Windows\outside`) }, altered, ""},
		"symbolic link":    {func(h *hostile) { h.kind(tar.TypeSymlink, "/etc/passwd") }, altered, ""},
		"hard link":        {func(h *hostile) { h.kind(tar.TypeLink, "../../outside") }, altered, ""},
		"character device": {func(h *hostile) { h.kind(tar.TypeChar, "") }, altered, ""},
		"sparse header":    {func(h *hostile) { h.kind(tar.TypeGNUSparse, "") }, altered, ""},
		"global header":    {func(h *hostile) { h.kind(tar.TypeXGlobalHeader, "") }, altered, ""},
		"huge size":        {func(h *hostile) { h.header(func(b []byte) { copy(b[124:], "77777777777\x00") }) }, altered, ""},
		"negative size": {func(h *hostile) {
			h.header(func(b []byte) { copy(b[124:136], bytes.Repeat([]byte{0xff}, 12)) })
		}, altered, ""},
		"set user id":    {func(h *hostile) { h.header(func(b []byte) { copy(b[100:], "0004755\x00") }) }, altered, ""},
		"another magic":  {func(h *hostile) { h.header(func(b []byte) { copy(b[257:], "ustar  \x00") }) }, altered, ""},
		"wrong checksum": {func(h *hostile) { h.raw[h.target.Offset-blockSize+148]++ }, altered, ""},
		"no header":      {func(h *hostile) { clear(h.raw[h.target.Offset-blockSize : h.target.Offset]) }, altered, ""},
		"padding": {func(h *hostile) {
			copy(h.raw[h.target.Offset+h.target.Size:], "hidden")
		}, "were altered: the padding of blobs/sha256/", ""},
		"end of the volume": {func(h *hostile) {
			copy(h.raw[len(h.raw)-trailerSize:], appendUstar(nil, "../../outside", '0', 0))
		}, "were altered: the end of the volume", ""},
		"file behind the end": {func(h *hostile) {
			h.raw = append(h.raw, file("../../outside", "x")...)
			h.volume.Size = int64(len(h.raw))
		}, moved, "does not match its entries"},
		"garbage behind the end": {func(h *hostile) {
			h.raw = append(h.raw, bytes.Repeat([]byte("x"), blockSize)...)
			h.volume.Size = int64(len(h.raw))
		}, moved, "does not match its entries"},
		"hidden file":  {func(h *hostile) { h.insert(file("../../outside", "x")) }, moved, "offset"},
		"hidden twin":  {func(h *hostile) { h.insert(file(h.target.path(), "x")) }, moved, "offset"},
		"hidden label": {func(h *hostile) { h.insert(file(labelPath(1, 1), "{}")) }, moved, "offset"},
		"pax path": {func(h *hostile) {
			h.insert(append(appendUstar(nil, "gantry/pax", 'x', 22), append([]byte("22 path=/etc/passwd\nxx"), make([]byte, blockSize-22)...)...))
		}, moved, "offset"},
		"pax size": {func(h *hostile) {
			h.insert(append(appendUstar(nil, "gantry/pax", 'x', 10), append([]byte("10 size=0\n"), make([]byte, blockSize-10)...)...))
		}, moved, "offset"},
		"pax sparse": {func(h *hostile) {
			h.insert(append(appendUstar(nil, "gantry/pax", 'x', 22), append([]byte("22 GNU.sparse.major=1\n"), make([]byte, blockSize-22)...)...))
		}, moved, "offset"},
		"nested end": {func(h *hostile) { h.insert(make([]byte, trailerSize)) }, moved, "offset"},
	} {
		t.Run(name, func(t *testing.T) {
			s, outer := newSample(1, 700, 0, 3000), t.TempDir()
			dir := filepath.Join(outer, "media", "disk")
			s.write(t, dir, Options{})
			a, err := Open(dir)
			fail.On(t, err)
			fail.On(t, a.Close())
			raw := contentOf(t, filepath.Join(dir, volumeName(1, 1)))
			h := &hostile{raw: raw, volume: &a.set.Volumes[0]}
			for i := range h.volume.Entries {
				if e := &h.volume.Entries[i]; e.Digest == digest.FromBytes(s.bytes[s.Entries[1].Digest]) {
					h.target = e
				}
			}
			tc.make(h)
			put := func(name string, raw []byte) {
				fail.On(t, os.WriteFile(filepath.Join(dir, name), raw, 0o644))
			}
			put(volumeName(1, 1), h.raw)
			check := func(want string) {
				t.Helper()
				before := folder(t, outer)
				says(t, inspect(t, dir), want)
				fail.Diff(t, before, folder(t, outer))
			}
			check(tc.intact)
			h.volume.Frame = h.frame()
			text := encoded(t, a.set)
			put(setName(1), text)
			put(sumName(1), sum(setID{sequence: 1}, digest.FromBytes(text)))
			want := tc.matching
			if want == "" {
				want = "frame "
			}
			check(want)
		})
	}
}

// TestHostilePax checks that the pax header before a long path is compared too.
func TestHostilePax(t *testing.T) {
	s := newSample(1, 100)
	long := []byte("content that is named by a longer digest")
	desc := ocispec.Descriptor{Digest: digest.SHA512.FromBytes(long), Size: int64(len(long))}
	s.bytes[desc.Digest], s.Entries = long, append(s.Entries, desc)
	dir := t.TempDir()
	s.write(t, dir, Options{})
	s.check(t, dir)
	path := filepath.Join(dir, volumeName(1, 1))
	for old, replaced := range map[string]string{"path=blobs/sha512/": "path=/////////etc/", " path=": " size=", "gantry/pax": "gantry/xap"} {
		undo := alter(t, path, func(raw []byte) []byte {
			if bytes.Count(raw, []byte(old)) != 1 {
				t.Fatalf("%q is there %d times", old, bytes.Count(raw, []byte(old)))
			}
			return bytes.Replace(raw, []byte(old), []byte(replaced), 1)
		})
		if err := inspect(t, dir); err == nil || !strings.Contains(err.Error(), "were altered: the header of "+layout.BlobPath(desc.Digest)) {
			t.Errorf("%q: %v", replaced, err)
		}
		undo()
	}
}

// TestHostileFolder checks that links and folders with the names of an archive's files are refused
// and never followed.
func TestHostileFolder(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		make func(path, outside string) error
		want string
	}{
		"set manifest is a link":   {setName(1), func(path, outside string) error { return os.Symlink(outside, path) }, "not a regular file"},
		"set manifest is a folder": {setName(1), func(path, _ string) error { return os.Mkdir(path, 0o755) }, "not a regular file"},
		"sum is a link":            {sumName(1), func(path, outside string) error { return os.Symlink(outside, path) }, "not a regular file"},
		"sum is long":              {sumName(1), func(path, _ string) error { return os.WriteFile(path, make([]byte, 1000), 0o644) }, "more than the 512 bytes"},
		"volume is a link":         {volumeName(1, 1), func(path, outside string) error { return os.Symlink(outside, path) }, "not a regular file"},
		"volume is a folder":       {volumeName(1, 1), func(path, _ string) error { return os.Mkdir(path, 0o755) }, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir, outside := newSample(1, 700), t.TempDir(), t.TempDir()
			s.write(t, dir, Options{})
			path, hidden := filepath.Join(dir, tc.file), filepath.Join(outside, "file")
			// The target of the link has the correct content.
			fail.On(t, errors.Join(os.Rename(path, hidden), tc.make(path, hidden)))
			var damage *DamageError
			if err := inspect(t, dir); !errors.As(err, &damage) || damage.Damage[0].File != tc.file || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
