package mirroring

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
)

// The machine's plan_signers apply to every user, also to those with other keys.
func TestMachineRequiresSignedPlans(t *testing.T) {
	const key = "boss@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHEChGVfbIoW4c0dVoyh3BkQEFcDHPE4nrF3wWJZQDz\n"
	etc, home := t.TempDir(), t.TempDir()
	e := &env.Env{MachineConfig: etc, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	file := filepath.Join(t.TempDir(), "plan.json")
	text := `{"kind": "GantryPlan", "version": 1, "name": "x", "totals": {"images": 0, "manifests": 0, "blobs": 0, "bytes": 0}, "images": [], "manifests": [], "blobs": []}`
	fail.On(t, os.WriteFile(file, []byte(text), 0o600))
	if a, err := signing.ApprovePlan(e, signing.Approval{Plan: file}); err != nil || a.Signer() != nil {
		t.Fatal(a, err)
	}
	fail.On(t, os.WriteFile(filepath.Join(etc, "plan_signers"), []byte(key), 0o600))
	accept := func() (*sshsig.Policy, error) { return &sshsig.Policy{}, nil }
	for _, o := range []Options{{PlanOptions: PlanOptions{Plan: file}}, {PlanOptions: PlanOptions{Plan: file}, KeyOptions: KeyOptions{Trust: accept}}, {Selection: selection.Selection{Config: "x.yaml"}}} {
		_, err := signing.ApprovePlan(e, o.approval())
		var refused *signing.PlanSignatureError
		if !errors.As(err, &refused) || advice.KindOf(err) != advice.Mismatch || !strings.HasPrefix(refused.RequiredBy, etc) {
			t.Errorf("%+v: %v", o.Plan, err)
		}
	}
	for _, o := range []Options{{Selection: selection.Selection{Config: "x.yaml"}, DryRun: true}, {ImportOptions: ImportOptions{From: []string{"file://x"}}}, {Repair: "x"}} {
		if _, err := signing.ApprovePlan(e, o.approval()); err != nil {
			t.Error(err)
		}
	}
	// A file that cannot be used must not disable the check.
	fail.On(t, os.WriteFile(filepath.Join(etc, "plan_signers"), []byte("# none\n"), 0o600))
	if _, err := signing.ApprovePlan(e, signing.Approval{Plan: file}); err == nil || !strings.Contains(err.Error(), "it has no keys") {
		t.Error(err)
	}
}
