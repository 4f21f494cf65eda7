package mirroring_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
)

func reading(read archive.OpenOptions) change {
	return func(o *mirroring.Options) { o.Read = read }
}

// tellsNothing checks that the files of a folder, and their names, contain nothing of a plan and its configuration.
func tellsNothing(s *mirrortest.Site, folder string, p *plan.Plan) {
	s.T.Helper()
	secrets := []string{"schemaVersion", "AGE-SECRET-KEY", s.Source.Host}
	for desc := range mirror.Content(p) {
		secrets = append(secrets, desc.Digest.Encoded()[:12])
	}
	for i := range p.Images {
		secrets = append(secrets, p.Images[i].Repository, p.Images[i].Source)
	}
	for _, c := range p.Catalogs {
		secrets = append(secrets, elements.Map(c.Packages, func(pkg plan.Package) string { return pkg.Name })...)
	}
	// A text that contains another needs no look of its own.
	slices.SortFunc(secrets, func(a, b string) int { return len(a) - len(b) })
	var least []string
	for _, text := range secrets {
		if !slices.ContainsFunc(least, func(part string) bool { return strings.Contains(text, part) }) {
			least = append(least, text)
		}
	}
	files := 0
	err := filepath.WalkDir(s.Path(folder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		raw, err := os.ReadFile(path)
		for _, secret := range least {
			if bytes.Contains(raw, []byte(secret)) || strings.Contains(e.Name(), secret) {
				s.T.Errorf("%s contains %q", path, secret)
			}
		}
		return err
	})
	if err != nil || files < 4 {
		s.T.Fatalf("%d files, %v", files, err)
	}
}

// TestEncryptedDisk imports an encrypted archive at a site that has the identity. Without it, only the checksums can be
// verified.
func TestEncryptedDisk(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	site, recipient := s.AgeKey("site", "")
	other, _ := s.AgeKey("other", "")
	encrypted := []change{s.EncryptedTo(recipient), volumesOf(150_000)}
	s.written(1, "plain", func(o *mirroring.Options) { o.Workspace = s.Path("elsewhere") })
	_, p := s.OpenArchive(s.Archive("plain"))
	s.written(1, "disk", encrypted...)
	tellsNothing(s.Site, "disk", p)

	folders := []string{s.Archive("disk")}
	if v, err := s.verify("disk"); err != nil || !v.NeedsIdentity || !v.Encrypted {
		t.Errorf("verify without an identity: %+v, %v", v, err)
	}
	if i, err := inspect.Archive(t.Context(), open.Options{Env: s.Env, Folders: folders}); err != nil || i.Name != "" || !i.Sets[0].Locked || i.Plan != nil {
		t.Errorf("inspect without an identity: %+v, %v", i, err)
	}
	verbs := map[string]func(read archive.OpenOptions) error{
		"import": func(read archive.OpenOptions) error {
			_, err := s.importing("a", []string{"disk"}, reading(read))
			return err
		},
		"list": func(read archive.OpenOptions) error {
			_, err := inspect.ListArchiveImages(t.Context(), inspect.ArchiveListOptions{Options: open.Options{Env: s.Env, Folders: folders, Read: read}})
			return err
		},
		"extract": func(read archive.OpenOptions) error {
			_, err := extract.Images(t.Context(), extract.Options{Options: open.Options{Env: s.Env, Folders: folders, Read: read}, To: s.Path("layout")})
			return err
		},
		"repair": func(read archive.OpenOptions) error {
			_, _, err := open.RequestRepair(t.Context(), open.Options{Env: s.Env, Folders: folders, Read: read})
			return err
		},
		"compare": func(read archive.OpenOptions) error {
			_, err := verify.Run(t.Context(), verify.Options{Env: s.Env, Locations: []string{s.Docker("a")}, From: folders, Read: read})
			return err
		},
	}
	right := archive.OpenOptions{Identities: s.Identities(site)}
	for name, run := range verbs {
		t.Log(name)
		mirrortest.Refused(t, run(archive.OpenOptions{}), advice.Input, "is encrypted, to 1 recipient (X25519)", "no identity")
		mirrortest.Refused(t, run(archive.OpenOptions{Identities: s.Identities(other)}), advice.Input, "none of 1 identity opens gantry-000001.json", "the file does not tell whose identity would")
	}
	if sent := changes(s.Site); len(sent) > 0 {
		t.Errorf("without the right identity, the mirror was changed: %v", sent)
	}
	for _, name := range []string{"import", "list", "extract", "repair", "compare"} {
		if err := verbs[name](right); err != nil {
			t.Errorf("%s with the identity: %v", name, err)
		}
	}
	s.VerifyCatalog("a", mirrortest.Acme, 1)
	_, err := extract.Images(t.Context(), extract.Options{Options: open.Options{Env: s.Env, Folders: []string{s.Archive("plain")}}, To: s.Path("of-plain")})
	fail.On(t, err)
	fail.Diff(t, checksums(t, s.Path("of-plain/blobs/sha256")), checksums(t, s.Path("layout/blobs/sha256")))
	if again := s.written(1, "disk", encrypted...); again.Sequence != 1 || s.manifests("disk") != "000001" {
		t.Errorf("another run: %+v", again)
	}
	// Another workspace does not know the archive, and does not replace it.
	before := checksums(t, s.Path("disk"))
	s.written(1, "disk", append(encrypted, func(o *mirroring.Options) { o.Workspace = s.Path("third") })...)
	after := checksums(t, s.Path("disk"))
	for name, sum := range before {
		if after[name] != sum {
			t.Errorf("%s was changed or removed", name)
		}
	}
	fail.Diff(t, "000001 000002", s.manifests("disk"))
}

