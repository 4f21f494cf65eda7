package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// runGantry runs the program with this standard input, without a fixture.
func runGantry(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	root := a.command(named(args))
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code := a.finish(root.ExecuteContext(t.Context()))
	return outcome{stdout.String(), stderr.String(), code}
}

// home gives the program a temporary home folder and returns the path of podman's credential file
// in it.
func home(t *testing.T) (authFile string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(dir, "run"))
	for _, name := range []string{"REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "XDG_CONFIG_HOME", "CONTAINERS_REGISTRIES_CONF"} {
		t.Setenv(name, "")
	}
	return filepath.Join(dir, "run", "containers", "auth.json")
}

func TestLogin(t *testing.T) {
	for name, auth := range map[string]registrytest.Auth{"basic": registrytest.BasicAuth, "token": registrytest.TokenAuth} {
		t.Run(name, func(t *testing.T) {
			s := registrytest.Start(t, registrytest.Options{TLS: true, Auth: auth})
			file := home(t) // after the registry's program was located
			ca := filepath.Join(s.CertDir, s.Host)
			login := []string{"login", "-u", s.Username, "--password-stdin", s.Host}

			o := runGantry(t, s.Password, login...)
			if o.code != exitError || !strings.Contains(o.stderr, "set --cert-dir") || !strings.Contains(o.stderr, "set --tls-verify=false") {
				t.Errorf("an untrusted CA: %d\n%s", o.code, o.stderr)
			}
			o = runGantry(t, "s3cret-and-wrong\n", append(login, "--cert-dir", ca, "-v")...)
			if o.code != exitUnauthorized || strings.Contains(o.stderr+o.stdout, "s3cret") {
				t.Errorf("a wrong password: %d\n%s", o.code, o.stderr)
			}
			if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something was written: %v", err)
			}
			o = runGantry(t, s.Password+"\r\n", append(login, "--cert-dir", ca, "-v")...)
			if o.code != exitOK || !strings.Contains(o.stdout, file) || strings.Contains(o.stderr+o.stdout, s.Password) {
				t.Fatalf("%d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			// Other verbs use the stored credentials.
			isc := filepath.Join(t.TempDir(), "imageset.yaml")
			text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages: [{name: '" + s.Host + "/a/b:v1'}]\n"
			if err := os.WriteFile(isc, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			plan := []string{"plan", "-c", isc, "--cert-dir", ca, "--workspace", t.TempDir()}
			if o = runGantry(t, "", plan...); o.code == exitUnauthorized || !strings.Contains(o.stderr, "404") {
				t.Errorf("plan with the credentials: %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if o = runGantry(t, "", "logout", s.Host); o.code != exitOK || !strings.Contains(o.stdout, "Logged out of "+s.Host) || o.stderr != "" {
				t.Errorf("logout: %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if o = runGantry(t, "", plan...); !strings.Contains(o.stderr, "401") || !strings.Contains(o.stderr, "gantry registry login "+s.Host) {
				t.Errorf("plan after logout: %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if o = runGantry(t, "", "logout", s.Host); o.code != exitOK || !strings.Contains(o.stdout, "There were no credentials") {
				t.Errorf("logout again: %d\n%s%s", o.code, o.stdout, o.stderr)
			}
		})
	}
}

func TestLoginKeepsTheRest(t *testing.T) {
	home(t)
	s := registrytest.New(t, registrytest.Options{})
	file := filepath.Join(t.TempDir(), "mine.json")
	before := `{"x":[1],"auths":{"other.example":{"auth":"YTpi"}}}`
	if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	o := runGantry(t, "pw", "login", "-u", "me", "--password-stdin", "--authfile", file, "docker://"+s.Host+"/org/")
	if o.code != exitOK || !strings.Contains(o.stderr, "could not be checked") {
		t.Errorf("an open registry: %d\n%s", o.code, o.stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"x": []any{1.0}, "auths": map[string]any{
		"other.example": map[string]any{"auth": "YTpi"}, s.Host + "/org": map[string]any{"auth": "bWU6cHc="},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	o = runGantry(t, "pw", "login", "-u", "me", "--password-stdin", "--authfile", file, "--output", "json", s.Host)
	if o.code != exitOK || o.stdout != `{"version":1,"registry":"`+s.Host+`","user":"me","file":"`+file+`","checked":false}`+"\n" || o.stderr != "" {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	// The credentials of the path are removed; those of the host still apply to it.
	t.Setenv("REGISTRY_AUTH_FILE", file)
	if o = runGantry(t, "", "logout", s.Host+"/org"); o.code != exitOK || !strings.Contains(o.stderr, "are still in "+file) {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

func TestLoginRefuses(t *testing.T) {
	home(t)
	file := filepath.Join(t.TempDir(), "helped.json")
	if err := os.WriteFile(file, []byte(`{"credsStore":"desktop"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := registrytest.New(t, registrytest.Options{})
	for _, tc := range []struct {
		name, stdin string
		words       []string
		args        []string
	}{
		{"no registry", "pw", []string{"--help"}, []string{"-u", "me", "--password-stdin"}},
		{"an address", "pw", []string{"HOST"}, []string{"-u", "me", "--password-stdin", "https://quay.io"}},
		{"a short name", "pw", []string{"HOST"}, []string{"-u", "me", "--password-stdin", "mirror"}},
		{"an image", "pw", []string{"HOST"}, []string{"-u", "me", "--password-stdin", "quay.io/a/b:v1"}},
		{"no terminal", "pw", []string{"--password-stdin"}, []string{s.Host}},
		{"no user", "pw", []string{"-u"}, []string{"--password-stdin", s.Host}},
		{"no password", "\n", []string{"empty"}, []string{"-u", "me", "--password-stdin", s.Host}},
		{"two lines", "one\ntwo\n", []string{"line"}, []string{"-u", "me", "--password-stdin", s.Host}},
		{"endless", strings.Repeat("x", env.MaxPassword+10), []string{"line"}, []string{"-u", "me", "--password-stdin", s.Host}},
		{"a colon", "pw", []string{"colon"}, []string{"-u", "m:e", "--password-stdin", s.Host}},
		{"a helper", "pw", []string{"docker-credential-desktop", "--authfile"}, []string{"-u", "me", "--password-stdin", "--authfile", file, s.Host}},
		{"a folder that is not there", "pw", []string{"absent"}, []string{"-u", "me", "--password-stdin", "--cert-dir", "/absent", s.Host}},
		{"a password on argv", "", []string{"-p"}, []string{"-u", "me", "-p", "pw", s.Host}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := runGantry(t, tc.stdin, append([]string{"login"}, tc.args...)...)
			if o.code != exitUsage {
				t.Errorf("%d\n%s", o.code, o.stderr)
			}
			for _, word := range tc.words {
				if !strings.Contains(o.stderr, word) {
					t.Errorf("no %q in %s", word, o.stderr)
				}
			}
		})
	}
}

// A terminal returns typed input and records its screen.
type terminal struct {
	io.Reader
	screen bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) { return t.screen.Write(p) }

func TestPrompt(t *testing.T) {
	for typed, tc := range map[string]struct{ user, got, password string }{
		"me\rs3cret\r":      {got: "me", password: "s3cret"},
		"s3cret\r":          {user: "flag", got: "flag", password: "s3cret"},
		"me\rs3x\x7fcret\r": {got: "me", password: "s3cret"}, // backspace
		"me\r\x03":          {},                              // Ctrl-C
		"\x04":              {},                              // Ctrl-D
	} {
		rw := &terminal{Reader: strings.NewReader(typed)}
		c, err := prompt(rw, tc.user)
		if c.Username != tc.got || c.Password != tc.password || (err == nil) != (tc.got != "") {
			t.Errorf("%q: %s, %v", typed, c.Username, err)
		}
		if strings.Contains(rw.screen.String(), "s3") {
			t.Errorf("%q: the password is on the screen: %q", typed, rw.screen.String())
		}
		if strings.ContainsAny(typed, "\x03\x04") && !errors.Is(err, errInterrupted) {
			t.Errorf("%q: %v", typed, err)
		}
	}
}
