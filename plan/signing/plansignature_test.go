package signing_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
	"github.com/gantry-mirror/gantry/plan/signing"
)

// TestApprovePlan signs a plan, and checks which plans are accepted with which keys.
func TestApprovePlan(t *testing.T) {
	t.Parallel()
	s := &mirrortest.Site{T: t, Dir: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	s.Env = s.NewEnv()
	boss, fingerprint := s.SSHKey("boss", "")
	other, _ := s.SSHKey("other", "")
	p, err := plan.Read(strings.NewReader(`{"kind": "GantryPlan", "version": 1, "name": "small", "totals": {"images": 0, "manifests": 0, "blobs": 0, "bytes": 0}, "images": [], "manifests": [], "blobs": []}`))
	fail.On(t, err)
	lock := s.Path("plan.json")
	sum, err := signing.WritePlan(t.Context(), p, signing.PlanFile{Path: lock, SigningKey: s.Key(boss)})
	if err != nil || sum != digest.FromString(s.Read("plan.json")) {
		t.Fatalf("the digest is %s, %v", sum, err)
	}
	unsigned := s.Write("unsigned.json", s.Read("plan.json"))
	altered := s.Write("altered.json", strings.Replace(s.Read("plan.json"), `"name": "small"`, `"name": "large"`, 1))
	s.Write("altered.json.sig", s.Read("plan.json.sig"))
	by := func(trust keys.ArchiveTrust) func() (*sshsig.Policy, error) {
		return func() (*sshsig.Policy, error) { return keys.SigningPolicy(s.Env, trust) }
	}
	signers := func(name, options string) keys.ArchiveTrust {
		return keys.ArchiveTrust{AllowedSigners: s.Write(name+".signers"+options[:min(2, len(options))], s.Allowed(name, options))}
	}
	trusted := by(keys.ArchiveTrust{VerifyKey: []string{boss + ".pub"}})
	distrusted := by(keys.ArchiveTrust{VerifyKey: []string{other + ".pub"}})

	for name, tc := range map[string]struct {
		o     signing.Approval
		kind  advice.Kind
		words []string
	}{
		"not signed":         {signing.Approval{Plan: unsigned, Trust: trusted, RequireSignedPlan: true}, advice.Mismatch, []string{"not signed", "ssh-keygen -Y sign -n gantry-plan"}},
		"another key":        {signing.Approval{Plan: lock, Trust: distrusted, RequireSignedPlan: true}, advice.Mismatch, []string{"it is not a trusted key", fingerprint}},
		"another name":       {signing.Approval{Plan: lock, Trust: by(signers("other", ""))}, advice.Mismatch, []string{"it is not a trusted key"}},
		"another purpose":    {signing.Approval{Plan: lock, Trust: by(signers("boss", `namespaces="gantry"`))}, advice.Mismatch, []string{`may sign for the namespaces "gantry"`}},
		"altered":            {signing.Approval{Plan: altered}, advice.Mismatch, []string{"altered", "compare its digest"}},
		"required, no keys":  {signing.Approval{Plan: lock, RequireSignedPlan: true}, advice.Input, []string{"Options.RequireSignedPlan: no trusted keys are known", "Options.VerifyKey"}},
		"no plan":            {signing.Approval{Plan: s.Path("absent.json")}, advice.Input, []string{"Options.Plan", "no such file"}},
		"keys without names": {signing.Approval{Plan: lock, Trust: by(keys.ArchiveTrust{VerifyKey: []string{boss + ".pub"}, Signer: "boss"})}, advice.Input, []string{"have no names"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := signing.ApprovePlan(s.Env, tc.o)
			mirrortest.Refused(t, err, tc.kind, tc.words...)
			if a != nil {
				t.Errorf("%+v was returned", a)
			}
		})
	}
	s.Said()
	for _, tc := range []struct {
		o      signing.Approval
		signer bool
		says   string
	}{
		{signing.Approval{Plan: lock, Trust: trusted, RequireSignedPlan: true}, true, ", " + sum.String() + ", signed by boss@example.com"},
		{signing.Approval{Plan: lock}, true, "signed with the ssh-ed25519 key " + fingerprint + "; set Options.VerifyKey or Options.AllowedSigners to verify it"},
		{signing.Approval{Plan: unsigned, Trust: trusted}, false, "mirroring the plan " + unsigned + ", " + sum.String()},
	} {
		a, err := signing.ApprovePlan(s.Env, tc.o)
		if err != nil || a.Digest != sum || a.Name != "small" || (a.Signer() != nil) != tc.signer {
			t.Errorf("%+v, %v", a, err)
		}
		if said := s.Said(); len(said) != 1 || !strings.Contains(said[0], tc.says) {
			t.Errorf("%q does not contain %q", said, tc.says)
		}
	}
	if a, err := signing.ApprovePlan(s.Env, signing.Approval{Config: "imageset.yaml"}); a != nil || err != nil {
		t.Errorf("a configuration: %+v, %v", a, err)
	}

	// With plan_signers in the configuration of the user, every plan must be signed by one of its keys.
	s.Vars["XDG_CONFIG_HOME"] = s.Path("config")
	s.Folder("config/gantry")
	file := s.Write("config/gantry/plan_signers", s.Allowed("boss", ""))
	for _, o := range []signing.Approval{{Plan: unsigned}, {Plan: unsigned, Trust: by(keys.ArchiveTrust{})}} {
		_, err := signing.ApprovePlan(s.Env, o)
		mirrortest.Refused(t, err, advice.Mismatch, "not signed", filepath.Base(file)+" requires signed plans")
	}
	_, err = signing.ApprovePlan(s.Env, signing.Approval{Config: "imageset.yaml"})
	mirrortest.Refused(t, err, advice.Mismatch, "only signed plans are accepted", "Options.Plan")
	_, err = signing.ApprovePlan(s.Env, signing.Approval{Plan: lock, Trust: distrusted, RequireSignedPlan: true})
	mirrortest.Refused(t, err, advice.Mismatch, "it is not a trusted key")
	if a, err := signing.ApprovePlan(s.Env, signing.Approval{Plan: lock}); err != nil || !a.Signer().Trusted || a.Signer().Principal != "boss@example.com" {
		t.Errorf("%+v, %v", a, err)
	}
}
