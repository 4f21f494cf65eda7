package archive

import (
	"bytes"
	"fmt"
	"io"
)

const (
	// The least bytes that an object and a field have on average in what this package writes. `{},`
	// has three and would take thirty times as much memory.
	minObject, minField = 32, 8
	// densityFree is how many objects and fields are accepted in any text.
	densityFree = 1024
	// maxEntries limits the entries of all sets that are read together.
	maxEntries = 4 << 20
)

// checkDensity refuses the text of a set manifest that would take far more memory than its length.
// objects is an upper bound for the number of its objects.
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
	case objects > densityFree+size/minObject:
		return 0, fmt.Errorf("it has %d objects in %d bytes and is not a set manifest", objects, size)
	case fields > densityFree+size/minField:
		return 0, fmt.Errorf("it has %d fields in %d bytes and is not a set manifest", fields, size)
	}
	return objects, nil
}

// entries returns the number of entries of all volumes.
func (s *set) entries() (n int) {
	for i := range s.Volumes {
		n += len(s.Volumes[i].Entries)
	}
	return n
}
