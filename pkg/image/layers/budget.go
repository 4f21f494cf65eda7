package layers

import (
	"errors"
	"io"
	"sync/atomic"
)

// MaxUnpacked is the maximum size of all unpacked layers of one image, in bytes. The catalog images of
// 2026 have less than 3 GB.
const MaxUnpacked = 16 << 30

// ErrTooLarge is the error of readers whose budget is used up.
var ErrTooLarge = errors.New("the unpacked layers of the image exceed the size limit")

// A Budget is a number of bytes that several readers share. It is safe for concurrent use.
type Budget struct {
	left atomic.Int64
}

// NewBudget returns a budget of n bytes.
func NewBudget(n int64) *Budget {
	b := &Budget{}
	b.left.Store(n)
	return b
}

// Limit returns a reader that subtracts what it reads from r from the budget. The error is ErrTooLarge if
// the budget is used up.
func (b *Budget) Limit(r io.Reader) io.Reader {
	return limited{r, b}
}

type limited struct {
	r io.Reader
	b *Budget
}

func (l limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.b.left.Add(-int64(n)) < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}
