package delta

import (
	"fmt"
	"io"
	"sort"
)

// addresses reads the joined content of several bases.
type addresses struct {
	content []io.ReaderAt
	starts  []int64 // of each base, and the end of the last
}

func newAddresses(content []io.ReaderAt, sizes []int64) *addresses {
	a := &addresses{content: content, starts: make([]int64, len(sizes)+1)}
	for i, n := range sizes {
		a.starts[i+1] = a.starts[i] + n
	}
	return a
}

func (a *addresses) end() int64 { return a.starts[len(a.starts)-1] }

// read fills b from an address. The range may extend over several bases.
func (a *addresses) read(b []byte, at int64) error {
	if at < 0 || at > a.end()-int64(len(b)) {
		return invalid("a copy from outside of the bases")
	}
	i := sort.Search(len(a.content), func(i int) bool { return a.starts[i+1] > at })
	for len(b) > 0 {
		n := min(int64(len(b)), a.starts[i+1]-at)
		if n > 0 {
			if err := readAt(a.content[i], b[:n], at-a.starts[i]); err != nil {
				return fmt.Errorf("reading base %d: %w", i+1, err)
			}
		}
		b, at, i = b[n:], at+n, i+1
	}
	return nil
}

// readAt fills b. The end of the content at the end of b is no error.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		return fmt.Errorf("content ends at %d: %w", at+int64(n), io.ErrUnexpectedEOF)
	}
	return err
}
