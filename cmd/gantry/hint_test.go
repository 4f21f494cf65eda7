package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/pkg/space"
)

func TestSplitHint(t *testing.T) {
	answer := &remote.Error{Host: "h", Op: "reading x", Message: "no", Hint: "log in; then again"}
	problem := imageset.Problem{Message: "unknown field", Hint: "did you mean x?"}
	for name, tc := range map[string]struct {
		err           error
		message, hint string
	}{
		"none":              {errors.New("a: b; c"), "a: b; c", ""},
		"a flag":            {usageHint("name one", "no destination"), "no destination", "name one"},
		"help":              {&hintError{errors.New("unknown flag: --x"), "\n", "see: gantry --help"}, "unknown flag: --x", "gantry --help"},
		"a registry":        {fmt.Errorf("reading catalog: %w", answer), "reading catalog: reading x at h: no", "log in; then again"},
		"one problem":       {&usageError{&imageset.Error{Problems: []imageset.Problem{problem}}}, "unknown field", "did you mean x?"},
		"several problems":  {&usageError{&imageset.Error{Problems: []imageset.Problem{problem, problem}}}, "unknown field; did you mean x?\nunknown field; did you mean x?", ""},
		"in the middle":     {fmt.Errorf("%w (twice)", answer), "reading x at h: no; log in; then again (twice)", "log in; then again"},
		"partial":           {&partialError{failed: 2, held: 1}, "2 images are not mirrored, 1 catalog is held back; the rest is consistent", "mend what the list names and run again"},
		"partial release":   {&partialError{failed: 2, held: 3, releases: 2}, "2 images are not mirrored, 1 catalog is held back, 2 releases are held back; the rest is consistent", "mend what the list names and run again"},
		"partial plan":      {&partialError{failed: 1, planned: true}, "1 image is missing at the source", "mend what the list names, or block it with mirror.blockedImages"},
		"interrupted":       {errInterrupted, "interrupted", "run the same command again to go on where it stopped"},
		"a sparse index":    {&mirror.SparseError{Image: "i", Err: errors.New("no")}, "the mirror does not take the index of i, some of whose platforms are left out (a sparse index): no", (&mirror.SparseError{}).Hint()},
		"a file descriptor": {advised(&os.PathError{Op: "write", Path: "/ws/cache", Err: syscall.ENOSPC}), "write /ws/cache: no space left on device", "make room there and run the same command again; of a workspace, the folder cache may be removed at any time"},
		"a full medium":     {advised(fmt.Errorf("finishing: %w", &space.Error{Dir: "/d", Needed: 3 << 20, Available: 1 << 20, Err: syscall.ENOSPC})), "finishing: not enough space in /d: 3.0 MiB are still to be written, 1.0 MiB are free (no space left on device)", "make room for 2.0 MiB more and run again"},
		"no such file":      {advised(usagef("--plan: %w", &os.PathError{Op: "open", Path: "p.json", Err: syscall.ENOENT})), "--plan: open p.json: no such file or directory", "check the path, which is relative to the working directory"},
		"no such work file": {advised(&os.PathError{Op: "open", Path: "/ws/plan", Err: syscall.ENOENT}), "open /ws/plan: no such file or directory", ""},
		"a quota":           {advised(&space.Error{Dir: "/d", Needed: 1, Available: 1 << 20, Err: syscall.EDQUOT}), "not enough space in /d: 1 B are still to be written, 1.0 MiB are free (disk quota exceeded)", "make room and run again"},
	} {
		message, hint := splitHint(tc.err)
		if message != tc.message || hint != tc.hint {
			t.Errorf("%s: %q, %q\nwant %q, %q", name, message, hint, tc.message, tc.hint)
		}
		if hint != "" && !strings.Contains(tc.err.Error(), hint) {
			t.Errorf("%s: people are not told: %v", name, tc.err)
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
	if message, hint := splitHint(adviseWorkspace(fmt.Errorf("opening workspace x: %w", syscall.EROFS))); !strings.HasSuffix(message, syscall.EROFS.Error()) || !strings.Contains(hint, "--workspace") {
		t.Errorf("a workspace on a read-only medium: %q, %q", message, hint)
	}
}

func TestSameConfiguration(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: t.TempDir()}
	a, copied, other, larger := w.write("a.yaml", "one"), w.write("copy.yaml", "one"), w.write("other.yaml", "two"), w.write("larger.yaml", "three")
	if err := os.Symlink(other, w.path("link.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		before, now string
		same        bool
	}{
		{a, a, true},
		{w.path("gone.yaml"), a, true},
		{w.path("a.yaml/gone.yaml"), a, true},
		{w.dir, a, true},
		{a, copied, true},
		{a, other, false},
		{a, larger, false},
		{other, w.path("link.yaml"), true},
		{a, w.path("link.yaml"), false},
	} {
		if same, err := sameConfiguration(tc.before, tc.now); same != tc.same || err != nil {
			t.Errorf("%s and %s: %v, %v", tc.before, tc.now, same, err)
		}
	}
}
