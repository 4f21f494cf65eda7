package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release/releasetest"
	"github.com/gantry-mirror/gantry/pkg/release/updates"
)

// TestReal415 checks the published chain of trust of 4.15.0: the update graph with its digest, the
// signature of that digest, and the vendor's key in the program. The payload is not available here,
// so the chain ends with the request for it, which is sent only after the signature is verified.
func TestReal415(t *testing.T) {
	t.Parallel()
	const shared = "../../../shared"
	graph, err := os.ReadFile(filepath.Join(shared, "graphs/recorded/amd64-stable-4.15.json"))
	if err != nil {
		t.Skip("there are no recorded graphs beside the checkout")
	}
	const payload = "sha256:0da6316466d60a3a4535d5fed3589feb0391989982fba59d47d4c729912d6363"
	files := http.FileServer(http.Dir(filepath.Join(shared, "releases")))
	service := registrytest.Serve(t, registrytest.Options{}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == releasetest.GraphPath {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write(graph)
			return
		}
		files.ServeHTTP(rw, r)
	}))
	quay := registrytest.New(t, registrytest.Options{})
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: quay}
	w.surroundings(w.write("registries.conf", "[[registry]]\nprefix = \"quay.io\"\nlocation = \""+quay.Host+"\"\ninsecure = true\n"), "")
	w.env[updates.UpdateURLVariable] = service.URL() + releasetest.GraphPath
	w.env[updates.SignatureURLVariable] = service.URL() + releasetest.SignaturesPath
	isc := func(version string) string {
		return w.config("imageset.yaml", "  platform:\n    channels: [{name: stable-4.15, minVersion: "+version+", maxVersion: "+version+"}]\n")
	}
	asked := func() (n int) {
		for _, r := range quay.Log() {
			if r.Kind() == "GET manifest" && r.Digest() == payload {
				n++
			}
		}
		return n
	}

	// With a valid signature, the payload is requested by its digest from the graph, but is not
	// available.
	w.refuse(exitError, []string{"quay.io/openshift-release-dev/ocp-release@" + payload, "HTTP 404"}, "plan", "-c", isc("4.15.0"))
	if n := asked(); n != 1 {
		t.Errorf("the payload was requested %d times", n)
	}

	// If one bit of the signature differs, or it is the signature of another release, the payload
	// is not requested.
	quay.ResetLog()
	at := releasetest.SignaturesPath + "/sha256=" + digest.Digest(payload).Encoded()
	service.Script(registrytest.Rule{Path: at, Action: registrytest.WrongBytes()})
	w.refuse(exitMismatch, []string{payload, "is not trusted", "verifier-public-key-redhat"}, "plan", "-c", isc("4.15.0"))
	service.Script(registrytest.Rule{Path: at + "/signature-1", Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		r.URL.Path = releasetest.SignaturesPath + "/sha256=e3f12513a4b22a2d7c0e7c9207f52128113758d9d68c7d06b11a0ac7672966f7/signature-1"
		next.ServeHTTP(rw, r)
	}})
	w.refuse(exitMismatch, []string{payload, "is not trusted", "version 3"}, "plan", "-c", isc("4.15.0"))
	service.Script()
	// There is no signature of 4.15.2 here.
	w.refuse(exitMismatch, []string{"is not trusted", "the store has no signature for the image"}, "plan", "-c", isc("4.15.2"))
	// Another vendor's key does not verify it.
	keys, err := releasetest.FixedKeys()
	if err != nil {
		t.Fatal(err)
	}
	other := w.write("other.asc", string(keys.OpenPGP))
	w.refuse(exitMismatch, []string{"which is not in keyring " + other}, "plan", "-c", isc("4.15.0"), "--release-key", other)
	if n := asked(); n != 0 {
		t.Errorf("the payload was requested %d times without a trusted signature", n)
	}
	// Nor do both keys together: every keyring needs a valid signature.
	vendor := filepath.Join(shared, "releases/keys/redhat-release-key.asc")
	w.refuse(exitMismatch, []string{"no signature satisfies the keyring " + other}, "plan", "-c", isc("4.15.0"), "--release-key", vendor, "--release-key", other)
	w.refuse(exitError, []string{"HTTP 404"}, "plan", "-c", isc("4.15.0"), "--release-key", vendor)
}
