package archive

import (
	"bytes"
	"fmt"
)

const (
	// Bytes that an object and a field have at least, on the average, in what this
	// package writes. `{},` has three and would take thirty times as much memory.
	minObject, minField = 32, 8
	// dense is how many of them are let pass in any text.
	dense = 1024
	// maxEntries bounds the entries of all sets that are read together.
	maxEntries = 4 << 20
)

// checkDensity refuses the text of a set manifest that would take far more memory than
// it is long.
func checkDensity(raw []byte) error {
	if n := bytes.Count(raw, []byte("{")); n > dense+len(raw)/minObject {
		return fmt.Errorf("it has %d objects in %d bytes and is no set manifest", n, len(raw))
	}
	if n := bytes.Count(raw, []byte(",")); n > dense+len(raw)/minField {
		return fmt.Errorf("it has %d fields in %d bytes and is no set manifest", n, len(raw))
	}
	return nil
}

// entries is how many entries all volumes have.
func (s *set) entries() (n int) {
	for i := range s.Volumes {
		n += len(s.Volumes[i].Entries)
	}
	return n
}
