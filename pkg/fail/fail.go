// Package fail ends or marks a test in one line. It has the two checks that nearly every test makes: an error that must
// not happen, and values that must be equal. It is not an assertion framework: whatever needs a message of its own
// is an if statement in the test.
package fail

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// On ends the test if err is not nil.
func On(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Diff marks the test as failed and prints what differs, if want and got are not equal (-want +got).
func Diff(t testing.TB, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
