package archive

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/archive/parity"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// ParityFiles returns how many parity files of the set that was opened are in the folders. Only the
// heads of files with other names are read.
func (a *Archive) ParityFiles() int { return a.parityFiles(a.selected()) }

// parityFiles returns how many parity files of a set are in the folders.
func (a *Archive) parityFiles(m *member) int {
	names := map[string]bool{}
	for dir := range a.folders {
		for _, name := range a.parityNames(m, dir) {
			names[name] = true
		}
	}
	return len(names)
}

// parityNames returns the names of the parity files of a set in one of the folders: those with the names that they
// were written with, and others with their length and head.
func (a *Archive) parityNames(m *member, dir int) (names []string) {
	l, err := list(a.folders[dir])
	if err != nil {
		return nil // the folder is reported elsewhere
	}
	id := m.set.id()
	for _, name := range l.files[id.sequence] {
		if strings.HasSuffix(name, paritySuffix) && strings.HasPrefix(name, "gantry-"+id.String()+".") {
			names = append(names, name)
		}
	}
	return append(names, a.renamedParity(m, dir, names)...)
}

// renamedParity returns the parity files of a set among the files of a folder with other names.
func (a *Archive) renamedParity(m *member, dir int, known []string) (names []string) {
	layout := parityLayout(m.outer, m.digest)
	entries, err := fs.ReadDir(a.folders[dir].FS(), ".")
	if err != nil || layout.Check(1) != nil || m.set.Repairs != nil {
		return nil
	}
	for _, e := range entries[:min(len(entries), maxRenamed)] {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() != layout.FileSize() || slices.Contains(known, e.Name()) {
			continue
		}
		f, _, err := regular.Open(a.folders[dir], e.Name())
		if err != nil {
			continue
		}
		if _, err := parity.ReadHead(layout, f); err == nil {
			names = append(names, e.Name())
		}
		_ = f.Close() // only read from
	}
	return names
}
