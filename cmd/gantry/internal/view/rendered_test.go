package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A rendered is a result, as its JSON, and its text.
type rendered struct {
	name, result string
	text         func(t *testing.T, result string) string
	want         string
}

// as decodes a result for a function that returns its text.
func as[T any](text func(*T) string) func(*testing.T, string) string {
	return func(t *testing.T, result string) string {
		t.Helper()
		var r T
		dec := json.NewDecoder(strings.NewReader(result))
		dec.DisallowUnknownFields()
		fail.On(t, dec.Decode(&r))
		return text(&r)
	}
}

func checkRendered(t *testing.T, all []rendered) {
	t.Helper()
	t.Parallel()
	for _, tc := range all {
		if diff := cmp.Diff(tc.want, tc.text(t, tc.result)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
