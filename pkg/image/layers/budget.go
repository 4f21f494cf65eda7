package layers

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
)

// MaxUnpacked is the maximum size of all unpacked layers of one image, in bytes. The catalog images of
// 2026 have less than 3 GB.
const MaxUnpacked = 16 << 30

// maxNames is the maximum size of the names in all layers of one image that are kept in memory, in bytes, with nameCost for
// each part of a path: it may become a directory of its own.
const (
	maxNames = 512 << 20
	nameCost = 48
)

// ErrTooLarge is the error of readers whose budget is used up, and errNames of names.
var (
	ErrTooLarge = errors.New("the unpacked layers of the image exceed the size limit")
	errNames    = errors.New("the names in the layers of the image exceed the size limit")
)

// A Budget is a number of bytes that several readers share. It is safe for concurrent use.
type Budget struct {
	left, names atomic.Int64
}

// NewBudget returns a budget of n bytes.
func NewBudget(n int64) *Budget {
	b := &Budget{}
	b.left.Store(n)
	b.names.Store(maxNames)
	return b
}

// Name subtracts a name that is kept in memory, and what it links to.
func (b *Budget) Name(name, link string) error {
	if b.names.Add(-int64(len(name)+len(link)+nameCost*(1+strings.Count(name, "/")))) < 0 {
		return errNames
	}
	return nil
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
