package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

func TestSplitHint(t *testing.T) {
	answer := &remote.Error{Host: "h", Op: "reading x", Message: "no", Hint: "log in; then again"}
	problem := imageset.Problem{Message: "unknown field", Hint: "did you mean x?"}
	for name, tc := range map[string]struct {
		err           error
		message, hint string
	}{
		"none":              {errors.New("a: b; c"), "a: b; c", ""},
		"an option":         {advice.New(advice.Input, "set archive.Options.CheckBlobs", "%w", errors.New("Options.TLSVerify is false")), "--tls-verify is false", "set --blobs=check"},
		"two hints":         {advice.Wrap(advice.Failure, usageHint("name one", "no destination"), "look again"), "no destination", "look again; name one"},
		"a flag":            {usageHint("name one", "no destination"), "no destination", "name one"},
		"help":              {advice.Wrap(advice.Input, errors.New("unknown flag: --x"), "run gantry --help"), "unknown flag: --x", "run gantry --help"},
		"a registry":        {fmt.Errorf("reading catalog: %w", answer), "reading catalog: reading x at h: no", "log in; then again"},
		"one problem":       {advice.Wrap(advice.Input, &imageset.Error{Problems: []imageset.Problem{problem}}, ""), "unknown field", "did you mean x?"},
		"several problems":  {advice.Wrap(advice.Input, &imageset.Error{Problems: []imageset.Problem{problem, problem}}, ""), "unknown field; did you mean x?\nunknown field; did you mean x?", ""},
		"in the middle":     {fmt.Errorf("%w (twice)", answer), "reading x at h: no (twice)", "log in; then again"},
		"interrupted":       {errInterrupted, "interrupted", "run the same command again to continue where it stopped"},
		"a sparse index":    {&mirror.SparseError{Image: "i", Err: errors.New("no")}, "the mirror refused the index of i because some of its platforms are not mirrored (a sparse index): no", advice.Hint(&mirror.SparseError{Err: errors.New("no")})},
		"a file descriptor": {advised(&os.PathError{Op: "write", Path: "/ws/cache", Err: syscall.ENOSPC}), "write /ws/cache: no space left on device", "free some space and run the same command again; the folder cache of a workspace may be removed at any time"},
		"a full medium":     {advised(fmt.Errorf("finishing: %w", &space.Error{Dir: "/d", Needed: 3 << 20, Available: 1 << 20, Err: syscall.ENOSPC})), "finishing: not enough space in /d: 3.0 MiB are still to be written, 1.0 MiB are free (no space left on device)", "free 2.0 MiB more and run again"},
		"no such file":      {advised(usagef("--plan: %w", &os.PathError{Op: "open", Path: "p.json", Err: syscall.ENOENT})), "--plan: open p.json: no such file or directory", "check the path, which is relative to the working directory"},
		"no such work file": {advised(&os.PathError{Op: "open", Path: "/ws/plan", Err: syscall.ENOENT}), "open /ws/plan: no such file or directory", ""},
		"a quota":           {advised(&space.Error{Dir: "/d", Needed: 1, Available: 1 << 20, Err: syscall.EDQUOT}), "not enough space in /d: 1 B are still to be written, 1.0 MiB are free (disk quota exceeded)", "free some space and run again"},
	} {
		message, hint := splitHint(tc.err)
		if message != tc.message || hint != tc.hint {
			t.Errorf("%s: %q, %q\nwant %q, %q", name, message, hint, tc.message, tc.hint)
		}
		if line := errorLine(tc.err); hint != "" && strings.Count(line, hint) != 1 {
			t.Errorf("%s: the hint is not printed once: %s", name, line)
		}
	}
	for unknown, want := range map[bool]int{false: exitMismatch, true: exitUnauthorized} {
		err := &gpg.DistrustError{Unknown: unknown, Problems: []error{errors.New("x"), remote.ErrUnauthorized}}
		if code := status(fmt.Errorf("release x: %w", err)); code != want {
			t.Errorf("a signature that is missing (unknown: %t) ends with %d, want %d", unknown, code, want)
		}
	}
	if code := status(advised(fmt.Errorf("x: %w", syscall.ENOSPC))); code != exitNoSpace {
		t.Errorf("a full disk ends with %d", code)
	}
}
