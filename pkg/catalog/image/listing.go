package image

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/layers"
)

// A listing is what one layer does to the catalog's directory and to opm's
// cache, and whether it does anything else.
type listing struct {
	// entries are the files, directories and links at, below and above the
	// catalog's directory, by path.
	entries map[string]entry
	// whiteouts and opaque are the whiteouts that reach the catalog's
	// directory: paths that the layer removes, and directories whose older
	// content it removes.
	whiteouts, opaque []string
	// directories are the attributes of the directories above the catalog and
	// the cache.
	directories map[string]attributes
	// touches says for each of the lister's directories whether the layer has
	// something there.
	touches map[string]bool
	// more says that the layer has something elsewhere, too.
	more bool
	// tmp says that the layer has a /tmp, where opm makes its own cache.
	tmp bool
}

type kind uint8

const (
	regular kind = iota
	directory
	symlink
	unreadable
)

// An entry is one name that a layer has.
type entry struct {
	kind kind
	sum  [sha256.Size]byte // of a regular file, if the lister sums
	// link is where a symlink points, as it stands, and of a regular file that
	// is a hard link the path of its content in the same layer.
	link string
	why  string // an unreadable entry is no file
}

// attributes are what a tar header says of a directory.
type attributes struct {
	mode     int64
	uid, gid int
}

// The marks of a layer (OCI image spec, layer.md). Other names with the opaque
// prefix are notes of aufs to itself.
const (
	whiteoutPrefix = ".wh."
	opaquePrefix   = ".wh..wh."
	opaqueMark     = ".wh..wh..opq"
)

const (
	maxEntries = 200_000 // of one layer, at the catalog's directory
	maxName    = 4096    // PATH_MAX
)

// A lister lists layers.
type lister struct {
	dir    string         // the catalog's directory
	caches []string       // directories of opm's cache
	sums   bool           // hash the catalog's files
	left   *layers.Budget // what the catalog's files may have in all
	// file, if not nil, is given each regular file of the catalog's directory;
	// it need not read it to the end.
	file func(name string, r io.Reader) error
}

// list reads a tar archive to its end. It refuses an archive whose meaning
// depends on who unpacks it: names that point upwards, one name twice, a file
// below a file.
func (l *lister) list(r io.Reader) (*listing, error) {
	t := tar.NewReader(r)
	found := &listing{
		entries: map[string]entry{}, directories: map[string]attributes{}, touches: map[string]bool{},
	}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			err = found.check()
			return found, err
		}
		if err != nil {
			return nil, err
		}
		if err := l.add(found, h, t); err != nil {
			return nil, fmt.Errorf("reading %.200q: %w", h.Name, err)
		}
		if len(found.entries)+len(found.whiteouts)+len(found.opaque) > maxEntries {
			return nil, fmt.Errorf("the layer has more than %d names in the catalog's directory", maxEntries)
		}
	}
}

// add takes in one header, with its content in r.
func (l *lister) add(found *listing, h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if len(h.Name) > maxName {
		return fmt.Errorf("the name has %d bytes", len(h.Name))
	}
	name, err := cleanName(h.Name)
	if err != nil {
		return err
	}
	if base := path.Base(name); strings.HasPrefix(base, whiteoutPrefix) {
		return l.addMark(found, parent(name), base)
	}
	found.tmp = found.tmp || isBelow(name, "tmp")
	isDir := h.Typeflag == tar.TypeDir
	if l.isAbove(name) {
		if isDir {
			found.directories[name] = attributes{h.Mode & 0o7777, h.Uid, h.Gid}
		} else {
			found.more = true // a link or a file in the place of a directory
		}
	} else {
		l.touch(found, name)
	}
	if !isBelow(name, l.dir) && !isBelow(l.dir, name) {
		return nil
	}
	e, err := l.read(found, name, h, r)
	if err != nil {
		return err
	}
	if old, ok := found.entries[name]; ok && (old.kind != directory || !isDir) {
		return fmt.Errorf("the layer has the name twice")
	}
	found.entries[name] = e
	return nil
}

