package main

import (
	"github.com/opencontainers/go-digest"

	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestSignedPlan signs a plan, and mirrors it where only signed plans are accepted.
func TestSignedPlan(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	boss, fingerprint := w.site().SSHKey("boss", "")
	small := w.config("small.yaml", storeOnly)
	lock := w.path("plan.json")
	o := w.must("plan", "-c", small, "--lock", lock, "--sign-key", boss)
	text := w.read("plan.json")
	digest := digest.FromString(text).String()
	w.says(o.stderr, digest, fingerprint)
	w.mirror.ResetLog()
	run := func(lock string, args ...string) []string {
		return append([]string{"mirror", "--plan", lock, w.docker("/a")}, args...)
	}

	unsigned := w.write("unsigned.json", text)
	w.refuse(exitMismatch, []string{"not signed", "ssh-keygen -Y sign -n gantry-plan"}, run(unsigned, "--verify-key", boss+".pub")...)
	w.refuse(exitMismatch, []string{"not signed"}, run(unsigned, "--allowed-signers", w.write("signers", w.site().Allowed("boss", "")), "--require-signed-plan")...)
	w.refuse(exitUsage, []string{"--require-signed-plan", "--verify-key"}, run(lock, "--require-signed-plan")...)
	w.refuse(exitUsage, []string{"--require-signed-plan is for --plan"}, "mirror", "-c", small, w.docker("/a"), "--require-signed-plan")
	w.refuse(exitUsage, []string{"--lock"}, "plan", "-c", small, "--sign-key", boss)
	w.refuse(exitUsage, []string{"--identity"}, run(lock, "--identity", boss)...)
	w.untouched("what is refused")

	// The site requires it for every run.
	w.env["HOME"] = t.TempDir()
	conf := filepath.Join(w.env["HOME"], ".config", "gantry")
	fail.On(t, errors.Join(os.MkdirAll(conf, 0o700), os.WriteFile(filepath.Join(conf, "plan_signers"), []byte(w.site().Allowed("boss", "")), 0o600)))
	w.refuse(exitMismatch, []string{"not signed", "plan_signers requires signed plans"}, run(unsigned)...)
	w.refuse(exitMismatch, []string{"only signed plans are accepted", "--plan"}, "mirror", "-c", small, w.docker("/a"))
	w.must("mirror", "-c", small, w.docker("/a"), "--dry-run")

	var result struct {
		PlanDigest    string
		PlanSignature struct {
			Trusted   bool
			Principal string
		}
	}
	o = w.must(run(lock, "-o", "json")...)
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.PlanDigest != digest || !result.PlanSignature.Trusted || result.PlanSignature.Principal != "boss@example.com" {
		t.Errorf("%v, %s", err, o.stdout)
	}
	w.says(w.must(run(lock)...).stderr, digest+", signed by boss@example.com")
	w.says(w.must("status").stdout, digest[:19])

	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		return
	}
	// An approver has no Gantry.
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "sign", "-n", "gantry-plan", "-f", boss, unsigned).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.must(run(unsigned, "--verify-key", boss+".pub")...)
}
