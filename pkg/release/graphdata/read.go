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

// Limits on graph data. That of 2026 has 1,800 files, the largest of 11 KB, and
// 104 KB as tar.gz; archives of the repository have some hundred files more.
const (
	// MaxSize is how many bytes a tar.gz may have.
	MaxSize     = 16 << 20
	maxUnpacked = 128 << 20 // with what is not read
	maxFile     = 4 << 20
	maxFiles    = 50_000
)

// Read reads the tar.gz of graph data. Its files may lie in one folder, as in
// the archives that GitHub makes. The error names every file that cannot be
// used, and what is wrong with it.
func Read(r io.Reader) (*Data, error) {
	d, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("reading graph data: %w", err)
	}
	return d, nil
}

func read(r io.Reader) (*Data, error) {
	sum := sha256.New()
	r = io.TeeReader(limit(r, MaxSize, "it has"), sum)
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
		return nil, fmt.Errorf("it is no tar.gz, which update services give (a proxy's page?): %w", err)
	}
	unpacked := limit(z, maxUnpacked, "it unpacks to")
	var c collector
	for t := tar.NewReader(unpacked); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("unpacking it: %w", err)
		}
		if err := c.add(h, t); err != nil {
			return nil, err
		}
	}
	// Behind the last header are zeros, and behind those the checksum of gzip.
	for _, rest := range []io.Reader{unpacked, r} {
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return nil, fmt.Errorf("unpacking it: %w", err)
		}
	}
	return c.root()
}

// A collector keeps the files that servers read.
type collector struct {
	folders map[string]map[string][]byte // by the folder that they are in, and their path there
	files   int
	size    int64
}

// add takes in one entry of an archive.
func (c *collector) add(h *tar.Header, r io.Reader) error {
	name := path.Clean(h.Name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return fmt.Errorf("the name %.200q leads out of the archive", h.Name)
	}
	folder := ""
	if !wanted(name) {
		if folder, name, _ = strings.Cut(name, "/"); !wanted(name) {
			return nil
		}
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%.200s is no regular file", name)
	}
	return c.file(folder, name, r)
}

// file reads one file that is wanted.
func (c *collector) file(folder, name string, r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return fmt.Errorf("unpacking %.200s: %w", name, err)
	}
	c.files++
	c.size += int64(len(text))
	switch {
	case len(text) > maxFile:
		return fmt.Errorf("%.200s has more than the %d bytes that are read", name, maxFile)
	case c.folders[folder][name] != nil:
		return fmt.Errorf("%.200s stands in the archive twice", name)
	case c.files > maxFiles || c.size > maxUnpacked:
		return fmt.Errorf("it has more than the %d files and %d MiB that are read", maxFiles, maxUnpacked>>20)
	case c.folders == nil:
		c.folders = map[string]map[string][]byte{}
	}
	if c.folders[folder] == nil {
		c.folders[folder] = map[string][]byte{}
	}
	c.folders[folder][name] = bytes.Clone(text)
	return nil
}

// root gives the files of the folder that is graph data: the one with the file
// version, and where there are several, the archive's own root.
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
		return nil, errors.New("it is no graph data: it has no file named version")
	case len(found) > 1 && found[0] != "":
		return nil, fmt.Errorf("both %.100s and %.100s have a file named version; graph data is one folder", found[0], found[1])
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

// wanted says that servers read a file.
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
		return 0, fmt.Errorf("%s more than the %d MiB that are read", l.what, l.all>>20)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	l.left -= int64(n)
	return n, err
}
