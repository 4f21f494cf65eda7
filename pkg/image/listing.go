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

	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// A Listing is what one layer does to the directories that a Lister is about, and whether it does
// anything else.
type Listing struct {
	// Directories are the attributes of the directories above the lister's.
	Directories map[string]Attributes
	// Touches reports for each of the lister's directories whether the layer changes it.
	Touches map[string]bool
	// Elsewhere reports whether the layer changes anything else.
	Elsewhere bool
	// Tmp reports whether the layer has /tmp or something in it.
	Tmp bool

	// entries are the files, directories and links at, below and above Lister.Dir, by path.
	entries map[string]entry
	// whiteouts and opaque are the whiteouts that affect Lister.Dir: paths that the layer removes,
	// and directories whose content in lower layers it removes.
	whiteouts, opaque []string
}

type kind uint8

const (
	regular kind = iota
	directory
	symlink
	outside // a hard link to a file that is not at or below Lister.Dir
	unreadable
)

// An entry is one name in a layer.
type entry struct {
	kind kind
	sum  [sha256.Size]byte // of a regular file, with Lister.Sums
	// link is the target of a symbolic link as it is written, and for a hard link the path of its
	// content in the same layer.
	link string
	why  string // the reason of an unreadable entry
}

// Attributes are the mode and owner of a directory.
type Attributes struct {
	Mode     int64
	UID, GID int
}

// Whiteouts (OCI image spec, layer.md). Other names with the opaque prefix are metadata of aufs.
const (
	whiteoutPrefix = ".wh."
	opaquePrefix   = ".wh..wh."
	opaqueMark     = ".wh..wh..opq"
)

const (
	maxEntries = 200_000 // of one layer, at Lister.Dir
	maxName    = 4096    // PATH_MAX
)

// A Lister reads layers.
type Lister struct {
	// Dir is the directory whose files are read, by its path below the root; "" is the root.
	Dir string
	// Also are further directories that Listing.Touches tells apart.
	Also []string
	// Sums makes it hash the files below Dir, so that View.Differs can compare them.
	Sums bool
	// Budget limits the unpacked bytes, and the names at, below and above Dir.
	Budget *layers.Budget
	// File, if not nil, is called with each regular file below Dir, by its path below the root. It
	// does not have to read it to the end.
	File func(name string, r io.Reader) error
}

// List reads a tar archive to its end. It rejects archives whose meaning depends on the program that
// unpacks them: names that point upwards, one name twice, a file below a file.
func (l *Lister) List(r io.Reader) (*Listing, error) {
	t := tar.NewReader(r)
	found := &Listing{
		entries: map[string]entry{}, Directories: map[string]Attributes{}, Touches: map[string]bool{},
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
			return nil, fmt.Errorf("the layer has more than %d names below /%s", maxEntries, l.Dir)
		}
	}
}

// add adds one header, with its content in r.
func (l *Lister) add(found *Listing, h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if len(h.Name) > maxName {
		return fmt.Errorf("the name has %d bytes", len(h.Name))
	}
	name, err := CleanPath(h.Name)
	if err != nil {
		return err
	}
	if l.concerns(name) {
		if err := l.Budget.Name(name, h.Linkname); err != nil {
			return err
		}
	}
	if base := path.Base(name); strings.HasPrefix(base, whiteoutPrefix) {
		return l.addMark(found, parent(name), base)
	}
	found.Tmp = found.Tmp || IsBelow(name, "tmp")
	isDir := h.Typeflag == tar.TypeDir
	if l.isAbove(name) {
		if isDir {
			found.Directories[name] = Attributes{h.Mode & 0o7777, h.Uid, h.Gid}
		} else {
			found.Elsewhere = true // a link or a file instead of a directory
		}
	} else {
		l.touch(found, name)
	}
	if !IsBelow(name, l.Dir) && !IsBelow(l.Dir, name) {
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

// read returns the entry of a header.
func (l *Lister) read(found *Listing, name string, h *tar.Header, r io.Reader) (entry, error) {
	switch h.Typeflag {
	case tar.TypeDir:
		return entry{kind: directory}, nil
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		if !IsBelow(name, l.Dir) || name == l.Dir {
			return entry{kind: unreadable, why: "is a file instead of a directory"}, nil
		}
		if _, ok := found.entries[name]; ok {
			return entry{}, nil // rejected by the caller, without passing the content on
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

func (l *Lister) readFile(name string, r io.Reader) (entry, error) {
	e := entry{kind: regular}
	h := sha256.New()
	// A sparse file of a few bytes in the archive can read as any number of zeros.
	r = l.Budget.Limit(r)
	if l.Sums {
		r = io.TeeReader(r, h)
	}
	if l.File != nil {
		if err := l.File(name, r); err != nil {
			return entry{}, err
		}
	}
	if l.Sums {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return entry{}, err
		}
		h.Sum(e.sum[:0])
	}
	return e, nil
}

// readLink returns the entry of a hard link. Its target must be before it in the same archive.
func (l *Lister) readLink(found *Listing, linkname string) (entry, error) {
	if len(linkname) > maxName {
		return entry{}, fmt.Errorf("the link's target has %d bytes", len(linkname))
	}
	target, err := CleanPath(linkname)
	if err != nil {
		return entry{}, fmt.Errorf("reading the link's target: %w", err)
	}
	e, ok := found.entries[target]
	switch {
	case !IsBelow(target, l.Dir):
		return entry{kind: outside}, nil
	case !ok || e.kind == directory:
		return entry{kind: unreadable, why: "is a hard link to a file that is not before it in the layer"}, nil
	case e.kind == regular && e.link == "":
		e.link = target
	}
	return e, nil
}

// addMark adds a whiteout.
func (l *Lister) addMark(found *Listing, dir, base string) error {
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

// concerns reports whether a change of name changes Dir.
func (l *Lister) concerns(name string) bool {
	return IsBelow(name, l.Dir) || IsBelow(l.Dir, name)
}

// touch records which directories a name is in.
func (l *Lister) touch(found *Listing, name string) {
	inside := false
	for _, dir := range l.dirs() {
		if IsBelow(name, dir) {
			found.Touches[dir] = true
			inside = true
		}
	}
	if !inside {
		found.Elsewhere = true
	}
}

func (l *Lister) dirs() []string {
	return append([]string{l.Dir}, l.Also...)
}

// isAbove reports whether name is a directory above one of the lister's. It then is no content.
func (l *Lister) isAbove(name string) bool {
	return slices.ContainsFunc(l.dirs(), func(dir string) bool { return name != dir && IsBelow(dir, name) })
}

// check rejects names below something that is not a directory.
func (found *Listing) check() error {
	for name := range found.entries {
		for up := parent(name); up != ""; up = parent(up) {
			if e, ok := found.entries[up]; ok && e.kind != directory {
				return fmt.Errorf("the layer has %.200q below %.200q, which is not a directory", name, up)
			}
		}
	}
	slices.Sort(found.whiteouts)
	slices.Sort(found.opaque)
	return nil
}
