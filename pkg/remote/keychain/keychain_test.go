package keychain

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker-credential-helpers/client"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func write(t *testing.T, path, content string) string {
	t.Helper()
	fail.On(t, os.MkdirAll(filepath.Dir(path), 0o700))
	fail.On(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// options returns options that read files only in dir.
func options(dir string, env map[string]string) Options {
	return Options{Home: filepath.Join(dir, "home"), RuntimeDir: filepath.Join(dir, "run"), Getenv: func(k string) string { return env[k] }}
}

func TestOrderOfFiles(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{
		"REGISTRY_AUTH_FILE": filepath.Join(dir, "env.json"),
		"XDG_RUNTIME_DIR":    filepath.Join(dir, "xdg"),
		"DOCKER_CONFIG":      filepath.Join(dir, "docker"),
	}
	o := options(dir, env)
	o.AuthFile = filepath.Join(dir, "flag.json")
	files := []string{
		o.AuthFile, env["REGISTRY_AUTH_FILE"],
		filepath.Join(dir, "xdg/containers/auth.json"), filepath.Join(dir, "home/.config/containers/auth.json"),
		filepath.Join(dir, "docker/config.json"), filepath.Join(dir, "home/.docker/config.json"),
	}
	// File i has the hosts from i on. The first file that has a host decides.
	for i, path := range files {
		var entries []string
		for host := i; host < len(files); host++ {
			entries = append(entries, fmt.Sprintf(`"h%d.example":{"auth":%q}`, host, b64(fmt.Sprintf("file%d:pw", i))))
		}
		if i > 0 {
			entries = append(entries, fmt.Sprintf(`"h%d.example/deeper":{"auth":%q}`, i-1, b64("never:pw")))
		}
		write(t, path, `{"auths":{`+strings.Join(entries, ",")+`}}`)
	}
	k := New(o)
	for host := range files {
		got, err := k.Credential(t.Context(), fmt.Sprintf("h%d.example", host), "")
		want := Credential{Username: "file0", Password: "pw", Source: files[0]}
		if !equal(got, want) || err != nil {
			t.Errorf("host %d: %s from %s, %v", host, got.Username, got.Source, err)
		}
	}
	for drop := range files[:len(files)-1] {
		write(t, files[drop], "{}")
		got, err := New(o).Credential(t.Context(), fmt.Sprintf("h%d.example", len(files)-1), "a/b")
		if want := fmt.Sprintf("file%d", drop+1); got.Username != want || got.Source != files[drop+1] || err != nil {
			t.Errorf("without the first %d: %s of %s, %v; want %s", drop+1, got.Username, got.Source, err, want)
		}
	}
}

// equal compares credentials, whose fields cmp and fmt cannot see.
func equal(a, b Credential) bool { return a == b }

func TestEntries(t *testing.T) {
	const file = `{
	"auths": {
		"quay.io": {"auth": "AUTH(host:h)"},
		"quay.io/a": {"auth": "AUTH(a:1)"},
		"quay.io/a/b": {"username": "ab", "password": "p:w"},
		"quay.io/ab": {"auth": "AUTH(wrong:w)"},
		"https://index.docker.io/v1/": {"auth": "AUTH(hub:x)"},
		"https://old.example": {"auth": "AUTH(old:x)"},
		"http://port.example:5000/v2/": {"auth": "AUTH(port:x)"},
		"twice.example": {"auth": "AUTH(plain:x)"},
		"https://twice.example/v1/": {"auth": "AUTH(legacy:x)"},
		"id.example": {"auth": "AUTH(00000000-0000-0000-0000-000000000000:)", "identitytoken": "refresh"},
		"reg.example": {"registrytoken": "bearer"},
		"colon.example": {"auth": "AUTH(u:a:b:c)"},
		"padded.example": {"auth": "RAW(u:pw)"},
		"nul.example": {"auth": "AUTH(u:pw\u0000\u0000)"},
		"empty.example": {}
	},
	"currentContext": "unknown keys are fine"
}`
	text := file
	for _, f := range []struct {
		mark string
		enc  *base64.Encoding
	}{{"AUTH(", base64.StdEncoding}, {"RAW(", base64.RawStdEncoding}} {
		for {
			before, rest, ok := strings.Cut(text, f.mark)
			if !ok {
				break
			}
			in, after, _ := strings.Cut(rest, ")")
			text = before + f.enc.EncodeToString([]byte(strings.ReplaceAll(in, `\u0000`, "\x00"))) + after
		}
	}
	dir := t.TempDir()
	o := options(dir, nil)
	o.AuthFile = write(t, filepath.Join(dir, "auth.json"), text)
	k := New(o)
	for _, tc := range []struct {
		host, path string
		want       Credential
	}{
		{"quay.io", "", Credential{Username: "host", Password: "h"}},
		{"quay.io", "z", Credential{Username: "host", Password: "h"}},
		{"quay.io", "a", Credential{Username: "a", Password: "1"}},
		{"quay.io", "a/c/d", Credential{Username: "a", Password: "1"}},
		{"quay.io", "a/b", Credential{Username: "ab", Password: "p:w"}},
		{"quay.io", "a/b/c", Credential{Username: "ab", Password: "p:w"}},
		{"quay.io", "abc", Credential{Username: "host", Password: "h"}},
		{"QUAY.io", "/a/", Credential{Username: "a", Password: "1"}},
		{"docker.io", "library/x", Credential{Username: "hub", Password: "x"}},
		{"registry-1.docker.io", "x", Credential{Username: "hub", Password: "x"}},
		{"old.example", "x", Credential{Username: "old", Password: "x"}},
		{"port.example:5000", "x", Credential{Username: "port", Password: "x"}},
		{"port.example", "x", Credential{}},
		{"twice.example", "", Credential{Username: "plain", Password: "x"}},
		{"id.example", "", Credential{Username: "00000000-0000-0000-0000-000000000000", IdentityToken: "refresh"}},
		{"reg.example", "", Credential{RegistryToken: "bearer"}},
		{"colon.example", "", Credential{Username: "u", Password: "a:b:c"}},
		{"padded.example", "", Credential{Username: "u", Password: "pw"}},
		{"nul.example", "", Credential{Username: "u", Password: "pw"}},
		{"empty.example", "", Credential{}},
		{"unknown.example", "", Credential{}},
		{"io", "", Credential{}},
	} {
		got, err := k.Credential(t.Context(), tc.host, tc.path)
		got.Source = ""
		if err != nil || !equal(got, tc.want) {
			t.Errorf("%s/%s: got user %q, %v, want user %q", tc.host, tc.path, got.Username, err, tc.want.Username)
		}
	}
}

func TestBadFiles(t *testing.T) {
	const secret = "c2VjcmV0OnMzY3JldA"
	for name, content := range map[string]string{
		"syntax":      "{\n\"auths\": {\"quay.io\": {\"auth\": \"" + secret + "\" " + secret + "}}}",
		"type":        "{\n\"auths\": \"" + secret + "\"}",
		"array":       `["` + secret + `"]`,
		"not base64":  `{"auths": {"quay.io": {"auth": "` + secret + `!"}}}`,
		"no password": `{"auths": {"quay.io": {"auth": "` + b64("s3cret") + `"}}}`,
		"helper name": `{"credHelpers": {"quay.io": "../../bin/sh"}}`,
		"large":       `{"x": "` + strings.Repeat(secret, maxAuthFile/len(secret)+1) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := options(dir, nil)
			o.AuthFile = write(t, filepath.Join(dir, "auth.json"), content)
			_, err := New(o).Credential(t.Context(), "quay.io", "a")
			if err == nil || !strings.Contains(err.Error(), o.AuthFile) {
				t.Fatalf("the error does not name the file: %v", err)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), secret[:6]) {
				t.Errorf("the error shows content: %v", err)
			}
		})
	}
}

