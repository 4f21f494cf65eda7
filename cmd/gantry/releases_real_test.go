package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// TestReal415 follows the chain of 4.15.0 as it was published: the update graph that
// names its digest, the signature of that digest, the vendor's key that the program
// has. The payload is not to be had here: what is asked for it, with a signature that
// is good, is the end of the chain.
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
	w := &world{t: t, dir: registrytest.TempDir(t), source: quay}
	w.surroundings(w.write("registries.conf", "[[registry]]\nprefix = \"quay.io\"\nlocation = \""+quay.Host+"\"\ninsecure = true\n"), "")
	w.env[updateURLVariable] = service.URL() + releasetest.GraphPath
	w.env[signatureURLVariable] = service.URL() + releasetest.SignaturesPath
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

	// Signed: the payload is asked for by the digest that the graph has, and is not
	// there.
	w.refuse(exitError, []string{"quay.io/openshift-release-dev/ocp-release@" + payload, "HTTP 404"}, "plan", "-c", isc("4.15.0"))
	if n := asked(); n != 1 {
		t.Errorf("the payload was asked for %d times", n)
	}

	// One bit of the signature, or the signature of another release, and the payload
	// is not asked for.
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
	// Of 4.15.2, there is no signature here.
	w.refuse(exitMismatch, []string{"is not trusted", "the store has no signature of the image"}, "plan", "-c", isc("4.15.2"))
	// Another vendor's key does not do.
	keys, err := releasetest.FixedKeys()
	if err != nil {
		t.Fatal(err)
	}
	other := w.write("other.asc", string(keys.OpenPGP))
	w.refuse(exitMismatch, []string{"which " + other + " does not hold"}, "plan", "-c", isc("4.15.0"), "--release-key", other)
	if n := asked(); n != 0 {
		t.Errorf("the payload was asked for %d times, though nothing vouched for it", n)
	}
	// Neither does it beside the vendor's.
	vendor := filepath.Join(shared, "releases/keys/redhat-release-key.asc")
	w.refuse(exitMismatch, []string{"no signature satisfies the keyring " + other}, "plan", "-c", isc("4.15.0"), "--release-key", vendor, "--release-key", other)
	w.refuse(exitError, []string{"HTTP 404"}, "plan", "-c", isc("4.15.0"), "--release-key", vendor)
}
