// Package ocarchive reads what oc mirror, version 2, carries to a disconnected site: its archives,
// which are tar files named mirror_000001.tar and so on, and its cache, which is a folder with the same
// layout.
//
// Both have images as the storage of CNCF distribution has them (docker/registry/v2): for every tag a
// small file with a digest, and the blobs by digest. An archive has the links of everything that the
// cache ever had, and only the blobs that no earlier archive had. Therefore an Archive is read from all
// folders that are named, oldest first: a link in a later one replaces that in an earlier one, and blobs
// are taken from where they are. Beside them is a working directory with catalogs, releases and
// signatures, and the configuration.
//
// Nothing is extracted. Files are untrusted: paths and links are checked here, and readers compare
// content with its digest.
package ocarchive

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

const (
	storage = "docker/registry/v2/"
	// WorkingDir is the folder of the archive with what oc mirror knows besides images.
	WorkingDir = "working-dir/"
	// maxFiles limits the files of all folders together, and maxFile the size in bytes of one that is
	// read into memory.
	maxFiles = 5_000_000
	maxFile  = 256 << 20
	maxLink  = 256
)

// An Archive is open for reading. It is safe for concurrent use.
type Archive struct {
	// Volumes are the files and folders that it is read from, in their order.
	Volumes []string

	closers []io.Closer
	blobs   map[digest.Digest]place
	tags    map[Name]place
	// revisions are the manifests that the cache has, or had, by repository.
	revisions map[string]map[digest.Digest]bool
	files     map[string]place // in the working directory, and configurations
	n         int
}

// A Name is a repository and a tag.
type Name struct{ Repository, Tag string }

// A place is where the bytes of a file are.
type place struct {
	from   *os.Root // a folder, or nil
	file   io.ReaderAt
	path   string
	offset int64
	size   int64
	unix   int64 // when it was written
}

