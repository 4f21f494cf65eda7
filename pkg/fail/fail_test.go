package fail_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A report is a test that only notes what it was told.
type report struct {
	testing.TB
	fatal, failed string
}

func (r *report) Helper() {}

func (r *report) Fatal(args ...any) { r.fatal = args[0].(error).Error() }

func (r *report) Errorf(_ string, args ...any) { r.failed = args[0].(string) }

func TestFail(t *testing.T) {
	t.Parallel()
	r := &report{}
	fail.On(r, nil)
	fail.Diff(r, []string{"a"}, []string{"a"})
	if r.fatal != "" || r.failed != "" {
		t.Errorf("failed without a reason: %q, %q", r.fatal, r.failed)
	}
	fail.On(r, errors.New("no registry"))
	fail.Diff(r, []string{"a"}, []string{"b"})
	if r.fatal != "no registry" || !strings.Contains(r.failed, `"b"`) {
		t.Errorf("got %q, %q", r.fatal, r.failed)
	}
}
