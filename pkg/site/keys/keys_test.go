package keys_test

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
)

// newSite returns a site without registries.
func newSite(t *testing.T) *mirrortest.Site {
	t.Helper()
	s := &mirrortest.Site{T: t, Dir: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	s.Env = s.NewEnv()
	return s
}

// TestRecipients reads recipients, as texts and from files, and refuses what is none.
func TestRecipients(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	secret, one := s.AgeKey("site", "")
	_, two := s.AgeKey("other", "")
	ssh, _ := s.SSHKey("ops", "")
	if e, err := keys.NewEncryption(nil); e != nil || err != nil {
		t.Errorf("without recipients: %v, %v", e, err)
	}
	e, err := keys.NewEncryption([]string{s.Write("to", "# the site\n"+one+"\n"), two})
	if err != nil || len(e.Recipients) != 2 {
		t.Fatalf("%+v, %v", e, err)
	}
	identity := strings.Split(s.Read("site"), "\n")[1]
	for to, words := range map[string][]string{
		"age1nothing":                        {"Options.EncryptTo", "malformed recipient"},
		"nobody":                             {"no such file", "use age1..."},
		secret:                               {"secret identities", "age-keygen -y"},
		identity:                             {"secret identities"},
		ssh + ".pub":                         {"SSH keys can sign archives", "age-keygen"},
		strings.TrimSpace(s.Read("ops.pub")): {"SSH keys can sign archives"},
		s.Write("empty", "# empty\n"):        {"no recipients found"},
		s.Write("long", strings.Repeat("#", 2<<20)): {"bytes that are allowed"},
	} {
		_, err := keys.NewEncryption([]string{to})
		mirrortest.Refused(t, err, advice.Input, words...)
		if err != nil && strings.Contains(err.Error(), identity) {
			t.Error("the error shows the identity")
		}
	}
}

// TestIdentities reads identities, with and without a passphrase, and refuses what is none.
func TestIdentities(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	plain, recipient := s.AgeKey("site", "")
	locked, _ := s.AgeKey("locked", "secret")
	ssh, _ := s.SSHKey("ops", "")
	var asked []string
	passphrase := func(text string, err error) func(string) ([]byte, error) {
		return func(file string) ([]byte, error) { asked = append(asked, file); return []byte(text), err }
	}
	all, err := keys.ReadIdentities(s.Env, []string{plain, locked}, passphrase("secret", nil))
	if err != nil || len(all) != 2 || !slices.Equal(asked, []string{locked}) {
		t.Errorf("%d identities, %v; asked for %v", len(all), err, asked)
	}
	_, err = keys.ReadIdentities(s.Env, []string{locked}, passphrase("Secret", nil))
	mirrortest.Refused(t, err, advice.Input, "the passphrase is wrong")
	none := errors.New("no terminal")
	if _, err = keys.ReadIdentities(s.Env, []string{locked}, passphrase("", none)); !errors.Is(err, none) {
		t.Errorf("the error of the prompt became %v", err)
	}
	for file, words := range map[string][]string{
		"nobody":                          {"Options.Identities", "no such file"},
		ssh:                               {"SSH keys can sign archives"},
		s.Write("public", recipient+"\n"): {"has recipients", "AGE-SECRET-KEY"},
		"AGE-SECRET-KEY-1X":               {"takes the name of a file, not an identity"},
		s.Write("garbage", "AGE-SECRET-KEY-1X\n"): {"error at line 1"},
	} {
		_, err := keys.ReadIdentities(s.Env, []string{file}, nil)
		mirrortest.Refused(t, err, advice.Input, words...)
	}
	for text, want := range map[string]string{"secret\n": "secret", "secret\r\nmore": "secret", "": "", " a b ": " a b "} {
		if got, err := keys.ReadPassphrase(s.Env, s.Write("passphrase", text)); err != nil || string(got) != want {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
	if _, err := keys.ReadPassphrase(s.Env, s.Path("absent")); err == nil || !strings.Contains(err.Error(), "reading the passphrase") {
		t.Error(err)
	}
}

// TestSigningPolicy reads trusted keys, and refuses options that contradict each other.
func TestSigningPolicy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key, _ := s.SSHKey("ops", "")
	other, _ := s.SSHKey("other", "")
	allowed := s.Write("allowed", s.Allowed("ops", ""))
	yes, no := true, false
	for name, tc := range map[string]struct {
		trust    keys.ArchiveTrust
		required bool
		signers  bool
		words    string // of the error, or ""
	}{
		"nothing":                {keys.ArchiveTrust{}, false, false, ""},
		"keys":                   {keys.ArchiveTrust{VerifyKey: []string{key + ".pub", other + ".pub"}}, true, true, ""},
		"names":                  {keys.ArchiveTrust{AllowedSigners: allowed, Signer: "ops@example.com"}, true, true, ""},
		"only invalid":           {keys.ArchiveTrust{AllowedSigners: allowed, RequireSignature: &no}, false, true, ""},
		"two files":              {keys.ArchiveTrust{VerifyKey: []string{key + ".pub"}, AllowedSigners: allowed}, false, false, "Options.VerifyKey and Options.AllowedSigners both name trusted keys"},
		"a signer without names": {keys.ArchiveTrust{VerifyKey: []string{key + ".pub"}, Signer: "ops"}, false, false, "keys of Options.VerifyKey have no names"},
		"a private key":          {keys.ArchiveTrust{VerifyKey: []string{key}}, false, false, "ends in .pub"},
		"no file":                {keys.ArchiveTrust{AllowedSigners: s.Path("none")}, false, false, "no such file"},
		"no names in the file":   {keys.ArchiveTrust{AllowedSigners: key + ".pub"}, false, false, "line 1"},
		"required without keys":  {keys.ArchiveTrust{RequireSignature: &yes}, false, false, "no trusted keys are known"},
		"a signer without keys":  {keys.ArchiveTrust{Signer: "ops"}, false, false, "no trusted keys are known"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := keys.SigningPolicy(s.Env, tc.trust)
			if tc.words != "" {
				mirrortest.Refused(t, err, advice.Input, tc.words)
				return
			}
			if err != nil || p.Required != tc.required || (p.Signers != nil) != tc.signers || p.Principal != tc.trust.Signer {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	// The file of the user is the default.
	e := &env.Env{Getenv: func(name string) string { return map[string]string{"XDG_CONFIG_HOME": s.Path("config")}[name] }}
	s.Folder("config/gantry")
	s.Write("config/gantry/allowed_signers", s.Allowed("ops", ""))
	if p, err := keys.SigningPolicy(e, keys.ArchiveTrust{}); err != nil || !p.Required || p.Signers == nil {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestExposedSecrets checks that files with identities and passphrases that others can read are used, with a warning.
func TestExposedSecrets(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	identity, _ := s.AgeKey("site", "")
	s.Identities(identity)
	if said := s.Said(); len(said) > 0 {
		t.Errorf("of a file that only its user can read: %q", said)
	}
	passphrase := s.Write("passphrase", "open sesame\n")
	fail.On(t, errors.Join(os.Chmod(identity, 0o640), os.Chmod(passphrase, 0o644)))
	s.Identities(identity)
	if text, err := keys.ReadPassphrase(s.Env, passphrase); err != nil || string(text) != "open sesame" {
		t.Errorf("%q, %v", text, err)
	}
	if said := s.Said(); runtime.GOOS != "windows" && (len(said) != 2 || !strings.Contains(said[0], identity) || !strings.Contains(said[1], passphrase)) {
		t.Errorf("warned %q", said)
	}
}
