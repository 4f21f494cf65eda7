package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxForeignFiles is how many files of a tar file are looked at to find out who wrote it.
const maxForeignFiles = 1000

// describeForeign tells what a file with the name of a volume is that has no label.
func describeForeign(root *os.Root, name string) notFoundError {
	f, info, err := regular.Open(root, name)
	if err != nil {
		return notFoundError{name + " cannot be read: " + problemOf(err), "check the disk"}
	}
	defer f.Close() // only read from
	again := "copy it again from where it was written, and compare the sizes"
	head := make([]byte, blockSize)
	switch n, err := f.ReadAt(head, 0); {
	case info.Size() == 0:
		return notFoundError{name + " is empty: it has 0 bytes", again}
	case err != nil && !errors.Is(err, io.EOF):
		return notFoundError{name + " cannot be read: " + problemOf(err), "check the disk"}
	case bytes.HasPrefix(head[:n], []byte("gantry/")):
		return notFoundError{name + " begins like a volume of Gantry, and its label is damaged or cut off", again}
	case bytes.HasPrefix(head[:n], []byte{0x1f, 0x8b}), bytes.HasPrefix(head[:n], []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return notFoundError{name + " is compressed, and volumes are not", "decompress it"}
	case bytes.Count(head[:n], []byte{0}) == n:
		return notFoundError{name + " begins with zeros: it has no files, or was never filled", again}
	}
	return describeTar(name, io.NewSectionReader(f, 0, info.Size()))
}

// describeTar tells who wrote a tar file that is not a volume.
func describeTar(name string, text io.Reader) notFoundError {
	in := tar.NewReader(text)
	for n := range maxForeignFiles {
		h, err := in.Next()
		switch {
		case err == io.EOF && n == 0:
			return notFoundError{name + " is a tar file without files", "name the folder of an archive"}
		case err != nil && n == 0:
			return notFoundError{name + " is not a tar file, and so neither an archive of Gantry nor of oc mirror", "name the folder of an archive"}
		case err != nil:
			return foreignTar(name)
		case isOCMirrorPath(h.Name):
			return notFoundError{name + " is an archive that oc mirror wrote", "gantry archive convert file://DIR --to NEW makes an archive of it that Gantry reads"}
		case strings.HasPrefix(h.Name, "publish/"), strings.HasPrefix(h.Name, "v2/"), strings.HasPrefix(name, "mirror_seq"):
			return notFoundError{name + " is an archive of oc mirror version 1, which Gantry cannot read", "write one from the same configuration; content that the mirror already has is not copied again"}
		}
	}
	return foreignTar(name)
}

func foreignTar(name string) notFoundError {
	return notFoundError{name + " is a tar file of another program", "name the folder of an archive"}
}

// isOCMirrorPath reports whether a path of a tar file is one of those that oc mirror, version 2, gives to
// what it archives: blobs as a registry stores them, its working directory, and the configuration.
func isOCMirrorPath(path string) bool {
	path = strings.TrimPrefix(path, "./")
	return strings.HasPrefix(path, "docker/registry/v2/") || strings.HasPrefix(path, "working-dir/") || strings.HasPrefix(path, "isc_")
}
