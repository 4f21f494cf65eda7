package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// readProblem describes an error of reading an entry. ok is false for an error that is not the
// disk's, such as the end of a context.
func readProblem(err error) (what string, ok bool) {
	var corrupt *layout.CorruptError
	var failed *fs.PathError
	switch {
	case errors.As(err, &corrupt):
		return corrupt.Problem, true
	case errors.As(err, &failed) && !errors.Is(err, fs.ErrClosed):
		return fmt.Sprintf("unreadable: %v", failed.Err), true
	}
	return "", false
}

// problemOf describes an error of opening or reading a file.
func problemOf(err error) string {
	if what, ok := readProblem(err); ok {
		return what
	}
	return err.Error()
}

// trimZeros reads a text without the zeros after it.
func trimZeros(raw []byte) io.Reader {
	text, _, _ := bytes.Cut(raw, []byte{0})
	return bytes.NewReader(text)
}
