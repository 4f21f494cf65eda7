package gantry

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
)

// The machine's plan_signers apply to every user, also to those with other keys.
func TestMachineRequiresSignedPlans(t *testing.T) {
	const key = "boss@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHEChGVfbIoW4c0dVoyh3BkQEFcDHPE4nrF3wWJZQDz\n"
	etc, home := t.TempDir(), t.TempDir()
	e := &Env{MachineConfig: etc, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	file := filepath.Join(t.TempDir(), "plan.json")
	text := `{"kind": "GantryPlan", "version": 1, "name": "x", "totals": {"images": 0, "manifests": 0, "blobs": 0, "bytes": 0}, "images": [], "manifests": [], "blobs": []}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := e.approvePlan(approval{Plan: file}); err != nil || a.signer() != nil {
		t.Fatal(a, err)
	}
	if err := os.WriteFile(filepath.Join(etc, "plan_signers"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	accept := func() (*sshsig.Policy, error) { return &sshsig.Policy{}, nil }
	for _, o := range []MirrorOptions{{Plan: file}, {Plan: file, Trust: accept}, {Selection: Selection{Config: "x.yaml"}}} {
		_, err := e.approvePlan(o.approval())
		var refused *PlanSignatureError
		if !errors.As(err, &refused) || advice.KindOf(err) != advice.Mismatch || !strings.HasPrefix(refused.RequiredBy, etc) {
			t.Errorf("%+v: %v", o.Plan, err)
		}
	}
	for _, o := range []MirrorOptions{{Selection: Selection{Config: "x.yaml"}, DryRun: true}, {From: []string{"file://x"}}, {Repair: "x"}} {
		if _, err := e.approvePlan(o.approval()); err != nil {
			t.Error(err)
		}
	}
	// A file that cannot be used must not disable the check.
	if err := os.WriteFile(filepath.Join(etc, "plan_signers"), []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.approvePlan(approval{Plan: file}); err == nil || !strings.Contains(err.Error(), "it has no keys") {
		t.Error(err)
	}
}