// TestEncryptedSequences imports an encrypted archive with only new content, continues an unfinished one, and repairs a
// damaged one, whose repair must be encrypted, too.
func TestEncryptedSequences(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	site, recipient := s.AgeKey("site", "")
	to := s.EncryptedTo(recipient)
	read := archive.OpenOptions{Identities: s.Identities(site)}
	plain := s.written(2, "plain", func(o *mirroring.Options) { o.Workspace = s.Path("elsewhere") })
	_, p := s.OpenArchive(s.Archive("plain"))
	s.written(1, "disk1", to)
	s.Source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/tidewater/server/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	s.Source.ResetLog()
	_, err := s.write(2, "disk2", to)
	mirrortest.Refused(t, err, advice.Partial)
	fail.Diff(t, "", s.manifests("disk2"))
	tellsNothing(s.Site, "disk2", p)
	s.Source.Script()
	got := map[string]bool{}
	for _, r := range s.Source.Log() {
		if r.Kind() == "GET blob" && r.Status == http.StatusOK {
			got[r.Path] = true
		}
	}
	s.Source.ResetLog()
	second := s.written(2, "disk2", to)
	s.sequence(second, 2, 1)
	for _, r := range s.Source.Log() {
		if r.Kind() == "GET blob" && got[r.Path] {
			t.Errorf("%s was read again", r.Path)
		}
	}
	if len(got) == 0 || second.Bytes >= plain.Bytes {
		t.Errorf("%d blobs were copied before, and the archive has %d bytes", len(got), second.Bytes)
	}
	s.Said()
	s.written(3, "disk3")
	if !s.said("the previous archive is encrypted and this one will not be") {
		t.Error("an archive without encryption follows without a warning")
	}
	for _, disk := range []string{"disk1", "disk2"} {
		_, err := s.importing("site", []string{disk}, reading(read))
		fail.On(t, err)
	}
	s.VerifyCatalog("site", mirrortest.Acme, 4)

	have, err := archive.OpenWith(read, s.Path("disk1"))
	fail.On(t, err)
	var spoilt archive.EntryInfo
	for e := range have.Entries() {
		if e.IsContent && e.MediaType == "" {
			spoilt = e
		}
	}
	fail.On(t, have.Close())
	s.Spoil("disk1", spoilt)
	_, err = s.verify("disk1")
	mirrortest.Refused(t, err, advice.Mismatch, "is damaged")
	if r := requested(s.Site, read, s.Archive("disk1")); len(r.Content) != 1 || !r.Encrypted {
		t.Errorf("%+v", r)
	}
	_, err = repairing(s.Site, s.Archive("repair"))
	mirrortest.Refused(t, err, advice.Input, "its repair would not be")
	_, err = repairing(s.Site, s.Archive("repair"), to)
	fail.On(t, err)
	_, err = s.importing("repaired", []string{"disk1", "repair"}, reading(read))
	fail.On(t, err)
}

