package main

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

// ageKey writes an identity to the fixture's folder and returns its recipient. If passphrase is not
// empty, the identity is encrypted.
func (w *fixture) ageKey(name, passphrase string) (file, recipient string) {
	w.t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		w.t.Fatal(err)
	}
	text := "# made for a test\n" + id.String() + "\n"
	if passphrase != "" {
		var out bytes.Buffer
		armored := armor.NewWriter(&out)
		to, err := age.NewScryptRecipient(passphrase)
		if err != nil {
			w.t.Fatal(err)
		}
		to.SetWorkFactor(10)
		in, err := age.Encrypt(armored, to)
		if err == nil {
			_, err = io.WriteString(in, text)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if in.Close() != nil || armored.Close() != nil {
			w.t.Fatal("the identity was not encrypted")
		}
		text = out.String()
	}
	return w.write(name, text), id.Recipient().String()
}

// tellsNothing checks that the files of a folder, and their names, contain nothing from a plan and
// its configuration.
func (w *fixture) tellsNothing(folder string, p *plan.Plan, secrets ...string) {
	w.t.Helper()
	for desc := range mirror.Content(p) {
		secrets = append(secrets, desc.Digest.Encoded()[:12])
	}
	for i := range p.Images {
		img := &p.Images[i]
		secrets = append(secrets, img.Repository, img.Source)
		for _, tag := range img.Tags {
			if len(tag) > 6 { // shorter tags occur in random bytes by chance
				secrets = append(secrets, tag)
			}
		}
	}
	for _, c := range p.Catalogs {
		secrets = append(secrets, c.Name(), c.Repository)
		for _, pkg := range c.Packages {
			secrets = append(secrets, pkg.Name)
		}
	}
	secrets = shortest(append(secrets, "imageset", "schemaVersion", "AGE-SECRET-KEY", w.source.Host))
	files := 0
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		raw, err := os.ReadFile(path)
		for _, secret := range secrets {
			if bytes.Contains(raw, []byte(secret)) || strings.Contains(e.Name(), secret) {
				w.t.Errorf("%s contains %q", path, secret)
			}
		}
		return err
	})
	if err != nil || files < 4 {
		w.t.Fatalf("%d files, %v", files, err)
	}
}

// shortest returns the texts that do not contain another of the texts. A file without any of these
// contains none of the others either.
func shortest(texts []string) []string {
	slices.SortFunc(texts, func(a, b string) int { return len(a) - len(b) })
	var least []string
	for _, text := range texts {
		if !slices.ContainsFunc(least, func(part string) bool { return strings.Contains(text, part) }) {
			least = append(least, text)
		}
	}
	return least
}

// extracted extracts an archive to an OCI layout and returns its files by path.
func (w *fixture) extracted(disk, to string, args ...string) map[string]string {
	w.t.Helper()
	w.looked(exitOK, append([]string{"archive", "extract", disk, "--to", w.path(to)}, args...)...)
	return w.tree(to)
}

// TestEncryptedDisk imports an encrypted archive at a site that has the identity.
func TestEncryptedDisk(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	site, recipient := w.ageKey("site", "")
	other, _ := w.ageKey("other", "")
	locked, lockedTo := w.ageKey("locked", "secret")
	disk, plain, isc := "file://"+w.path("disk"), "file://"+w.path("plain"), w.path("imageset.yaml")
	to := w.write("recipients.txt", "# the site\n"+recipient+"\n")
	o := w.must("mirror", "-c", isc, disk, "--encrypt-to", to, "--encrypt-to", lockedTo, "--volume-size", "0.15MB")
	w.says(o.stderr, "encrypted to 2 recipients")
	have, err := archive.Open(w.path("disk"))
	if err != nil {
		t.Fatal(err)
	}
	if info := have.Selected(); !info.NeedsIdentity || len(info.Volumes) < 3 {
		t.Errorf("the archive is %+v", info)
	}
	if err := have.Close(); err != nil {
		t.Fatal(err)
	}
	w.must("mirror", "-c", isc, plain, "--full")
	p := w.planOf(plain)
	w.tellsNothing(w.path("disk"), p)

	// Without an identity, the archive can be verified, but nothing else.
	o = w.must("verify", disk)
	w.says(o.stdout, "is intact", "every byte verified", "It is encrypted: its images are unknown without --identity")
	w.says(w.looked(exitOK, "archive", "inspect", disk).stdout, "1 (the name is encrypted)", "encrypted in ")
	w.mirror.ResetLog()
	none := []string{"is encrypted, to 2 recipients (X25519, X25519)", "no identity", "; give the identity of a recipient with --identity"}
	wrong := []string{"none of 1 identity opens gantry-000001.json", "the file does not tell whose identity would", "--encrypt-to"}
	for _, verb := range [][]string{{"mirror", "--from", disk, w.docker("/a")}, {"serve", disk}, {"archive", "list", disk}, {"archive", "extract", disk, "--to", w.path("out")}, {"archive", "repair-request", disk}, {"verify", "--from", disk, w.docker("/a")}} {
		refuse := w.refuseLook
		if verb[0] == "mirror" || verb[0] == "verify" {
			refuse = w.refuse
		}
		refuse(exitUsage, none, verb...)
		refuse(exitUsage, wrong, append(verb, "--identity", other)...)
	}
	w.refuse(exitUsage, []string{"is encrypted, and there is no terminal", "--identity-passphrase-file"}, "mirror", "--from", disk, w.docker("/a"), "--identity", locked)
	w.refuse(exitUsage, []string{"the passphrase is wrong"}, "mirror", "--from", disk, w.docker("/a"), "--identity", locked, "--identity-passphrase-file", w.write("wrong", "Secret\n"))
	w.untouched("without the right identity")

	// With an identity, all commands give the same results as for a plain archive.
	w.says(w.must("verify", disk, "--identity", site).stdout, "is intact: ", "images")
	w.says(w.looked(exitOK, "archive", "list", disk, "--identity", locked, "--identity-passphrase-file", w.write("secret", "secret\n")).stdout, "lantern/store")
	if a, b := w.extracted(plain, "from-plain"), w.extracted(disk, "from-disk", "--identity", site); len(a) == 0 || len(a) != len(b) {
		t.Errorf("the plain archive has %d files, the encrypted one %d", len(a), len(b))
	} else {
		for name, text := range a {
			if b[name] != text {
				t.Errorf("%s differs", name)
			}
		}
	}
	w.must("mirror", "--from", disk, w.docker("/a"), "--identity", other, "--identity", site)
	w.must("verify", "--from", disk, w.docker("/a"), "--identity", site)
	w.must("verify", "--from", plain, w.docker("/a"))

	// Another run has nothing to do.
	w.source.ResetLog()
	o = w.must("mirror", "-c", isc, disk, "--encrypt-to", to, "--encrypt-to", lockedTo, "--volume-size", "0.15MB")
	w.says(o.stdout, "Nothing to copy")
	if _, err := os.Stat(w.path("disk/gantry-000002.json")); err == nil {
		t.Error("another archive was written")
	}
}

