package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/registry/doctor"
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

// TestLogin checks the flags and what is printed. Package registry tests what is stored.
func TestLogin(t *testing.T) {
	secret := registrytest.Start(t, registrytest.Options{Auth: registrytest.BasicAuth})
	home(t) // after the registry's program was located
	s := registrytest.New(t, registrytest.Options{})
	file := filepath.Join(t.TempDir(), "mine.json")
	login := []string{"login", "-u", "me", "--password-stdin", "--authfile", file, s.Host}
	o := runGantry(t, "pw\r\n", append(login, "-v")...)
	if o.code != exitOK || !strings.Contains(o.stderr, "could not be checked") || !strings.Contains(o.stdout, file) || strings.Contains(o.stderr+o.stdout, "pw") {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o = runGantry(t, "pw", append(login, "--output", "json")...); o.code != exitOK || o.stdout != `{"version":1,"registry":"`+s.Host+`","user":"me","file":"`+file+`","checked":false}`+"\n" {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	t.Setenv("REGISTRY_AUTH_FILE", file)
	for _, words := range []string{"Logged out of " + s.Host, "There were no credentials"} {
		if o = runGantry(t, "", "logout", s.Host); o.code != exitOK || !strings.Contains(o.stdout, words) || o.stderr != "" {
			t.Errorf("logout: %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
	if o = runGantry(t, "s3cret-and-wrong\n", "login", "-u", "me", "--password-stdin", secret.Host); o.code != exitUnauthorized || strings.Contains(o.stderr+o.stdout, "s3cret") {
		t.Errorf("a wrong password: %d\n%s", o.code, o.stderr)
	}
	for words, args := range map[string][]string{
		"HOST[:PORT]":      {"-u", "me", "--password-stdin"},
		"--password-stdin": {s.Host},
		"-u":               {"--password-stdin", s.Host},
		"-p":               {"-u", "me", "-p", "pw", s.Host}, // a password on argv
		"absent":           {"-u", "me", "--password-stdin", "--cert-dir", "/absent", s.Host},
	} {
		if o := runGantry(t, "pw", append([]string{"login"}, args...)...); o.code != exitUsage || !strings.Contains(o.stderr, words) {
			t.Errorf("%v: %d\n%s", args, o.code, o.stderr)
		}
	}
}

// doctor runs gantry registry doctor and returns the findings by name.
func (w *fixture) doctor(code int, args ...string) map[string]doctor.Finding {
	w.t.Helper()
	o := w.gantry(append([]string{"doctor", "-o", "json"}, args...)...)
	var result registry.DoctorResult
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != code {
		w.t.Fatalf("%d, want %d, %v\n%s%s", o.code, code, err, o.stdout, o.stderr)
	}
	found := map[string]doctor.Finding{}
	for _, f := range result.Findings {
		found[f.Name] = f
	}
	return found
}

// TestRegistryVerbs checks the flags of the other verbs for registries.
func TestRegistryVerbs(t *testing.T) {
	t.Parallel()
	mirror := registrytest.Start(t, registrytest.Options{})
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: mirror, mirror: mirror}
	w.surroundings(w.write("registries.conf", ""), "")
	w.says(w.must("doctor", "--read-only", w.docker("/ocp")).stdout, "registry\n  ok       connection: reached at http://"+mirror.Host, "nothing is pushed with --read-only", "0 problems, ")
	isc := w.config("imageset.yaml", "  additionalImages:\n  - name: 127.0.0.1:1/team/app:v1\n")
	if o := w.gantry("doctor", "-c", isc, "--read-only", "-o", "json", w.docker("")); o.code != exitError || !strings.Contains(o.stdout, `"area":"configuration"`) {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.refuse(exitUsage, []string{"--registry-token-file"}, "registry", "prepare", "-c", isc, "--registry-token-file", "x", w.docker(""))
	w.refuse(exitUsage, []string{"--registry-kind", "harbor"}, "registry", "prepare", "-c", isc, "--registry-kind", "nexus", w.docker(""))
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
