package plan_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestPlanOfVersion0 checks that a plan of version 0 is read, and that Write returns the same text.
func TestPlanOfVersion0(t *testing.T) {
	text, err := os.ReadFile("../../testdata/compat/v0/plan.json")
	fail.On(t, err)
	p, err := plan.Read(bytes.NewReader(text))
	fail.On(t, err)
	var out bytes.Buffer
	fail.On(t, p.Write(&out))
	fail.Diff(t, string(text), out.String())
}