// planOf returns the plan of an unencrypted archive.
func (w *fixture) planOf(where string) *plan.Plan {
	w.t.Helper()
	have, err := archive.Open(strings.TrimPrefix(where, fileScheme))
	if err != nil {
		w.t.Fatal(err)
	}
	defer have.Close()
	p, err := archivePlan(w.t.Context(), have)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// TestEncryptedSequences imports an encrypted archive with only new content, and repairs a damaged
// one.
func TestEncryptedSequences(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	site, recipient := m.ageKey("site", "")
	encrypted := []string{"--encrypt-to", recipient}
	m.writeMonth(1, encrypted...)
	m.says(m.writeMonth(2, encrypted...).stdout, "Sequence 2 omits ", "which are in sequence 1")
	m.says(m.writeMonth(3).stderr, "the previous archive is encrypted and this one will not be")
	again := m.must("mirror", "-c", m.isc[2], m.disks[2], "--name", "ops", "--encrypt-to", recipient)
	m.says(again.stdout, "Nothing to copy")
	m.must("verify", m.disks[1], m.disks[2])
	m.must(append(m.importArgs("site", 1), "--identity", site)...)
	m.must(append(m.importArgs("site", 2), "--identity", site)...)

	// The repair of an encrypted archive must be encrypted too.
	have, err := archive.OpenWith(archive.OpenOptions{Identities: m.read1(site)}, m.path("disk1"))
	if err != nil {
		t.Fatal(err)
	}
	var spoilt archive.EntryInfo
	for e := range have.Entries() {
		if e.IsContent && e.MediaType == "" {
			spoilt = e
		}
	}
	if err := have.Close(); err != nil {
		t.Fatal(err)
	}
	m.spoil("disk1", spoilt)
	m.refuse(exitMismatch, []string{"is damaged"}, "verify", m.disks[1])
	request := m.path("request.json")
	m.refuseLook(exitMismatch, []string{"1 manifest or blob"}, "archive", "repair-request", m.disks[1], "-o", request, "--identity", site)
	mended := fileScheme + m.path("mended")
	m.refuse(exitUsage, []string{"its repair would not be", "--encrypt-to"}, "mirror", "--repair", request, mended)
	m.must("mirror", "--repair", request, mended, "--encrypt-to", recipient)
	m.must("mirror", "--from", m.disks[1], "--from", mended, m.docker("/mended"), "--workspace", m.path("at-mended"), "--identity", site)
}

// read1 reads the identities in a file.
func (w *fixture) read1(file string) []age.Identity {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// TestEncryptionFlags checks that invalid keys are refused.
func TestEncryptionFlags(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	small, disk := w.config("small.yaml", storeOnly), "file://"+w.path("disk")
	secret, recipient := w.ageKey("site", "")
	_, ssh, _ := w.sshKey("ops", "")
	for to, words := range map[string][]string{
		"age1nothing":                 {"--encrypt-to", "malformed recipient"},
		"nobody":                      {"no such file", "use age1..."},
		secret:                        {"secret identities", "age-keygen -y"},
		ssh + ".pub":                  {"SSH keys can sign archives", "age-keygen"},
		w.write("empty", "# empty\n"): {"no recipients found"},
	} {
		w.refuse(exitUsage, words, "mirror", "-c", small, disk, "--encrypt-to", to)
	}
	w.refuse(exitUsage, []string{"--encrypt-to is for file:// destinations"}, "mirror", "-c", small, w.docker(""), "--encrypt-to", recipient)
	w.refuse(exitUsage, []string{"--identity is for reading an archive"}, "mirror", "-c", small, disk, "--identity", secret)
	if _, err := os.Stat(w.path("disk")); err == nil {
		t.Error("the folder was created")
	}
	w.must("mirror", "-c", small, disk, "--encrypt-to", recipient)
	for file, words := range map[string][]string{
		"nobody":                          {"--identity", "no such file"},
		ssh:                               {"SSH keys can sign archives"},
		w.write("public", recipient+"\n"): {"has recipients", "AGE-SECRET-KEY"},
		w.write("garbage", "AGE-SECRET-KEY-1X\n"): {"error at line 1"},
	} {
		w.refuse(exitUsage, words, "mirror", "--from", disk, w.docker(""), "--identity", file)
	}
	w.refuse(exitUsage, []string{"--identity-passphrase-file is for --identity"}, "verify", disk, "--identity-passphrase-file", secret)
}

// TestEncryptedWithAge opens an archive with the commands in docs/archive-format.md, which use age
// and jq but not Gantry. It is skipped if a tool is not installed.
func TestEncryptedWithAge(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"age", "jq", "sh", "tar", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	docs, err := os.ReadFile("../../docs/archive-format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(docs), "```sh\njq -r .encryption.key")
	script, _, ok := strings.Cut("jq -r .encryption.key"+script, "```")
	if !ok {
		t.Fatal("the chapter has no such commands")
	}
	w := newFixture(t, registrytest.Options{})
	_, recipient := w.ageKey("identity.txt", "")
	w.must("mirror", "-c", w.path("imageset.yaml"), "file://"+w.path("disk"), "--encrypt-to", recipient, "--volume-size", "0.15MB")
	w.must("mirror", "-c", w.path("imageset.yaml"), "file://"+w.path("plain"), "--full")
	if err := os.Rename(w.path("identity.txt"), w.path("disk/identity.txt")); err != nil {
		t.Fatal(err)
	}
	sh := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	sh.Dir = w.path("disk")
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.extracted("file://"+w.path("plain"), "want")
	for name, want := range w.tree("want") {
		if strings.HasPrefix(name, "blobs/") && w.read("disk/out/"+name) != want {
			t.Errorf("%s differs", name)
		}
	}
}

// TestEncryptedForOthers writes to a folder with an encrypted archive that the workspace does not
// know. The new archive does not replace it.
func TestEncryptedForOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	site, recipient := w.ageKey("site", "")
	disk, small := "file://"+w.path("disk"), w.config("small.yaml", storeOnly)
	w.must("mirror", "-c", small, disk, "--encrypt-to", recipient)
	before := folderOf(t, w.path("disk"))
	w.must("mirror", "-c", small, disk, "--encrypt-to", recipient, "--workspace", w.path("elsewhere"))
	after := folderOf(t, w.path("disk"))
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was changed or removed", name)
		}
	}
	if after["gantry-000002.json"] == "" {
		t.Error("there is no second archive")
	}
	w.must("verify", disk)
	w.must("mirror", "--from", disk, w.docker(""), "--identity", site)
}

