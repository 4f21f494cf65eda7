package archive

import (
	"bytes"
	"fmt"
	"io"
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
// it is long. objects is at least how many it has.
func checkDensity(text io.Reader) (objects int, err error) {
	size, fields := 0, 0
	buf := make([]byte, 32<<10)
	for err == nil {
		var n int
		n, err = text.Read(buf)
		size += n
		objects += bytes.Count(buf[:n], []byte("{"))
		fields += bytes.Count(buf[:n], []byte(","))
	}
	switch {
	case err != io.EOF:
		return 0, err
	case objects > dense+size/minObject:
		return 0, fmt.Errorf("it has %d objects in %d bytes and is no set manifest", objects, size)
	case fields > dense+size/minField:
		return 0, fmt.Errorf("it has %d fields in %d bytes and is no set manifest", fields, size)
	}
	return objects, nil
}

// entries is how many entries all volumes have.
func (s *set) entries() (n int) {
	for i := range s.Volumes {
		n += len(s.Volumes[i].Entries)
	}
	return n
}
