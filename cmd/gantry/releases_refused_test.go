package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// headOf420 selects one release, 4.20.2 for amd64.
const headOf420 = `  platform:
    kubeVirtContainer: true
    channels: [{name: fast-4.20}]
`

// signatureIs answers requests for the signature of a digest with this body.
func signatureIs(d digest.Digest, body []byte) registrytest.Rule {
	return registrytest.Rule{Path: releasetest.SignaturesPath + "/sha256=" + d.Encoded() + "/signature-1$", Action: func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		_, _ = rw.Write(body)
	}}
}

// TestReleaseSignatureRefused checks that if clusters would not accept a release's signature, none
// of its content is read and nothing is written.
func TestReleaseSignatureRefused(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", headOf420)
	p := w.payload("4.20.2-x86_64")
	made := func(body []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	keys := w.releases.Keys
	stranger, err := releasetest.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	ref := p.Repository + ":" + p.Name
	other := w.write("stranger.asc", string(stranger.OpenPGP))
	for _, tc := range []struct {
		name  string
		rule  registrytest.Rule
		keys  []string
		words []string
	}{
		{name: "tampered", rule: signatureIs(p.Digest, made(keys.SignInvalid(ref, p.Digest))), words: []string{"invalid signature"}},
		{name: "another key", keys: []string{other}, words: []string{"which is not in keyring " + other}},
		{name: "unsigned", rule: registrytest.Rule{Path: p.Digest.Encoded(), Action: registrytest.Status(http.StatusNotFound)}, words: []string{"the store has no signature for the image"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := w.in(t)
			w.service.Script(tc.rule)
			w.source.ResetLog()
			workspace := tc.name
			args := []string{"mirror", "-c", isc, w.docker("/refused"), "--workspace", w.path(workspace)}
			for _, key := range tc.keys {
				args = append(args, "--release-key", key)
			}
			w.ended(w.gantry(args...), exitMismatch, append(tc.words, p.Digest.String(), "is not trusted")...)
			w.untouched(workspace)
			for _, r := range w.source.Log() {
				if strings.Contains(r.Path, "/openshift-release-dev/") {
					t.Errorf("%s %s: content of an untrusted release was read", r.Method, r.Path)
				}
			}
		})
	}

	// An invalid signature has no effect if another signature in the store is valid.
	w.service.Script(signatureIs(p.Digest, made(keys.SignInvalid(ref, p.Digest))),
		registrytest.Rule{Path: p.Digest.Encoded() + "/signature-2$", Action: func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			_, _ = rw.Write(w.releases.Signature(p.Digest))
		}})
	w.must("mirror", "-c", isc, w.docker("/second"))
	w.attested("workspace", p.Name)
}

// in returns the fixture for a subtest.
func (w *platformFixture) in(t *testing.T) *platformFixture {
	inner, outer := *w.fixture, *w
	inner.t = t
	outer.fixture = &inner
	return &outer
}

// TestReleasePlanAltered checks that the signatures in a saved plan are verified again before
// anything is copied.
func TestReleasePlanAltered(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", headOf420)
	p := w.payload("4.20.2-x86_64")
	w.must("plan", "-c", isc, "-o", w.path("plan.json"))
	text, err := os.ReadFile(w.path("plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	alter := func(body []byte) string {
		was, err := json.Marshal(w.releases.Signature(p.Digest))
		if err != nil {
			t.Fatal(err)
		}
		is, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), string(was)) != 1 {
			t.Fatal("the plan does not have exactly one signature")
		}
		return w.write("altered.json", strings.Replace(string(text), string(was), string(is), 1))
	}
	missigned, err := w.releases.Keys.SignInvalid(p.Repository+":"+p.Name, p.Digest)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"invalid signature": missigned, "signs another image": w.releases.Signature(w.payload("4.20.1-x86_64").Digest)} {
		altered := alter(body)
		w.refuse(exitMismatch, []string{"release 4.20.2-x86_64", name}, "mirror", "--plan", altered, w.docker("/altered"), "--workspace", w.path("altered"))
		w.untouched("altered")
	}
	w.must("mirror", "--plan", w.path("plan.json"), w.docker("/ocp"))
	w.holds("ocp", p.Name)
}

// TestReleaseSignatureIgnored checks that mirroring an unsigned release requires
// --ignore-release-signature on both sides and prints a warning.
func TestReleaseSignatureIgnored(t *testing.T) {
	t.Parallel()
	u := releasetest.Small()
	for i := range u.Releases {
		u.Releases[i].Flaws.Unsigned = true
	}
	w := newPlatformFixture(t, u)
	isc := w.config("imageset.yaml", headOf420)
	name, disk := "4.20.2-x86_64", fileScheme+w.path("disk")
	const ignore, warning = "--ignore-release-signature", "without checking their signatures (--ignore-release-signature)"
	w.refuse(exitMismatch, []string{"is not trusted"}, "mirror", "-c", isc, disk)
	o := w.must("mirror", "-c", isc, disk, ignore)
	w.ended(o, exitOK, warning)

	plug := w.unplug()
	w.refuse(exitUsage, []string{"release " + name + " was planned without its signature", ignore}, "mirror", "--from", disk, w.docker("/far"), "--workspace", w.path("far"))
	w.untouched("far")
	o = w.must("mirror", "--from", disk, w.docker("/far"), "--workspace", w.path("far"), ignore)
	w.ended(o, exitOK, warning)
	plug()
	w.holds("far", name)
	w.attested("far")
}

// TestReleaseKeyAtDisconnectedSide checks that keys do not come from the archive: the site decides
// which releases it trusts.
func TestReleaseKeyAtDisconnectedSide(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", headOf420)
	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", isc, disk)
	key := w.env[updates.SignatureKeyVariable]
	delete(w.env, updates.SignatureKeyVariable)
	defer w.unplug()()
	w.refuse(exitMismatch, []string{"release 4.20.2-x86_64", "is not trusted", "--release-key"}, "mirror", "--from", disk, w.docker("/far"), "--workspace", w.path("far"))
	w.untouched("far")
	w.must("mirror", "--from", disk, w.docker("/far"), "--workspace", w.path("far"), "--release-key", key)
	w.holds("far", "4.20.2-x86_64")
}
