package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// attested checks that there is a ConfigMap for each of the releases, and each image in their
// indexes, with the signature from the store, and no other. It verifies the signatures with the
// key.
func (w *platformFixture) attested(workspace string, names ...string) {
	w.t.Helper()
	keyring, err := gpg.ParseKeyring("release.asc", w.releases.Keys.OpenPGP)
	if err != nil {
		w.t.Fatal(err)
	}
	var got, want []string
	for _, name := range names {
		p := w.payload(name)
		for _, d := range append(slices.Collect(maps.Values(p.Shards)), p.Digest) {
			want = append(want, "sha256-"+d.Encoded())
		}
	}
	for name, text := range w.manifests(workspace) {
		if !strings.HasPrefix(name, "signature-") {
			continue
		}
		var m struct {
			APIVersion, Kind string
			Metadata         struct {
				Name, Namespace string
				Labels          map[string]string
			}
			BinaryData map[string][]byte
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			w.t.Fatalf("%s: %v", name, err)
		}
		got = append(got, m.Metadata.Name)
		d := digest.Digest(strings.Replace(m.Metadata.Name, "-", ":", 1))
		_, labelled := m.Metadata.Labels["release.openshift.io/verification-signatures"]
		if m.APIVersion != "v1" || m.Kind != "ConfigMap" || m.Metadata.Namespace != "openshift-config-managed" || !labelled || len(m.BinaryData) != 1 {
			w.t.Errorf("%s is not a ConfigMap that clusters read:\n%s", name, text)
		}
		body := m.BinaryData[m.Metadata.Name+"-"+strconv.Itoa(1)]
		if string(body) != string(w.releases.Signature(d)) {
			w.t.Errorf("%s does not have the signature of the store", name)
		}
		if err := gpg.VerifyAll([][]byte{body}, d, []gpg.Keyring{keyring}, time.Now()); err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("signatures in %s (-want +got):\n%s", workspace, diff)
	}
}

// gnupg verifies the signatures in a workspace with gpg, if it is installed, and checks that each
// is for its digest.
func (w *platformFixture) gnupg(workspace string) {
	w.t.Helper()
	program, err := exec.LookPath("gpg")
	if err != nil {
		return
	}
	home := w.t.TempDir()
	gpg := func(stdin []byte, args ...string) string {
		w.t.Helper()
		cmd := exec.CommandContext(w.t.Context(), program, append([]string{"--homedir", home, "--batch", "--quiet", "--no-autostart"}, args...)...)
		cmd.Stdin = bytes.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			w.t.Errorf("gpg %v: %v", args, err)
		}
		return string(out)
	}
	gpg(w.releases.Keys.OpenPGP, "--import")
	for name, text := range w.manifests(workspace) {
		var m struct{ BinaryData map[string][]byte }
		if !strings.HasPrefix(name, "signature-") {
			continue
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			w.t.Fatal(err)
		}
		for key, body := range m.BinaryData {
			hex := strings.Split(key, "-")[1]
			if signed := gpg(body, "--trust-model", "always", "--decrypt"); !strings.Contains(signed, `"sha256:`+hex+`"`) {
				w.t.Errorf("%s signs\n%s", key, signed)
			}
		}
	}
}
