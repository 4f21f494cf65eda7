package archive

import "strings"

// ParityFiles returns how many parity files of the set that was opened are in the folders. They are found by
// their names and not read.
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

// parityNames returns the names of the parity files of a set in one of the folders.
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
	return names
}
