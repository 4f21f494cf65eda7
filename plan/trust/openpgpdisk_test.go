package trust_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// TestOpenPGP checks OpenPGP signatures of images, which are on a web server of the connected side. A disk carries those
// that were verified there, and the site verifies them again without that server.
func TestOpenPGP(t *testing.T) {
	t.Parallel()
	s := &source{Site: mirrortest.New(t, registrytest.Options{})}
	keys, err := releasetest.FixedKeys()
	fail.On(t, err)
	others, err := releasetest.NewKeys()
	fail.On(t, err)
	s.signSimple(keys, "team/app", s.pushed("team/app"))
	images := s.pushedIndex()
	for _, child := range images {
		s.signSimple(keys, "team/multi", child)
	}
	lookaside := httptest.NewServer(http.FileServer(http.Dir(s.Path("lookaside"))))
	defer lookaside.Close()
	fail.On(t, os.Mkdir(s.Path("registries.d"), 0o700))
	s.Write("registries.d/team.yaml", fmt.Sprintf("docker:\n  %s:\n    lookaside: %s\n", s.Source.Host, lookaside.URL))
	signedBy := func(name string, keys *releasetest.Keys) trust.ImageTrust {
		file := s.Write(name+".asc", string(keys.OpenPGP))
		return trust.ImageTrust{
			Policy:      s.Write(name+".json", fmt.Sprintf(`{"default": [{"type": "signedBy", "keyType": "GPGKeys", "keyPath": %q}]}`, file)),
			RegistriesD: s.Path("registries.d"),
		}
	}
	trusted, distrusted := signedBy("trusted", keys), signedBy("distrusted", others)
	isc := s.config("team/app", "team/multi")
	_, err = s.planned(isc, distrusted)
	mirrortest.Refused(t, err, advice.Mismatch, "none of 2 images is accepted", "not in keyring")
	r, err := s.planned(isc, trusted)
	fail.On(t, err)
	counts(t, r.Verified, 2, 0, 0)
	by := func(of trust.ImageTrust) func(*mirroring.Options) {
		return func(o *mirroring.Options) { o.ImageTrust = of }
	}
	disk := s.Exported(isc, "signed", by(trusted))
	removed := s.Exported(isc, "removed", by(trusted), func(o *mirroring.Options) { o.RemoveSignatures, o.Workspace = true, s.Path("of-removed") })
	plain := s.Exported(isc, "plain", func(o *mirroring.Options) { o.Workspace = s.Path("of-plain") })
	s.Source.Shut()
	lookaside.Close()

	got, err := s.importing(disk, "ocp", trusted)
	fail.On(t, err)
	counts(t, got.Verified, 2, 0, 0)
	v, err := s.verified(disk, "ocp", trusted)
	fail.On(t, err)
	counts(t, v.Verified, 2, 0, 0)
	_, err = s.importing(disk, "wrong", distrusted)
	mirrortest.Refused(t, err, advice.Mismatch, "none of 2 images is accepted", "not in keyring")
	s.Write("registries.d/team.yaml", "docker: {}\n") // a server that does not answer is asked for a long time
	for name, disk := range map[string]string{"removed": removed, "plain": plain} {
		_, err := s.importing(disk, name, trusted)
		mirrortest.Refused(t, err, advice.Mismatch, "none of 2 images is accepted", "signedBy requires a signature, and there is none")
	}
	s.has(map[string]bool{"ocp/team/app": true, "wrong/team/app": false, "removed/team/app": false, "plain/team/app": false})
}

// signSimple stores an OpenPGP signature of an image in a folder for a web server, as podman does.
func (s *source) signSimple(keys *releasetest.Keys, repository, hash string) {
	s.T.Helper()
	body, err := keys.Sign(s.Source.Host+"/"+repository+":v1", digest.Digest(hash))
	folder := s.Path("lookaside/" + repository + "@" + strings.Replace(hash, ":", "=", 1))
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "signature-1"), body, 0o600)
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

// TestBundles checks that the images of an operator's bundles are verified at the source, and again from a disk. A site that
// trusts another key gets neither them nor the catalog that names them.
func TestBundles(t *testing.T) {
	t.Parallel()
	s := &source{Site: mirrortest.New(t, registrytest.Options{})}
	isc := s.Operators("lantern")
	all, err := s.planned(isc, trust.ImageTrust{})
	fail.On(t, err)
	key := signingKey(s.Site, "key.pub")
	signingKey(s.Site, "other.pub")
	repository, bundles := "", map[string]bool{}
	for _, img := range all.Plan.Images {
		if img.Kind == plan.BundleImage {
			repository, _, _ = strings.Cut(img.Source, "@")
			signImage(s.Site, key, repository, img.Digest.String(), repository)
			bundles[img.Repository] = true
		}
	}
	if len(bundles) != 1 {
		t.Fatalf("bundles are in %v", bundles)
	}
	policy := func(name string) trust.ImageTrust {
		return trust.ImageTrust{Policy: s.Write(name+".json", fmt.Sprintf(`{"default": [{"type": "insecureAcceptAnything"}], "transports": {"docker": {
  %q: [{"type": "sigstoreSigned", "keyPath": %q, "signedIdentity": {"type": "matchRepository"}}]}}}`, repository, s.Path(name+".pub")))}
	}
	disk := s.Exported(isc, "disk", func(o *mirroring.Options) { o.ImageTrust = policy("key") })
	s.Source.Shut()
	good, err := s.importing(disk, "good", policy("key"))
	if err != nil || good.Verified.Verified == 0 || good.Verified.Built == 0 {
		t.Fatalf("%+v, %v", good, err)
	}
	bad, err := s.importing(disk, "bad", policy("other"))
	mirrortest.Refused(t, err, advice.Partial)
	if len(bad.Report.Withheld) != 1 || len(bad.Report.Failed) != good.Verified.Verified || !strings.Contains(bad.Report.Failed[0].Reason, "no key of the policy matches") {
		t.Errorf("withheld: %+v, failed: %+v", bad.Report.Withheld, bad.Report.Failed)
	}
}