// read makes an entry of a header.
func (l *lister) read(found *listing, name string, h *tar.Header, r io.Reader) (entry, error) {
	switch h.Typeflag {
	case tar.TypeDir:
		return entry{kind: directory}, nil
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		if !isBelow(name, l.dir) || name == l.dir {
			return entry{kind: unreadable, why: "is a file where a directory belongs"}, nil
		}
		if _, ok := found.entries[name]; ok {
			return entry{}, nil // refused by the caller, before anybody sees the content
		}
		return l.readFile(name, r)
	case tar.TypeSymlink:
		if len(h.Linkname) > maxName {
			return entry{}, fmt.Errorf("the link's target has %d bytes", len(h.Linkname))
		}
		return entry{kind: symlink, link: h.Linkname}, nil
	case tar.TypeLink:
		return l.readLink(found, h.Linkname)
	}
	return entry{kind: unreadable, why: "is a device, a pipe or a socket"}, nil
}

func (l *lister) readFile(name string, r io.Reader) (entry, error) {
	e := entry{kind: regular}
	h := sha256.New()
	// A sparse file of a few bytes in the archive reads as any number of zeros.
	r = l.left.Limit(r)
	if l.sums {
		r = io.TeeReader(r, h)
	}
	if l.file != nil {
		if err := l.file(name, r); err != nil {
			return entry{}, err
		}
	}
	if l.sums {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return entry{}, err
		}
		h.Sum(e.sum[:0])
	}
	return e, nil
}

// readLink makes an entry of a hard link. What it names must stand before it in
// the same archive.
func (l *lister) readLink(found *listing, linkname string) (entry, error) {
	if len(linkname) > maxName {
		return entry{}, fmt.Errorf("the link's target has %d bytes", len(linkname))
	}
	target, err := cleanName(linkname)
	if err != nil {
		return entry{}, fmt.Errorf("reading the link's target: %w", err)
	}
	e, ok := found.entries[target]
	switch {
	case !isBelow(target, l.dir):
		return entry{kind: unreadable, why: "is a hard link to a file outside of the catalog's directory"}, nil
	case !ok || e.kind == directory:
		return entry{kind: unreadable, why: "is a hard link to a file that does not stand before it in the layer"}, nil
	case e.kind == regular && e.link == "":
		e.link = target
	}
	return e, nil
}

// addMark takes in a whiteout.
func (l *lister) addMark(found *listing, dir, base string) error {
	switch {
	case base == opaqueMark:
		l.touch(found, dir)
		if l.concerns(dir) {
			found.opaque = append(found.opaque, dir)
		}
	case strings.HasPrefix(base, opaquePrefix):
		l.touch(found, dir)
	case base == whiteoutPrefix, base == whiteoutPrefix+".":
		return fmt.Errorf("it is a whiteout without a name")
	default:
		name := path.Join(dir, strings.TrimPrefix(base, whiteoutPrefix))
		l.touch(found, name)
		if l.concerns(name) {
			found.whiteouts = append(found.whiteouts, name)
		}
	}
	return nil
}

// concerns says that a change of name changes the catalog's directory.
func (l *lister) concerns(name string) bool {
	return isBelow(name, l.dir) || isBelow(l.dir, name)
}

// touch notes where a name lies.
func (l *lister) touch(found *listing, name string) {
	inside := false
	for _, dir := range l.dirs() {
		if isBelow(name, dir) {
			found.touches[dir] = true
			inside = true
		}
	}
	if !inside {
		found.more = true
	}
}

func (l *lister) dirs() []string {
	return append([]string{l.dir}, l.caches...)
}

// isAbove says that name is a directory that the catalog or the cache needs,
// and that says nothing by being there.
func (l *lister) isAbove(name string) bool {
	for _, dir := range l.dirs() {
		if name != dir && isBelow(dir, name) {
			return true
		}
	}
	return false
}

// check refuses what lies below something that is no directory.
func (found *listing) check() error {
	for name := range found.entries {
		for up := parent(name); up != ""; up = parent(up) {
			if e, ok := found.entries[up]; ok && e.kind != directory {
				return fmt.Errorf("the layer has %.200q below %.200q, which is no directory", name, up)
			}
		}
	}
	slices.Sort(found.whiteouts)
	slices.Sort(found.opaque)
	return nil
}
