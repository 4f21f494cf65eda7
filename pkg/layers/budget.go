package layers

import (
	"errors"
	"io"
	"sync/atomic"
)

// MaxUnpacked is how many bytes the layers of one image may unpack to. The
// catalog images of 2026 stay below 3 GB.
const MaxUnpacked = 16 << 30

// ErrTooLarge ends a stream that has used its budget up.
var ErrTooLarge = errors.New("the layers of the image unpack to more than is read")

// A Budget is a number of bytes that several readers may take together.
type Budget struct {
	left atomic.Int64
}

// NewBudget makes a budget of n bytes.
func NewBudget(n int64) *Budget {
	b := &Budget{}
	b.left.Store(n)
	return b
}

// Limit returns a reader that takes from the budget what it reads from r. The
// error is ErrTooLarge where that is more than is left.
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