// TestEncryptedUnfinished checks that the unfinished archive after a failed blob reveals nothing,
// and that its content is not read from the source again.
func TestEncryptedUnfinished(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	site, recipient := w.ageKey("site", "")
	disk, isc := "file://"+w.path("disk"), w.path("imageset.yaml")
	w.must("mirror", "-c", isc, "file://"+w.path("plain"), "--full")
	p := w.planOf("file://" + w.path("plain"))
	write := []string{"mirror", "-c", isc, disk, "--encrypt-to", recipient, "--full", "--workspace", w.path("elsewhere")}
	w.must("plan", "-c", isc, "--workspace", w.path("elsewhere"))
	w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/lantern/store/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	w.source.ResetLog()
	w.refuse(exitPartial, nil, write...)
	if _, err := os.Stat(w.path("disk/gantry-000001.json")); err == nil {
		t.Fatal("the archive is finished")
	}
	w.tellsNothing(w.path("disk"), p)
	w.source.Script()
	got := map[string]bool{}
	for _, r := range w.source.Log() {
		if r.Method == http.MethodGet && r.Status == http.StatusOK && strings.Contains(r.Path, "/blobs/") {
			got[r.Path] = true
		}
	}
	if len(got) < 10 {
		t.Errorf("%d blobs were copied", len(got))
	}
	w.source.ResetLog()
	w.must(write...)
	for _, r := range w.source.Log() {
		if r.Method == http.MethodGet && got[r.Path] {
			t.Errorf("%s was read again", r.Path)
		}
	}
	w.tellsNothing(w.path("disk"), p)
	w.must("mirror", "--from", disk, w.docker(""), "--identity", site)
}
