package main

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// imagePolicy is a policy that accepts only images with a signature of key.pub, and everything below
// free.
func (w *fixture) imagePolicy() string {
	key, _ := json.Marshal(w.path("key.pub"))
	return w.write("policy.json", fmt.Sprintf(`{
  "default": [{"type": "reject"}],
  "transports": {"docker": {
    "%[1]s/team": [{"type": "sigstoreSigned", "keyPath": %[2]s, "signedIdentity": {"type": "matchRepository"}}],
    "%[1]s/free": [{"type": "insecureAcceptAnything"}]
  }}
}
`, w.source.Host, key))
}

// policySource has, below team, an image with a signature and one without, and an unsigned image below free.
func policySource(t *testing.T) (w *fixture, key *ecdsa.PrivateKey) {
	t.Helper()
	w = newFixture(t, registrytest.Options{})
	key = w.signingKey("key.pub")
	for _, name := range []string{"team/app", "team/unsigned", "free/tool"} {
		img, err := registrytest.SizedImage(name, 100)
		fail.On(t, err)
		_, hash, _ := strings.Cut(w.push(name+":v1", img), "@")
		if name == "team/app" {
			w.signImage(key, name, hash, w.source.Host+"/"+name)
		}
	}
	return w, key
}

func (w *fixture) additional(names ...string) string {
	var b strings.Builder
	b.WriteString("  additionalImages:\n")
	for _, name := range names {
		fmt.Fprintf(&b, "  - name: %s/%s:v1\n", w.source.Host, name)
	}
	return w.config("isc.yaml", b.String())
}

// TestImagePolicyOutput checks what is printed about a signature policy, and its flags.
func TestImagePolicyOutput(t *testing.T) {
	t.Parallel()
	w, key := policySource(t)
	policy := w.imagePolicy()
	isc := w.additional("team/app", "team/unsigned", "free/tool")
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	fail.On(t, err)
	fingerprint := fmt.Sprintf("key %x", sha256.Sum256(der))
	o := w.gantry("plan", "-c", isc, "--policy", policy, "--lock", w.path("plan.json"))
	if want := "Signatures by " + policy + ": 1 image verified, 1 accepted without verification, 1 refused.\n  1 image by " + fingerprint + " (sigstoreSigned)\n"; o.code != exitPartial || !strings.Contains(o.stdout, want) {
		t.Errorf("it ended with %d and does not print %q:\n%s", o.code, want, o.stdout)
	}
	w.says(w.must("explain", "--plan", w.path("plan.json"), "team/app").stdout, "signed by "+fingerprint+" (sigstoreSigned)")
	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", isc, disk)
	o = w.gantry("mirror", "--from", disk, "--policy", policy, "--workspace", w.path("site"), w.docker("/ocp"))
	if o.code != exitPartial {
		t.Errorf("it ended with %d", o.code)
	}
	w.says(o.stderr, "not mirrored: "+w.source.Host+"/team/unsigned:v1", "sigstoreSigned requires a signature, and there is none")
	w.says(o.stdout, "1 image verified, 1 accepted without verification, 1 refused.")
	w.must("mirror", "--from", disk, "--workspace", w.path("site"), w.docker("/ocp"))
	o = w.gantry("verify", "--from", disk, "--policy", policy, "--workspace", w.path("site"), w.docker("/ocp"))
	if o.code != exitMismatch {
		t.Errorf("verify ended with %d", o.code)
	}
	w.says(o.stdout, "Refused by the signature policy\n")

	w.refuse(exitUsage, []string{"--policy is empty"}, "plan", "-c", isc, "--policy", "")
	w.refuse(exitUsage, []string{"--policy", "absent.json"}, "plan", "-c", isc, "--policy", w.path("absent.json"))
	w.refuse(exitUsage, []string{"--registries.d is for a signature policy"}, "mirror", "-c", isc, "--registries.d", w.dir, w.docker(""))
	w.refuse(exitUsage, []string{`--image-policies "v2"; give v1 or v1alpha1 or none`}, "mirror", "-c", isc, "--policy", policy, "--image-policies", "v2", w.docker(""))
	w.refuse(exitUsage, []string{"--policy is for docker://"}, "verify", "--policy", policy, "file://"+w.dir)
}
