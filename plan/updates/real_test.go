package updates_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// TestReal415 checks the published chain of trust of 4.15.0: the update graph with its digest, the signature of that
// digest, and the vendor's key in the program. The payload is not available here, so the chain ends with the request for
// it, which is sent only after the signature is verified.
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
	s := &mirrortest.Site{T: t, Dir: t.TempDir()}
	s.Vars = map[string]string{
		"HOME": s.Dir, "CONTAINERS_REGISTRIES_CONF": s.Write("registries.conf", "[[registry]]\nprefix = \"quay.io\"\nlocation = \""+quay.Host+"\"\ninsecure = true\n"),
		updates.UpdateURLVariable: service.URL() + releasetest.GraphPath, updates.SignatureURLVariable: service.URL() + releasetest.SignaturesPath,
	}
	s.Env = s.NewEnv()
	keys, err := releasetest.FixedKeys()
	fail.On(t, err)
	other, vendor := s.Write("other.asc", string(keys.OpenPGP)), filepath.Join(shared, "releases/keys/redhat-release-key.asc")
	at := releasetest.SignaturesPath + "/sha256=" + digest.Digest(payload).Encoded()
	wrong := registrytest.Rule{Path: at, Action: registrytest.WrongBytes()}
	another := registrytest.Rule{Path: at + "/signature-1", Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		r.URL.Path = releasetest.SignaturesPath + "/sha256=e3f12513a4b22a2d7c0e7c9207f52128113758d9d68c7d06b11a0ac7672966f7/signature-1"
		next.ServeHTTP(rw, r)
	}}
	for _, tc := range []struct {
		name, version string
		rules         []registrytest.Rule
		keys          []string
		trusted       bool // the payload is requested by its digest from the graph, but is not available
		words         []string
	}{
		{"valid", "4.15.0", nil, nil, true, []string{"quay.io/openshift-release-dev/ocp-release@" + payload, "HTTP 404"}},
		{"the vendor's key", "4.15.0", nil, []string{vendor}, true, []string{"HTTP 404"}},
		{"one bit differs", "4.15.0", []registrytest.Rule{wrong}, nil, false, []string{payload, "is not trusted", "verifier-public-key-redhat"}},
		{"another release's", "4.15.0", []registrytest.Rule{another}, nil, false, []string{payload, "is not trusted", "version 3"}},
		{"no signature", "4.15.2", nil, nil, false, []string{"is not trusted", "the store has no signature for the image"}},
		{"another key", "4.15.0", nil, []string{other}, false, []string{"which is not in keyring " + other}},
		{"both keys", "4.15.0", nil, []string{vendor, other}, false, []string{"no signature satisfies the keyring " + other}}, // every keyring needs a valid signature
	} {
		quay.ResetLog()
		service.Script(tc.rules...)
		o := s.PlanOptions(s.Config("imageset.yaml", "  platform:\n    channels: [{name: stable-4.15, minVersion: "+tc.version+", maxVersion: "+tc.version+"}]\n"))
		o.ReleaseKeys = tc.keys
		_, err := planning.Make(t.Context(), o)
		kind, want := advice.Mismatch, 0
		if tc.trusted {
			kind, want = advice.Failure, 1
		}
		mirrortest.Refused(t, err, kind, tc.words...)
		asked := 0
		for _, r := range quay.Log() {
			if r.Kind() == "GET manifest" && r.Digest() == payload {
				asked++
			}
		}
		if asked != want {
			t.Errorf("%s: the payload was requested %d times", tc.name, asked)
		}
	}
}