func TestMissingFiles(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "no.json")
	flag := options(dir, nil)
	flag.AuthFile = missing
	for by, o := range map[string]Options{
		"Options.AuthFile":    flag,
		"$REGISTRY_AUTH_FILE": options(dir, map[string]string{"REGISTRY_AUTH_FILE": missing}),
	} {
		_, err := New(o).Credential(t.Context(), "quay.io", "")
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), by) {
			t.Errorf("%s: %v", by, err)
		}
	}
	// The default locations may be empty, or have an empty file.
	write(t, filepath.Join(dir, "home/.docker/config.json"), "\n")
	if got, err := New(options(dir, nil)).Credential(t.Context(), "quay.io", ""); err != nil || !got.Anonymous() {
		t.Errorf("%s, %v", got, err)
	}
}

// A fakeHelper replaces the program docker-credential-<name>.
type fakeHelper struct {
	out string
	err error
	in  string
	log *[]string
}

func (f *fakeHelper) Output() ([]byte, error) {
	*f.log = append(*f.log, f.in)
	return []byte(f.out), f.err
}
func (f *fakeHelper) Input(in io.Reader) { b, _ := io.ReadAll(in); f.in = string(b) }

func TestHelpers(t *testing.T) {
	const config = `{
	"auths": {"stored.example": {}, "own.example": {"auth": "dTpw"}},
	"credHelpers": {"ecr.example": "good", "id.example": "token", "quay.io/org": "good", "gone.example": "missing", "bad.example": "broken", "none.example": "empty"},
	"credsStore": "STORE"}`
	var log []string
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	find := func(_ context.Context, name string) (client.ProgramFunc, error) {
		f := &fakeHelper{log: &log}
		switch name {
		case "good", "store":
			f.out = `{"Username":"` + name + `","Secret":"pw"}`
		case "token":
			f.out = `{"Username":"<token>","Secret":"refresh"}`
		case "empty":
			f.out, f.err = "credentials not found in native keychain\n", errors.New("exit status 1")
		case "broken":
			f.out, f.err = "s3cret", errors.New("exit status 1")
		default:
			return nil, errNoHelper
		}
		return func(...string) client.Program { return f }, nil
	}
	ask := func(store, host, path string) (Credential, error) {
		dir := t.TempDir()
		o := options(dir, nil)
		o.AuthFile = write(t, filepath.Join(dir, "config.json"), strings.Replace(config, "STORE", store, 1))
		k := New(o)
		k.helpers = newHelpers(find, func() time.Time { return now })
		var got Credential
		var err error
		for range 2 {
			got, err = k.Credential(t.Context(), host, path)
		}
		got.Source = ""
		return got, err
	}
	for _, tc := range []struct {
		store, host, path string
		want              Credential
		err               string
		asked             int
	}{
		{"store", "ecr.example", "a/b", Credential{Username: "good", Password: "pw"}, "", 1},
		{"store", "id.example", "", Credential{IdentityToken: "refresh"}, "", 1},
		{"store", "quay.io", "org/name", Credential{Username: "good", Password: "pw"}, "", 1},
		{"store", "quay.io", "other", Credential{Username: "store", Password: "pw"}, "", 1},
		{"store", "own.example", "x", Credential{Username: "u", Password: "p"}, "", 0},
		{"store", "stored.example", "x", Credential{Username: "store", Password: "pw"}, "", 1},
		{"store", "gone.example", "", Credential{}, "docker-credential-missing", 0},
		{"store", "bad.example", "", Credential{}, "docker-credential-broken", 2},
		{"empty", "none.example", "", Credential{}, "", 2},
		{"missing", "public.example", "", Credential{}, "", 0},
		{"missing", "stored.example", "", Credential{}, "credsStore", 0},
	} {
		log = nil
		got, err := ask(tc.store, tc.host, tc.path)
		switch {
		case tc.err == "" && err != nil, tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%s: %v", tc.host, err)
		case err != nil && strings.Contains(err.Error(), "s3cret"):
			t.Errorf("%s: the error shows what the helper printed: %v", tc.host, err)
		case !equal(got, tc.want):
			t.Errorf("%s: user %q, want %q", tc.host, got.Username, tc.want.Username)
		case len(log) != tc.asked:
			t.Errorf("%s: helpers were called for %q, want %d calls", tc.host, log, tc.asked)
		}
	}
}

