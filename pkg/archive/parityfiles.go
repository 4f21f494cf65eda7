package archive

import "strings"

// ParityFiles returns how many parity files of the set that was opened are in the folders. They are found by
// their names and not read.
func (a *Archive) ParityFiles() int { return a.parityFiles(a.selected()) }

// parityFiles returns how many parity files of a set are in the folders.
func (a *Archive) parityFiles(m *member) int {
	names := map[string]bool{}
	for _, root := range a.folders {
		l, err := list(root)
		if err != nil {
			continue // the folder is reported elsewhere
		}
		id := m.set.id()
		for _, name := range l.files[id.sequence] {
			if strings.HasSuffix(name, paritySuffix) && strings.HasPrefix(name, "gantry-"+id.String()+".") {
				names[name] = true
			}
		}
	}
	return len(names)
}
