package mirror

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// severalErrors are those of sources that were tried one after the other. Their
// text is that of the first; the others are likely to say the same.
type severalErrors []error

// allOf is one error of those of all sources of a blob.
func allOf(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return severalErrors(errs)
}

func (e severalErrors) Error() string {
	return fmt.Sprintf("%v (and %d more images that have it cannot be read either)", e[0], len(e)-1)
}

func (e severalErrors) Unwrap() []error { return e }

// Alike groups the failures that have one cause, as far as that can be seen, in
// the order of the first of each: the same answer of the same host to the same
// kind of request.
func Alike(failed []Failure) [][]Failure {
	type cause struct {
		host, code, text string
		status           int
	}
	var groups [][]Failure
	where := map[cause]int{}
	for _, f := range failed {
		c := cause{text: f.Reason}
		var e *remote.Error
		if errors.As(f.Err, &e) {
			c = cause{host: e.Host, code: e.Code, status: e.Status, text: kind(e)}
		}
		i, ok := where[c]
		if !ok {
			i = len(groups)
			where[c] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// kind says what went wrong, without the content that it concerned.
func kind(e *remote.Error) string {
	switch {
	case errors.Is(e, remote.ErrUnreachable):
		return remote.ErrUnreachable.Error()
	case e.Status != 0:
		return e.Op[:max(0, strings.LastIndex(e.Op, " "))]
	}
	return e.Message
}