// TestHelperProgram runs a real helper program, which it finds in $PATH.
func TestHelperProgram(t *testing.T) {
	dir := t.TempDir()
	program := write(t, filepath.Join(dir, "docker-credential-real"), "#!/bin/sh\nread host\nprintf '{\"Username\":\"%s\",\"Secret\":\"%s\"}' \"$host\" \"$1\"\n")
	fail.On(t, os.Chmod(program, 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	o := options(dir, nil)
	o.AuthFile = write(t, filepath.Join(dir, "config.json"), `{"credHelpers":{"quay.io":"real"}}`)
	got, err := New(o).Credential(t.Context(), "quay.io", "a")
	if err != nil || got.Username != "quay.io" || got.Password != "get" {
		t.Errorf("user %q, %v", got.Username, err)
	}
}

func TestCredentialShowsNothing(t *testing.T) {
	type outer struct{ C Credential }
	for _, c := range []Credential{
		{Username: "s3cret", Password: "s3cret"}, {IdentityToken: "s3cret"}, {RegistryToken: "s3cret", Source: "/a/b.json"}, {},
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10v"} {
			fmt.Fprintf(&out, verb, c)
			fmt.Fprintf(&out, verb, &c)
			fmt.Fprintf(&out, verb, outer{c})
		}
		for _, v := range []any{c, &c, outer{c}, map[string]Credential{"k": c}} {
			if err := json.NewEncoder(&out).Encode(v); err != nil {
				t.Error(err)
			}
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("x", "c", c, "p", &c, "o", outer{c})
		}
		if s := out.String(); strings.Contains(s, "s3cret") || strings.Contains(s, fmt.Sprintf("%x", "s3cret")) {
			t.Errorf("it shows: %s", s)
		}
		if got := c.String(); c.Anonymous() != (got == "anonymous") {
			t.Errorf("String() = %q", got)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	o := options(dir, nil)
	o.AuthFile = write(t, filepath.Join(dir, "auth.json"), `{"auths":{"quay.io":{"auth":"`+b64("u:p")+`"}}}`)
	k := New(o)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if c, err := k.Credential(t.Context(), "quay.io", "a/b"); err != nil || c.Username != "u" {
				t.Errorf("%q, %v", c.Username, err)
			}
		})
	}
	wg.Wait()
	// The file is read only once. Later changes have no effect.
	fail.On(t, os.Remove(o.AuthFile))
	if c, err := k.Credential(t.Context(), "quay.io", ""); err != nil || c.Username != "u" {
		t.Errorf("%q, %v", c.Username, err)
	}
}

