package image

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// A view is the catalog's directory as the layers leave it. Layers are added
// from the uppermost down, so that what is visible once stays so.
type view struct {
	visible map[string]place
	// covered are names at and below which deeper layers do not show:
	// whiteouts, and whatever is no directory.
	covered map[string]bool
	// opaque are directories below which deeper layers do not show.
	opaque map[string]bool
	// directories may not be covered by a deeper layer's file; a layer has
	// them in so many words or by having something below them.
	directories map[string]bool
}

// A place is an entry and the layer that has it.
type place struct {
	entry
	layer int // its position in the manifest
}

func newView() *view {
	return &view{
		visible: map[string]place{}, covered: map[string]bool{}, opaque: map[string]bool{}, directories: map[string]bool{},
	}
}

// shows says whether a name of the next layer down is visible.
func (v *view) shows(name string, isDir bool) bool {
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

// add takes in the next layer down.
func (v *view) add(layer int, found *listing) {
	for name, e := range found.entries {
		if _, ok := v.visible[name]; !ok && v.shows(name, e.kind == directory) {
			v.visible[name] = place{e, layer}
		}
	}
	// Only now the marks: a layer's whiteouts do not reach the layer itself.
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

// differs names a file that is not the same in two views, "" if there is none.
// Both were listed with sums.
func (v *view) differs(w *view) string {
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

func same(a, b place, w *view, name string) bool {
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

// maxLinks is how many symlinks may lead from a name to its file, as in Linux.
const maxLinks = 40

// follow finds the regular file behind a name in dir, through symlinks in any
// place of its path. Links that lead out of dir are refused: catalogd does not
// unpack what is there, so such a catalog would be two different ones.
func (v *view) follow(name, dir string) (place, string, error) {
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
		case !isBelow(at, dir) && !isBelow(dir, at):
			return place{}, "", fmt.Errorf("the symlink %.200q leads out of the catalog's directory", name)
		case !ok && !v.directories[at]:
			return place{}, "", fmt.Errorf("the symlink %.200q leads to %.200q, which does not exist", name, at)
		case !ok || p.kind == directory:
			continue
		case p.kind == symlink:
			if links++; links > maxLinks {
				return place{}, "", fmt.Errorf("the symlink %.200q does not end after %d steps", name, maxLinks)
			}
			ahead = append(strings.Split(p.link, "/"), ahead...)
			at = parent(at)
			if strings.HasPrefix(p.link, "/") {
				at = ""
			}
		case p.kind == unreadable:
			return place{}, "", fmt.Errorf("the catalog file %.200q %s", at, p.why)
		case len(ahead) > 0:
			return place{}, "", fmt.Errorf("the symlink %.200q passes through %.200q, which is no directory", name, at)
		default:
			return p, at, nil
		}
	}
	return place{}, "", fmt.Errorf("the symlink %.200q leads to a directory", name)
}
