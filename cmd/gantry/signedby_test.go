package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release/releasetest"
)

// signSimple stores an OpenPGP signature of an image in a folder for a web server, as podman does.
func (w *fixture) signSimple(keys *releasetest.Keys, repository, tag, hash string) {
	w.t.Helper()
	body, err := keys.Sign(w.source.Host+"/"+repository+":"+tag, digest.Digest(hash))
	folder := w.path("lookaside/" + repository + "@" + strings.Replace(hash, ":", "=", 1))
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "signature-1"), body, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// signedByPolicy writes a policy that accepts only images signed with an OpenPGP key.
func (w *fixture) signedByPolicy(name string, keys *releasetest.Keys) string {
	file := w.write(name+".asc", string(keys.OpenPGP))
	return w.write(name+".json", fmt.Sprintf(`{"default": [{"type": "signedBy", "keyType": "GPGKeys", "keyPath": %q}]}`, file))
}

// TestSignedByDisk: OpenPGP signatures of images are on a web server of the connected side. A disk carries
// those that were verified there, and the site verifies them again without that server.
func TestSignedByDisk(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	keys, err := releasetest.FixedKeys()
	if err != nil {
		t.Fatal(err)
	}
	others, err := releasetest.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	app, err := registrytest.SizedImage("app", 100)
	if err != nil {
		t.Fatal(err)
	}
	var multi v1.ImageIndex
	if multi, err = registrytest.Index("multi"); err != nil {
		t.Fatal(err)
	}
	w.signSimple(keys, "team/app", "v1", w.pushSigned("team/app", app))
	w.pushSigned("team/multi", multi)
	m, err := multi.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range m.Manifests {
		w.signSimple(keys, "team/multi", "v1", child.Digest.String())
	}
	lookaside := httptest.NewServer(http.FileServer(http.Dir(w.path("lookaside"))))
	defer lookaside.Close()
	if err := os.Mkdir(w.path("registries.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("registries.d/team.yaml", fmt.Sprintf("docker:\n  %s:\n    lookaside: %s\n", w.source.Host, lookaside.URL))
	trust := func(policy string) []string {
		return []string{"--policy", policy, "--registries.d", w.path("registries.d")}
	}
	trusted, distrusted := trust(w.signedByPolicy("trusted", keys)), trust(w.signedByPolicy("distrusted", others))
	isc := w.additional("team/app", "team/multi")
	disk := func(name string) string { return "file://" + w.path(name) }
	run := func(trust []string, args ...string) []string { return slices.Concat(args, trust) }

	w.refuse(exitMismatch, []string{"none of 2 images is accepted", "not in keyring"}, run(distrusted, "plan", "-c", isc)...)
	w.must(run(trusted, "plan", "-c", isc, "--lock", w.path("plan.json"))...)
	w.says(w.must("explain", "--plan", w.path("plan.json"), "team/multi").stdout, "(signedBy)", fmt.Sprintf("carries %d OpenPGP signatures", len(m.Manifests)))
	w.must(run(trusted, "mirror", "-c", isc, disk("signed"))...)
	for name, args := range map[string][]string{"removed": run(trusted, "--remove-signatures"), "plain": nil} {
		w.must(run(args, "mirror", "-c", isc, disk(name), "--workspace", w.path("of-"+name))...)
	}
	w.source.Shut()
	lookaside.Close()

	o := w.must(run(trusted, "mirror", "--from", disk("signed"), "--workspace", w.path("site"), w.docker("/ocp"))...)
	w.says(o.stdout, "2 images verified, 0 accepted without verification.\n", "2 images by key ", "(signedBy)")
	o = w.must(run(trusted, "verify", "--from", disk("signed"), "--workspace", w.path("site"), w.docker("/ocp"))...)
	w.says(o.stdout, "2 images verified, 0 accepted without verification.\n")
	w.refuse(exitMismatch, []string{"none of 2 images is accepted", "not in keyring"},
		run(distrusted, "mirror", "--from", disk("signed"), "--workspace", w.path("wrong"), w.docker("/wrong"))...)
	w.write("registries.d/team.yaml", "docker: {}\n") // a server that does not answer is asked for a long time
	for _, name := range []string{"removed", "plain"} {
		w.refuse(exitMismatch, []string{"none of 2 images is accepted", "signedBy requires a signature, and there is none"},
			run(trusted, "mirror", "--from", disk(name), "--workspace", w.path("site-"+name), w.docker("/"+name))...)
	}
	for prefix, want := range map[string]bool{"ocp": true, "wrong": false, "removed": false, "plain": false} {
		if _, err := w.mirror.Client().Pull(t.Context(), prefix+"/team/app", "v1"); (err == nil) != want {
			t.Errorf("%s/team/app: %v", prefix, err)
		}
	}
}

// TestBundlePolicyDisk: the images of an operator's bundles are verified at the source and again from a
// disk. A site that trusts another key gets neither them nor the catalog that names them.
func TestBundlePolicyDisk(t *testing.T) {
	t.Parallel()
	w := newEmptyFixture(t, registrytest.Options{})
	w.mirror = registrytest.Start(t, registrytest.Options{})
	isc := w.heronSource()
	key := w.signingKey("key.pub")
	w.signingKey("other.pub")
	const repository = "images.example.net/heron/bundle"
	for _, tag := range []string{"v1.0.0", "v1.1.0"} {
		got, err := w.source.Client().Pull(t.Context(), repository, tag)
		if err != nil {
			t.Fatal(err)
		}
		w.signImage(key, repository, got.Digest.String(), repository)
	}
	policy := func(name string) string {
		return w.write(name+".json", fmt.Sprintf(`{"default": [{"type": "insecureAcceptAnything"}], "transports": {"docker": {
  %q: [{"type": "sigstoreSigned", "keyPath": %q, "signedIdentity": {"type": "matchRepository"}}]}}}`, repository, w.path(name+".pub")))
	}
	w.must("mirror", "-c", isc, "--policy", policy("key"), "file://"+w.path("disk"))
	w.source.Shut()
	o := w.must("mirror", "--from", "file://"+w.path("disk"), "--policy", policy("key"), "--workspace", w.path("site"), w.docker("/good"), "--dest-tls-verify=false")
	w.says(o.stdout, "2 images verified, 1 accepted without verification; 1 image was made by Gantry")
	w.refuse(exitPartial, []string{"not mirrored: " + repository + ":v1.0.0", "no key of the policy matches"},
		"mirror", "--from", "file://"+w.path("disk"), "--policy", policy("other"), "--workspace", w.path("other"), w.docker("/bad"), "--dest-tls-verify=false")
	for name, want := range map[string]bool{"good/heron/bundle:v1.1.0": true, "good/heron-index:v4.20": true, "bad/heron/bundle:v1.1.0": false, "bad/heron-index:v4.20": false, "bad/heron/manager:v1": true} {
		at, tag, _ := strings.Cut(name, ":")
		if _, err := w.mirror.Client().Pull(t.Context(), at, tag); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