// volumeName matches the names of volumes.
var volumeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^mirror_[0-9]{6}\.tar$`) })

// Open opens folders, oldest first: each has volumes, or is a cache of oc mirror (--cache-dir). A folder
// without either is an error that wraps fs.ErrNotExist.
func Open(dirs ...string) (*Archive, error) {
	a := &Archive{
		blobs: map[digest.Digest]place{}, tags: map[Name]place{}, revisions: map[string]map[digest.Digest]bool{}, files: map[string]place{},
	}
	for _, dir := range dirs {
		if err := a.addFolder(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("reading an archive of oc mirror in %s: %w", dir, err), a.Close())
		}
	}
	return a, nil
}

// Close closes all files.
func (a *Archive) Close() error {
	errs := elements.Map(a.closers, func(c io.Closer) error { return c.Close() })
	return errors.Join(errs...)
}

func (a *Archive) addFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return missingError("it is a file, and not a folder")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, root)
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	volumes := 0
	for _, e := range entries { // by name
		if !volumeName().MatchString(e.Name()) {
			continue
		}
		volumes++
		if err := a.addVolume(root, dir, e.Name()); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	if volumes > 0 {
		return nil
	}
	for _, at := range []string{".", ".cache", ".oc-mirror/.cache"} {
		if info, err := root.Stat(at + "/" + strings.TrimSuffix(storage, "/")); err == nil && info.IsDir() {
			a.Volumes = append(a.Volumes, filepath.Join(dir, at))
			return a.addTree(root, at)
		}
	}
	return missingError("there is no mirror_000001.tar and no " + storage)
}

// A missingError says why a folder has no archive. It is fs.ErrNotExist.
type missingError string

func (e missingError) Error() string { return string(e) }

func (missingError) Is(target error) bool { return target == fs.ErrNotExist }

// addVolume reads the headers of a volume.
func (a *Archive) addVolume(root *os.Root, dir, name string) error {
	f, info, err := regular.Open(root, name)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, f)
	a.Volumes = append(a.Volumes, filepath.Join(dir, name))
	if info.Size() == 0 {
		return errors.New("it is empty")
	}
	section := io.NewSectionReader(f, 0, info.Size())
	for in := tar.NewReader(section); ; {
		h, err := in.Next()
		if err == io.EOF {
			return checkEnd(f, info.Size())
		}
		if err != nil {
			return fmt.Errorf("it is not a complete tar file: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		at, err := section.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if h.Size > info.Size()-at {
			return fmt.Errorf("it is cut off in %.100q", h.Name)
		}
		if err := a.add(strings.TrimPrefix(h.Name, "./"), place{file: f, offset: at, size: h.Size, unix: h.ModTime.Unix()}); err != nil {
			return err
		}
	}
}

// checkEnd returns an error unless the volume ends as a tar file does: with 1,024 zeros.
func checkEnd(f io.ReaderAt, size int64) error {
	end := make([]byte, 1024)
	if _, err := f.ReadAt(end, max(size-int64(len(end)), 0)); err != nil {
		return fmt.Errorf("it is cut off: %w", err)
	}
	if bytes.Count(end, []byte{0}) != len(end) {
		return errors.New("it is cut off")
	}
	return nil
}

// addTree reads a cache.
func (a *Archive) addTree(root *os.Root, at string) error {
	return fs.WalkDir(root.FS(), at, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(path, at+"/")
		if at == "." {
			rel = path
		}
		return a.add(rel, place{from: root, path: path, size: info.Size(), unix: info.ModTime().Unix()})
	})
}

// Paths in the storage of a registry.
var (
	blobPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^blobs/(sha256|sha512)/[0-9a-f]{2}/([0-9a-f]{64,128})/data$`)
	})
	tagPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^repositories/(.+)/_manifests/tags/([^/]+)/current/link$`)
	})
	revisionPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^repositories/(.+)/_manifests/revisions/(sha256|sha512)/([0-9a-f]{64,128})/link$`)
	})
	configurationName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^isc_[0-9TZ:.+-]+(\.yaml)?$`) })
)

// add records a file, if it is one that can be used.
func (a *Archive) add(path string, at place) error {
	if a.n++; a.n > maxFiles {
		return fmt.Errorf("there are more than %d files", maxFiles)
	}
	stored, ok := strings.CutPrefix(path, storage)
	switch {
	case ok:
		a.addStored(stored, at)
	case strings.HasPrefix(path, WorkingDir) && fs.ValidPath(path), configurationName().MatchString(path):
		a.files[path] = at
	}
	return nil
}

func (a *Archive) addStored(path string, at place) {
	if m := blobPath().FindStringSubmatch(path); m != nil {
		if d := digest.NewDigestFromEncoded(digest.Algorithm(m[1]), m[2]); reference.IsKnownDigest(d) {
			a.blobs[d] = at
		}
	} else if m := tagPath().FindStringSubmatch(path); m != nil {
		if reference.IsPath(m[1]) && reference.IsTag(m[2]) {
			a.tags[Name{m[1], m[2]}] = at
		}
	} else if m := revisionPath().FindStringSubmatch(path); len(m) > 3 && reference.IsPath(m[1]) {
		if a.revisions[m[1]] == nil {
			a.revisions[m[1]] = map[digest.Digest]bool{}
		}
		a.revisions[m[1]][digest.NewDigestFromEncoded(digest.Algorithm(m[2]), m[3])] = true
	}
}

// A Tag is a name and the digest that it has in the newest folder.
type Tag struct {
	Name
	Digest digest.Digest
}

// Tags returns all tags, by repository and tag.
func (a *Archive) Tags() ([]Tag, error) {
	all := make([]Tag, 0, len(a.tags))
	for name, at := range a.tags {
		raw, err := at.read(maxLink)
		if err != nil {
			return nil, fmt.Errorf("reading the link of %s:%s: %w", name.Repository, name.Tag, err)
		}
		d := digest.Digest(strings.TrimSpace(string(raw)))
		if !reference.IsKnownDigest(d) {
			return nil, fmt.Errorf("the link of %s:%s has %.80q, which is not a digest", name.Repository, name.Tag, d)
		}
		all = append(all, Tag{name, d})
	}
	elements.Sort(all, func(x, y Tag) int {
		return cmp.Or(strings.Compare(x.Repository, y.Repository), strings.Compare(x.Tag, y.Tag))
	})
	return all, nil
}

// HadRevision reports whether the cache had a manifest in a repository when the newest archive was
// written: then it was mirrored, with this archive or an earlier one.
func (a *Archive) HadRevision(repository string, d digest.Digest) bool {
	return a.revisions[repository][d]
}

// Size returns the size of a blob or manifest. ok is false if no folder has it.
func (a *Archive) Size(d digest.Digest) (size int64, ok bool) {
	at, ok := a.blobs[d]
	return at.size, ok
}

// Blob opens a blob or manifest. It does not compare it with its digest.
func (a *Archive) Blob(d digest.Digest) (io.ReadCloser, error) {
	at, ok := a.blobs[d]
	if !ok {
		return nil, fmt.Errorf("%s is not in the archive: %w", d, fs.ErrNotExist)
	}
	return at.open()
}

// Manifest returns a manifest, which is compared with its digest.
func (a *Archive) Manifest(d digest.Digest, limit int64) ([]byte, error) {
	at, ok := a.blobs[d]
	if !ok {
		return nil, fmt.Errorf("%s is not in the archive: %w", d, fs.ErrNotExist)
	}
	raw, err := at.read(limit)
	if err == nil && d.Algorithm().FromBytes(raw) != d {
		err = fmt.Errorf("%s is damaged: its digest is %s", d, d.Algorithm().FromBytes(raw))
	}
	return raw, err
}

// Files returns the paths below a path of the working directory, sorted.
func (a *Archive) Files(below string) (paths []string) {
	for path := range a.files {
		if strings.HasPrefix(path, below) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// Text returns a file of the working directory. An error wraps fs.ErrNotExist if there is none.
func (a *Archive) Text(path string) ([]byte, error) {
	at, ok := a.files[path]
	if !ok {
		return nil, fmt.Errorf("%s is not in the archive: %w", path, fs.ErrNotExist)
	}
	return at.read(maxFile)
}

// Time returns when a file of the working directory was last written.
func (a *Archive) Time(path string) time.Time { return time.Unix(a.files[path].unix, 0) }

// Configuration returns the newest configuration in the archive, and its path. An error wraps
// fs.ErrNotExist if there is none.
func (a *Archive) Configuration() (path string, text []byte, err error) {
	all := a.Files("isc_")
	if len(all) == 0 {
		return "", nil, fmt.Errorf("the archive has no configuration: %w", fs.ErrNotExist)
	}
	path = all[len(all)-1] // their names are times
	text, err = a.Text(path)
	return path, text, err
}

func (p *place) open() (io.ReadCloser, error) {
	if p.from != nil {
		f, _, err := regular.Open(p.from, p.path)
		return f, err
	}
	return io.NopCloser(io.NewSectionReader(p.file, p.offset, p.size)), nil
}

func (p *place) read(limit int64) ([]byte, error) {
	if p.size > limit {
		return nil, fmt.Errorf("it has %d bytes, more than the %d that are allowed", p.size, limit)
	}
	f, err := p.open()
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit))
	return raw, errors.Join(err, f.Close())
}
