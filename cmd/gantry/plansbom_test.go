package main

import (
	"encoding/json"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPlanSBOM prints bills of materials of the plan of a workspace, and of a file.
func TestPlanSBOM(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	small := w.config("small.yaml", storeOnly)
	w.refuse(exitUsage, []string{"there is no plan"}, "plan", "sbom")
	w.must("plan", "-c", small, "--lock", w.path("plan.json"))
	first, second := w.must("plan", "sbom"), w.must("plan", "sbom", w.path("plan.json"))
	if !json.Valid([]byte(first.stdout)) || first.stdout != second.stdout {
		t.Errorf("%s%s", first.stdout, second.stdout)
	}
	w.env["SOURCE_DATE_EPOCH"] = "1700000000"
	var d struct{ CreationInfo struct{ Created string } }
	o := w.must("plan", "sbom", "-o", "spdx-json")
	if err := json.Unmarshal([]byte(o.stdout), &d); err != nil || d.CreationInfo.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("%v %s", err, o.stdout)
	}
	w.env["SOURCE_DATE_EPOCH"] = "today"
	w.refuse(exitUsage, []string{"SOURCE_DATE_EPOCH"}, "plan", "sbom")
	delete(w.env, "SOURCE_DATE_EPOCH")
	w.refuse(exitUsage, []string{"cyclonedx-json, spdx-json"}, "plan", "sbom", "-o", "xml")
	w.refuse(exitUsage, []string{"none.json"}, "plan", "sbom", w.path("none.json"))
}
