package graphdata

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
)

// Limits on graph data. In 2026 it has 1,800 files, the largest of 11 KB, and 104 KB as tar.gz;
// archives of the repository have a few hundred files more.
const (
	// maxSize is the maximum size of a tar.gz in bytes.
	maxSize     = 16 << 20
	maxUnpacked = 128 << 20 // including ignored files
	maxFile     = 4 << 20
	maxFiles    = 50_000
)

// Read reads the tar.gz of graph data. Its files may be in one folder, as in the archives of
// GitHub. The error names every invalid file with the reason.
func Read(r io.Reader) (*Data, error) {
	d, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("reading graph data: %w", err)
	}
	return d, nil
}

func read(r io.Reader) (*Data, error) {
	sum := sha256.New()
	r = io.TeeReader(limit(r, maxSize, "the file has"), sum)
	files, err := untar(r)
	if err != nil {
		return nil, err
	}
	d, err := parse(files)
	if err != nil {
		return nil, err
	}
	d.Digest = digest.NewDigest(digest.SHA256, sum)
	return d, nil
}

// untar reads the tar.gz to its end.
func untar(r io.Reader) (map[string][]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("not a tar.gz; check whether a proxy returned an error page: %w", err)
	}
	unpacked := limit(z, maxUnpacked, "the file unpacks to")
	var c collector
	for t := tar.NewReader(unpacked); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("unpacking: %w", err)
		}
		if err := c.add(h, t); err != nil {
			return nil, err
		}
	}
	// Zeros follow the last header, then the checksum of gzip.
	for _, rest := range []io.Reader{unpacked, r} {
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return nil, fmt.Errorf("unpacking: %w", err)
		}
	}
	return c.root()
}

// A collector keeps the files that servers read.
type collector struct {
	folders map[string]map[string][]byte // by folder, then by path below it
	files   int
	size    int64
}

// add adds one entry of an archive.
func (c *collector) add(h *tar.Header, r io.Reader) error {
	name := path.Clean(h.Name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return fmt.Errorf("the name %.200q is outside of the archive", h.Name)
	}
	folder := ""
	if !wanted(name) {
		if folder, name, _ = strings.Cut(name, "/"); !wanted(name) {
			return nil
		}
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%.200s is not a regular file", name)
	}
	return c.file(folder, name, r)
}

// file reads one file that servers use.
func (c *collector) file(folder, name string, r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return fmt.Errorf("unpacking %.200s: %w", name, err)
	}
	c.files++
	c.size += int64(len(text))
	switch {
	case len(text) > maxFile:
		return fmt.Errorf("%.200s exceeds the limit of %d bytes", name, maxFile)
	case c.folders[folder][name] != nil:
		return fmt.Errorf("duplicate file %.200s in the archive", name)
	case c.files > maxFiles || c.size > maxUnpacked:
		return fmt.Errorf("more than the limit of %d files and %d MiB", maxFiles, maxUnpacked>>20)
	case c.folders == nil:
		c.folders = map[string]map[string][]byte{}
	}
	if c.folders[folder] == nil {
		c.folders[folder] = map[string][]byte{}
	}
	c.folders[folder][name] = bytes.Clone(text)
	return nil
}

// root returns the files of the folder with the file version. If there are several, it is the
// archive's own root.
func (c *collector) root() (map[string][]byte, error) {
	var found []string
	for folder, files := range c.folders {
		if files[versionFile] != nil {
			found = append(found, folder)
		}
	}
	slices.Sort(found)
	switch {
	case len(found) == 0:
		return nil, errors.New("not graph data: no file named version")
	case len(found) > 1 && found[0] != "":
		return nil, fmt.Errorf("both %.100s and %.100s have a file named version; pack only one folder", found[0], found[1])
	}
	return c.folders[found[0]], nil
}

// The files and folders that servers read.
const (
	versionFile  = "version"
	licenseFile  = "LICENSE"
	metadataFile = "raw/metadata.json"
	channelsDir  = "channels"
	blocksDir    = "blocked-edges"
)

// wanted reports whether servers read a file.
func wanted(name string) bool {
	switch name {
	case versionFile, licenseFile, metadataFile:
		return true
	}
	dir, base := path.Split(name)
	return (dir == channelsDir+"/" || dir == blocksDir+"/") && path.Ext(base) == ".yaml"
}

// limit returns a reader that fails after n bytes.
func limit(r io.Reader, n int64, what string) io.Reader { return &limited{r, n, n, what} }

type limited struct {
	r         io.Reader
	left, all int64
	what      string
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, fmt.Errorf("%s more than the limit of %d MiB", l.what, l.all>>20)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	l.left -= int64(n)
	return n, err
}
