package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestSignedPlan signs a plan, and mirrors it where only signed plans are accepted.
func TestSignedPlan(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	_, boss, fingerprint := w.sshKey("boss", "")
	small := w.config("small.yaml", storeOnly)
	lock := w.path("plan.json")
	o := w.must("plan", "-c", small, "--lock", lock, "--sign-key", boss)
	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if !strings.Contains(o.stderr, digest) || !strings.Contains(o.stderr, fingerprint) {
		t.Errorf("plan prints neither the digest nor the key:\n%s", o.stderr)
	}
	if err := os.RemoveAll(w.path("gantry-workspace")); err != nil { // the plan is carried to another machine
		t.Fatal(err)
	}
	w.mirror.ResetLog()
	run := func(lock string, args ...string) []string {
		return append([]string{"mirror", "--plan", lock, w.docker("/a")}, args...)
	}

	unsigned := w.write("unsigned.json", string(text))
	w.refuse(exitMismatch, []string{"not signed", "ssh-keygen -Y sign -n gantry-plan"}, run(unsigned, "--verify-key", boss+".pub")...)
	w.refuse(exitMismatch, []string{"not signed"}, run(unsigned, "--allowed-signers", w.write("signers", w.allowed("boss", "")), "--require-signed-plan")...)
	w.refuse(exitUsage, []string{"--require-signed-plan", "--verify-key"}, run(lock, "--require-signed-plan")...)
	w.refuse(exitUsage, []string{"--require-signed-plan is for --plan"}, "mirror", "-c", small, w.docker("/a"), "--require-signed-plan")
	w.refuse(exitUsage, []string{"--lock"}, "plan", "-c", small, "--sign-key", boss)
	w.refuse(exitUsage, []string{"--identity"}, run(lock, "--identity", boss)...)
	w.untouched("what is refused")

	// The site requires it for every run.
	w.env["HOME"] = t.TempDir()
	conf := filepath.Join(w.env["HOME"], ".config", "gantry")
	if err := errors.Join(os.MkdirAll(conf, 0o700), os.WriteFile(filepath.Join(conf, "plan_signers"), []byte(w.allowed("boss", "")), 0o600)); err != nil {
		t.Fatal(err)
	}
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
	if o = w.must(run(lock)...); !strings.Contains(o.stderr, digest+", signed by boss@example.com") {
		t.Errorf("mirror prints\n%s", o.stderr)
	}
	if o := w.must("status"); !strings.Contains(o.stdout, digest[:19]) {
		t.Errorf("status prints\n%s", o.stdout)
	}

	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		return
	}
	// An approver has no Gantry.
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "sign", "-n", "gantry-plan", "-f", boss, unsigned).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.must(run(unsigned, "--verify-key", boss+".pub")...)
}
