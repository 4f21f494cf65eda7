package plan_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestPlanOfVersion0 checks that a plan of version 0 is read, and that Write returns the same text.
func TestPlanOfVersion0(t *testing.T) {
	text, err := os.ReadFile("../../testdata/compat/v0/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), out.String()); diff != "" {
		t.Error(diff)
	}
}
