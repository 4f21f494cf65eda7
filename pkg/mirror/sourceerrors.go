package mirror

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// sourceErrors are the errors of sources that were tried one after the other. The text is
// the first error's, because the others are probably the same.
type sourceErrors []error

// joinSourceErrors returns the errors of all sources of a blob as one.
func joinSourceErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return sourceErrors(errs)
}

func (e sourceErrors) Error() string {
	return fmt.Sprintf("%v (and %d more images with it cannot be read either)", e[0], len(e)-1)
}

func (e sourceErrors) Unwrap() []error { return e }

// GroupFailures groups failures that probably have the same cause, in the order of the first of
// each group: the same error of the same host for the same kind of request.
func GroupFailures(failed []Failure) [][]Failure {
	type cause struct {
		host, code, text string
		status           int
	}
	var groups [][]Failure
	where := map[cause]int{}
	for _, f := range failed {
		c := cause{text: f.Reason}
		if e, ok := errors.AsType[*remote.Error](f.Err); ok {
			c = cause{host: e.Host, code: e.Code, status: e.Status, text: failureKind(e)}
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

// failureKind returns what went wrong, without the content that it concerned.
func failureKind(e *remote.Error) string {
	switch {
	case errors.Is(e, remote.ErrUnreachable):
		return remote.ErrUnreachable.Error()
	case e.Status != 0:
		return e.Op[:max(0, strings.LastIndex(e.Op, " "))]
	}
	return e.Message
}