// TestSignedDisk carries a signed archive to a site that requires a signature. Nothing of a refused archive is copied.
func TestSignedDisk(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	ops, fingerprint := s.SSHKey("ops", "")
	mallory, _ := s.SSHKey("mallory", "")
	s.written(1, "disk", s.SignedWith(ops))
	elsewhere := func(o *mirroring.Options) { o.Workspace = s.Path("elsewhere") }
	s.written(1, "plain", elsewhere)
	s.Exported(s.Config("store.yaml", mirrortest.StoreOnly), "other", s.SignedWith(mallory))
	allowed := s.Write("allowed_signers", "# who writes disks\n"+s.Allowed("ops", `namespaces="gantry"`))
	by := func(trust keys.ArchiveTrust) archive.OpenOptions {
		t.Helper()
		p, err := keys.SigningPolicy(s.Env, trust)
		fail.On(t, err)
		return archive.OpenOptions{Signatures: p}
	}
	trusted, named := by(keys.ArchiveTrust{VerifyKey: []string{ops + ".pub"}}), by(keys.ArchiveTrust{AllowedSigners: allowed, Signer: "ops@example.com"})
	for _, read := range []archive.OpenOptions{trusted, named, by(keys.ArchiveTrust{})} {
		r, err := verify.Run(t.Context(), verify.Options{Env: s.Env, Locations: []string{s.Archive("disk")}, Read: read})
		fail.On(t, err)
		v := r.Archive.Signature
		if v.Trusted != read.Signatures.Required || v.Key != fingerprint || v.Principal != "ops@example.com" && v.Trusted {
			t.Errorf("%+v", v)
		}
	}
	s.Mirror.ResetLog()
	refused := func(folder string, read archive.OpenOptions, words ...string) {
		t.Helper()
		_, err := s.importing("a", []string{folder}, reading(read))
		mirrortest.Refused(t, err, advice.Mismatch, words...)
		_, err = verify.Run(t.Context(), verify.Options{Env: s.Env, Locations: []string{s.Archive(folder)}, Read: read})
		mirrortest.Refused(t, err, advice.Mismatch, words[0])
		if sent := changes(s.Site); len(sent) > 0 {
			t.Errorf("the mirror was changed: %v", sent)
		}
	}
	refused("disk", by(keys.ArchiveTrust{VerifyKey: []string{mallory + ".pub"}}), "it is not a trusted key", "gantry-000001.json.sig", fingerprint)
	refused("disk", by(keys.ArchiveTrust{AllowedSigners: allowed, Signer: "dev@example.com"}), `not to "dev@example.com"`)
	refused("disk", by(keys.ArchiveTrust{AllowedSigners: s.Write("old", s.Allowed("ops", `valid-before="20200101"`))}), "was valid until")
	refused("plain", trusted, "not signed")
	refused("plain", named, "not signed")

	// Another complete archive with the valid signature of the first, and with none.
	no := false
	for text, want := range map[string]string{s.Read("disk/gantry-000001.json.sig"): "something else", "hello": "not an SSH signature"} {
		s.Write("other/gantry-000001.json.sig", text)
		refused("other", trusted, want)
		refused("other", by(keys.ArchiveTrust{}), want)
		refused("other", by(keys.ArchiveTrust{AllowedSigners: allowed, RequireSignature: &no}), want)
	}
	r, err := s.importing("a", []string{"disk"}, reading(named))
	if err != nil || r.Signature == nil || !r.Signature.Trusted || r.Signature.Principal != "ops@example.com" {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = s.importing("b", []string{"plain"}, reading(by(keys.ArchiveTrust{AllowedSigners: allowed, RequireSignature: &no})))
	fail.On(t, err)
	// If there is nothing new, the existing archive is signed when a key is given.
	if again := s.written(1, "plain", elsewhere, s.SignedWith(ops)); again.Sequence != 1 {
		t.Errorf("%+v", again)
	}
	_, err = s.importing("b", []string{"plain"}, reading(trusted))
	fail.On(t, err)
}
