package image

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A View is a directory as the layers leave it. Layers are added from the uppermost down, so that
// what is visible once stays visible.
type View struct {
	visible map[string]placed
	// covered are names that hide what lower layers have at and below them: whiteouts, and
	// everything that is not a directory.
	covered map[string]bool
	// opaque are directories whose content in lower layers is hidden.
	opaque map[string]bool
	// directories hide files of the same name in lower layers. A layer has a directory if it has an
	// entry for it or for something below it.
	directories map[string]bool
}

// placed is an entry and the layer that has it.
type placed struct {
	entry
	layer int // its position in the manifest
}

// isLink reports whether the content is somewhere else, or nowhere.
func (p placed) isLink() bool {
	return p.kind != directory && (p.kind != regular || p.link != "")
}

// NewView returns an empty view.
func NewView() *View {
	return &View{
		visible: map[string]placed{}, covered: map[string]bool{}, opaque: map[string]bool{}, directories: map[string]bool{},
	}
}

// Shows reports whether a file of the next layer down is visible.
func (v *View) Shows(name string) bool { return v.shows(name, false) }

func (v *View) shows(name string, isDir bool) bool {
	if v.covered[name] || !isDir && v.directories[name] {
		return false
	}
	for name != "" {
		name = parent(name)
		if v.covered[name] || v.opaque[name] {
			return false
		}
	}
	return true
}

// HasFile reports whether name is visible and not a directory.
func (v *View) HasFile(name string) bool {
	p, ok := v.visible[name]
	return ok && p.kind != directory
}

// Len returns the number of visible names that are not directories.
func (v *View) Len() int {
	n := 0
	for _, p := range v.visible {
		if p.kind != directory {
			n++
		}
	}
	return n
}

// InLayer reports whether name is visible and in the layer at a position of the manifest.
func (v *View) InLayer(name string, layer int) bool {
	p, ok := v.visible[name]
	return ok && p.layer == layer
}

// Uses reports whether the layer at a position of the manifest has a visible regular file.
func (v *View) Uses(layer int) bool {
	for _, p := range v.visible {
		if p.kind == regular && p.layer == layer {
			return true
		}
	}
	return false
}

// Links returns the visible names whose content is somewhere else, sorted.
func (v *View) Links() []string {
	return elements.Filter(slices.Sorted(maps.Keys(v.visible)), func(name string) bool { return v.visible[name].isLink() })
}

// Add adds the next layer down.
func (v *View) Add(layer int, found *Listing) {
	for name, e := range found.entries {
		if _, ok := v.visible[name]; !ok && v.shows(name, e.kind == directory) {
			v.visible[name] = placed{e, layer}
		}
	}
	// Whiteouts come last: they do not affect their own layer.
	for name, e := range found.entries {
		if e.kind == directory {
			v.directories[name] = true
		} else {
			v.covered[name] = true
		}
		for up := parent(name); up != "" && !v.directories[up]; up = parent(up) {
			v.directories[up] = true
		}
	}
	for _, name := range found.whiteouts {
		v.covered[name] = true
	}
	for _, name := range found.opaque {
		v.opaque[name] = true
	}
}

// Differs returns a file that is not the same in two views, or "". The layers of both must have been
// listed with Lister.Sums.
func (v *View) Differs(w *View) string {
	for _, name := range slices.Sorted(maps.Keys(v.visible)) {
		if a, b := v.visible[name], w.visible[name]; a.kind != directory && !same(a, b, w, name) {
			return name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.visible)) {
		if _, ok := v.visible[name]; !ok && w.visible[name].kind != directory {
			return name
		}
	}
	return ""
}

func same(a, b placed, w *View, name string) bool {
	if _, ok := w.visible[name]; !ok || a.kind != b.kind {
		return false
	}
	switch a.kind {
	case regular:
		return bytes.Equal(a.sum[:], b.sum[:])
	case symlink:
		return a.link == b.link
	}
	return true
}

// maxLinks is the maximum number of symbolic links from a name to its file, as in Linux.
const maxLinks = 40

// ErrOutside is the error of ReadLinks for a link to a file outside of the directory of the view. A
// view of the whole image has that file.
var ErrOutside = errors.New("it leads out of the directory")

// follow returns the regular file of a name, through symbolic links in any part of its path. dir is
// the directory that the view has.
func (v *View) follow(name, dir string) (placed, string, error) {
	p, at, err := v.resolve(name, dir)
	if err == nil && p.kind == directory {
		err = fmt.Errorf("the symlink %.200q leads to a directory", name)
	}
	return p, at, err
}

// Directory returns the path of a directory without the symbolic links in it. The view must be of
// the whole image.
func (v *View) Directory(name string) (string, error) {
	p, at, err := v.resolve(name, "")
	if err == nil && p.kind != directory {
		err = fmt.Errorf("%.200q is not a directory", at)
	}
	return at, err
}

// Linked reports whether a name, or a directory above it, is a symbolic link.
func (v *View) Linked(name string) bool {
	for ; name != ""; name = parent(name) {
		if v.visible[name].kind == symlink {
			return true
		}
	}
	return false
}

// Below returns the visible names below a directory that are not directories, sorted.
func (v *View) Below(dir string) []string {
	var names []string
	for name, p := range v.visible {
		if p.kind != directory && name != dir && IsBelow(name, dir) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// resolve returns the file or directory of a name, and its path without symbolic links.
func (v *View) resolve(name, dir string) (placed, string, error) {
	ahead := strings.Split(name, "/")
	at := ""
	for links := 0; len(ahead) > 0; {
		next := ahead[0]
		ahead = ahead[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			at = parent(at)
			continue
		}
		at = path.Join(at, next)
		p, ok := v.visible[at]
		switch {
		case !IsBelow(at, dir) && !IsBelow(dir, at):
			return placed{}, "", fmt.Errorf("the symlink %.200q: %w", name, ErrOutside)
		case !ok && !v.directories[at]:
			return placed{}, "", fmt.Errorf("the symlink %.200q leads to %.200q, which does not exist", name, at)
		case !ok || p.kind == directory:
			continue
		case p.kind == symlink:
			if links++; links > maxLinks {
				return placed{}, "", fmt.Errorf("the symlink %.200q does not end after %d steps", name, maxLinks)
			}
			ahead = append(strings.Split(p.link, "/"), ahead...)
			at = parent(at)
			if strings.HasPrefix(p.link, "/") {
				at = ""
			}
		case p.kind == outside:
			return placed{}, "", fmt.Errorf("the hard link %.200q: %w", at, ErrOutside)
		case p.kind == unreadable:
			return placed{}, "", fmt.Errorf("the file %.200q %s", at, p.why)
		case len(ahead) > 0:
			return placed{}, "", fmt.Errorf("the symlink %.200q passes through %.200q, which is not a directory", name, at)
		default:
			return p, at, nil
		}
	}
	return placed{entry: entry{kind: directory}}, at, nil
}
