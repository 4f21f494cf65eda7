package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestCRDs validates the objects with .ci/tools/crdcheck, by the rules of the API server. The CRDs are in a
// folder next to the checkout; without them the test is skipped.
func TestCRDs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program from another module")
	}
	crds, err := filepath.Abs("../../../../shared/crds")
	fail.On(t, err)
	if _, err := os.Stat(crds); err != nil {
		t.Skipf("no CRDs to check against: %v", err)
	}
	files, err := filepath.Glob("testdata/*.golden.yaml")
	fail.On(t, err)
	dir := t.TempDir()
	args := []string{"run", ".", "-crds", crds}
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		fail.On(t, os.WriteFile(name, []byte(text), 0o600))
		args = append(args, name)
	}
	// Only these kinds have CRDs.
	kinds := []string{"ClusterExtension", "OperatorGroup", "Subscription"}
	checked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		fail.On(t, err)
		for document := range strings.SplitSeq(string(text), "---\n") {
			for _, kind := range kinds {
				if strings.Contains(document, "\nkind: "+kind+"\n") {
					checked++
					write(kind+"-"+filepath.Base(file), document)
				}
			}
		}
	}
	write("broken.yaml", "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: a, namespace: b}\nspec: {name: c, source: d, chanel: e}\n")
	run := exec.CommandContext(t.Context(), "go", args...)
	run.Dir = filepath.Join("..", "..", "..", ".ci", "tools", "crdcheck")
	run.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	out, err := run.CombinedOutput()
	if err == nil {
		t.Error("a broken Subscription is valid")
	}
	var faults []string
	for line := range strings.Lines(strings.ReplaceAll(string(out), dir+string(filepath.Separator), "")) {
		if strings.HasPrefix(line, "ok ") {
			checked--
		} else if strings.Contains(line, ".yaml: ") { // not what go prints
			faults = append(faults, strings.TrimSpace(line))
		}
	}
	slices.Sort(faults)
	// spec.config is in the CRD of clusters with the feature gate for single namespaces alone.
	const unknown = `ClusterExtension/lighthouse: unknown field "spec.config"`
	want := []string{
		"ClusterExtension-v1-one.golden.yaml: " + unknown, "ClusterExtension-v1-own.golden.yaml: " + unknown,
		`broken.yaml: Subscription/a: spec.sourceNamespace: Required value`, `broken.yaml: Subscription/a: unknown field "spec.chanel"`,
	}
	if !slices.Equal(want, faults) || checked != 2 {
		t.Errorf("%d objects are neither valid nor those with spec.config:\n%s", checked-2, out)
	}
}
