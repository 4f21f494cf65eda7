package mirror

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

func TestGroupFailures(t *testing.T) {
	of := func(host, op string, status int, kind error) error {
		return fmt.Errorf("reading blob: %w", &remote.Error{Host: host, Op: op, Status: status, Message: op, Err: kind})
	}
	failures := map[string]error{
		"a": of("src", "reading sha256:1", 503, remote.ErrFailing),
		"b": of("src", "reading sha256:2", 503, remote.ErrFailing),
		"c": of("src", "reading the manifest v1", 404, remote.ErrNotFound),
		"d": of("src", "reading sha256:3", 404, remote.ErrNotFound),
		"e": of("other", "reading sha256:1", 503, remote.ErrFailing),
		"f": of("src", "reading sha256:4 from port 1", 0, remote.ErrUnreachable),
		"g": of("src", "reading sha256:5 from port 2", 0, remote.ErrUnreachable),
		"h": errors.New("damaged"),
		"i": errors.New("damaged otherwise"),
		"j": nil,
		"k": of("src", "reading sha256:6", 503, remote.ErrFailing),
		"l": errors.New("damaged"),
	}
	var failed []Failure
	for name := range strings.SplitSeq("abcdefghijkl", "") {
		f := Failure{Source: name, Err: failures[name]}
		if f.Err != nil {
			f.Reason = f.Err.Error()
		}
		failed = append(failed, f)
	}
	var got []string
	for _, group := range GroupFailures(failed) {
		var names string
		for _, f := range group {
			names += f.Source
		}
		got = append(got, names)
	}
	fail.Diff(t, []string{"abk", "c", "d", "e", "fg", "hl", "i", "j"}, got)
}

func TestErrorsOfSeveralSources(t *testing.T) {
	err := joinSourceErrors([]error{errors.New("first"), remote.ErrNotFound, remote.ErrMismatch})
	if !errors.Is(err, remote.ErrMismatch) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "first (and 2 more") {
		t.Error(err)
	}
}
