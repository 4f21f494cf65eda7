//go:build amd64 || arm64

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A disk knows which changes in a folder would survive a power failure now: content of files that were synced since, and
// names in folders that were synced since. It is stricter than file systems: these also write earlier names when a file is
// synced.
type disk struct {
	dir     string
	top     *inode
	pending []change // of names that are not synced, in order
}

// An inode is a file or a folder.
type inode struct {
	mode          fs.FileMode
	names, synced map[string]*inode // of a folder: now, and when it was synced
	content       []byte            // of a file, when it was synced
}

// A change is of one name or, if a file was renamed, of two at once.
type change []entry

// An entry is a name that refers to something new; nil removes it.
type entry struct {
	in   *inode
	name string
	to   *inode
}

// A loss is what a power failure leaves of what was not synced.
type loss struct {
	name           string
	names, content func(r *rand.Rand) bool // keep this change of names, this block of 512 bytes?
}

func losses() []loss {
	all, none := func(*rand.Rand) bool { return true }, func(*rand.Rand) bool { return false }
	half := func(r *rand.Rand) bool { return r.IntN(2) == 0 }
	return []loss{{"nothing stays", none, none}, {"names stay", all, none}, {"content stays", none, all}, {"parts stay", half, half}, {"names and parts of content stay", all, half}}
}

// newDisk begins with what is in a folder, all of it synced.
func newDisk(dir string) (*disk, error) {
	top, err := readInode(dir)
	return &disk{dir: dir, top: top}, err
}

func readInode(path string) (*inode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	n := newInode(info.Mode())
	if !info.IsDir() {
		n.content, err = os.ReadFile(path)
		return n, err
	}
	all, err := os.ReadDir(path)
	for _, e := range all {
		if n.names[e.Name()], err = readInode(filepath.Join(path, e.Name())); err != nil {
			return nil, err
		}
	}
	maps.Copy(n.synced, n.names)
	return n, err
}

func newInode(mode fs.FileMode) *inode {
	return &inode{mode: mode, names: map[string]*inode{}, synced: map[string]*inode{}}
}

// at returns the folder that has a path, the last element, and what is there.
func (d *disk) at(path string) (in *inode, name string, node *inode) {
	node = d.top
	rest, _ := filepath.Rel(d.dir, path)
	for part := range strings.SplitSeq(rest, "/") {
		if in = node; in == nil {
			return nil, part, nil
		}
		name, node = part, in.names[part]
	}
	return in, name, node
}

// follow makes a change that succeeded.
func (d *disk) follow(c ...entry) {
	for _, e := range c {
		setName(e.in.names, e)
	}
	d.pending = append(d.pending, c)
}

func setName(names map[string]*inode, e entry) {
	if names[e.name] = e.to; e.to == nil {
		delete(names, e.name)
	}
}

func (d *disk) create(path string, mode fs.FileMode, err error) error {
	if d != nil && err == nil {
		in, name, _ := d.at(path)
		d.follow(entry{in, name, newInode(mode)})
	}
	return err
}

func (d *disk) remove(path string, err error) error {
	if d != nil && err == nil {
		in, name, _ := d.at(path)
		d.follow(entry{in, name, nil})
	}
	return err
}

func (d *disk) rename(from, to string, err error) error {
	if d != nil && err == nil {
		in, name, node := d.at(from)
		toIn, toName, _ := d.at(to)
		d.follow(entry{in, name, nil}, entry{toIn, toName, node})
	}
	return err
}

// sync makes durable what is in a file, or the names in a folder.
func (d *disk) sync(path string) (err error) {
	_, _, node := d.at(path)
	switch {
	case path == d.dir:
		node = d.top
	case node == nil: // it has no name any longer
		return nil
	}
	if !node.mode.IsDir() {
		node.content, err = os.ReadFile(path)
		return err
	}
	d.pending = slices.DeleteFunc(d.pending, func(c change) bool {
		here := slices.ContainsFunc(c, func(e entry) bool { return e.in == node })
		if here {
			c.survives()
		}
		return here
	})
	return nil
}

func (c change) survives() {
	for _, e := range c {
		setName(e.in.synced, e)
	}
}

// fail loses power: afterwards, the folder has what a file system may have then.
func (d *disk) fail(l loss, r *rand.Rand) error {
	now := map[*inode][]byte{}
	if err := d.top.read(d.dir, now); err != nil {
		return err
	}
	for _, c := range d.pending {
		if l.names(r) {
			c.survives()
		}
	}
	all, err := os.ReadDir(d.dir)
	for _, e := range all {
		err = errors.Join(err, os.RemoveAll(filepath.Join(d.dir, e.Name())))
	}
	return errors.Join(err, d.top.write(d.dir, now, func() bool { return l.content(r) }))
}

// read reads what the files have now, and compares the names with those that are expected.
func (n *inode) read(path string, now map[*inode][]byte) (err error) {
	if !n.mode.IsDir() {
		now[n], err = os.ReadFile(path)
		return err
	}
	all, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	names := elements.Map(all, func(e os.DirEntry) string { return e.Name() })
	if want := slices.Sorted(maps.Keys(n.names)); !slices.Equal(names, want) {
		return fmt.Errorf("%s has %q, and what was watched made %q", path, names, want)
	}
	for name, m := range n.names {
		if err := m.read(filepath.Join(path, name), now); err != nil {
			return err
		}
	}
	return nil
}

// write writes what survived. keep decides about each block that is different now.
func (n *inode) write(path string, now map[*inode][]byte, keep func() bool) error {
	if !n.mode.IsDir() {
		text, exists := now[n]
		if !exists {
			text = n.content // it was removed
		}
		return os.WriteFile(path, torn(n.content, text, keep), n.mode.Perm())
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(n.synced)) {
		if err := n.synced[name].write(filepath.Join(path, name), now, keep); err != nil {
			return err
		}
	}
	return nil
}

// torn returns what is left of a file that had one content when it was synced, and then another one.
func torn(before, after []byte, keep func() bool) []byte {
	const block = 512
	var left []byte
	for at := 0; at < max(len(before), len(after)); at += block {
		from := before
		if keep() {
			from = after
		}
		if at < len(from) {
			part := from[at:min(at+block, len(from))]
			left = append(append(left, make([]byte, at-min(at, len(left)))...), part...)
		}
	}
	return left
}