// FuzzParse checks that an accepted file is equal after it was normalized, written and read again,
// and that the error for a refused file does not show its content.
func FuzzParse(f *testing.F) {
	f.Add(`{"auths":{"quay.io":{"auth":"dTpw"},"https://index.docker.io/v1/":{"username":"u"}},"credsStore":"x"}`)
	f.Add(`{"auths":{"a":{"auth":"?"}},"credHelpers":{"h":"x"}}`)
	f.Add("{\n]")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := parse([]byte(s))
		if err != nil {
			return
		}
		out, err := json.Marshal(a)
		fail.On(t, err)
		again, err := parse(out)
		if err != nil {
			t.Fatalf("%s was written and does not parse: %v", out, err)
		}
		if diff := cmp.Diff(a.Auths, again.Auths); diff != "" && stable(a.Auths) {
			t.Fatal(diff)
		}
		for key, e := range a.Auths {
			if c, err := e.credential(); err != nil && !c.Anonymous() {
				t.Fatalf("%q: an error and a credential", key)
			}
		}
	})
}

// stable reports whether normalizing the keys again does not change them. It changes a key such as
// "https://https://x".
func stable(m map[string]entry) bool {
	for key := range m {
		if normalizeKey(key) != key {
			return false
		}
	}
	return true
}
