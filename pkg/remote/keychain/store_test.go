package keychain

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestStore(t *testing.T) {
	auth := func(s string) string { return `{"auth":"` + b64(s) + `"}` }
	for name, tc := range map[string]struct {
		before string // "-" for no file
		key    string
		want   string
		err    string
	}{
		"no file":    {before: "-", key: "quay.io", want: `{"auths":{"quay.io":` + auth("me:pw") + `}}`},
		"empty file": {before: " \n", key: "quay.io", want: `{"auths":{"quay.io":` + auth("me:pw") + `}}`},
		"null":       {before: "null", key: "quay.io", want: `{"auths":{"quay.io":` + auth("me:pw") + `}}`},
		"null auths": {before: `{"auths":null}`, key: "quay.io", want: `{"auths":{"quay.io":` + auth("me:pw") + `}}`},
		"everything else stays": {
			before: `{"detachKeys":"ctrl-<","big":12345678901234567890,"auths":{"other":{"auth":"` + b64("a:b") + `","email":"x"},"quay.io/org":{}},"credHelpers":{"ecr":"ecr-login"}}`,
			key:    "quay.io",
			want: `{"detachKeys":"ctrl-<","big":12345678901234567890,"auths":{"other":{"auth":"` + b64("a:b") + `","email":"x"},"quay.io/org":{},"quay.io":` + auth("me:pw") +
				`},"credHelpers":{"ecr":"ecr-login"}}`,
		},
		"a path":              {before: "{}", key: "quay.io/org/name", want: `{"auths":{"quay.io/org/name":` + auth("me:pw") + `}}`},
		"replaces all of it":  {before: `{"auths":{"quay.io":{"auth":"x","identitytoken":"t"}}}`, key: "quay.io", want: `{"auths":{"quay.io":` + auth("me:pw") + `}}`},
		"as it is spelt":      {before: `{"auths":{"https://index.docker.io/v1/":{}}}`, key: "docker.io", want: `{"auths":{"https://index.docker.io/v1/":` + auth("me:pw") + `}}`},
		"however it is spelt": {before: `{"auths":{"https://quay.io":{},"quay.io":{}}}`, key: "quay.io", want: `{"auths":{"https://quay.io":` + auth("me:pw") + `,"quay.io":` + auth("me:pw") + `}}`},
		"a helper of its own": {before: `{"credHelpers":{"quay.io":"pass"}}`, key: "quay.io", err: "docker-credential-pass"},
		"a helper for all":    {before: `{"credsStore":"desktop"}`, key: "quay.io", err: "docker-credential-desktop"},
		"not JSON":            {before: "{\n\"auths\": s3cret", key: "quay.io", err: "line 2 is not valid JSON"},
		"a list":              {before: "[]", key: "quay.io", err: "wrong type"},
		"other auths":         {before: `{"auths":[]}`, key: "quay.io", err: "wrong type"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "containers", "auth.json")
			if tc.before != "-" {
				write(t, path, tc.before)
			}
			err := Store(path, tc.key, Credential{Username: "me", Password: "pw"})
			text, _ := os.ReadFile(path)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("Store = %v, want %s", err, tc.err)
				}
				if string(text) != tc.before {
					t.Errorf("the file has become %s", text)
				}
				return
			}
			fail.On(t, err)
			fail.Diff(t, decode(t, []byte(tc.want)), decode(t, text))
			if strings.Contains(tc.want, "<") && !strings.Contains(string(text), `ctrl-<`) {
				t.Errorf("text was escaped: %s", text)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			host, rest, _ := strings.Cut(tc.key, "/")
			k := New(Options{AuthFile: path, Getenv: func(string) string { return "" }, Home: t.TempDir()})
			if got, err := k.Credential(t.Context(), host, rest); err != nil || got.Username != "me" || got.Password != "pw" || got.IdentityToken != "" {
				t.Errorf("read back: %s, %v", got.Username, err)
			}
			found, err := Remove(path, tc.key)
			if !found || err != nil {
				t.Fatalf("Remove = %v, %v", found, err)
			}
			if found, err = Remove(path, tc.key); found || err != nil {
				t.Errorf("Remove again = %v, %v", found, err)
			}
			if text, _ := os.ReadFile(path); strings.Contains(string(text), b64("me:pw")) {
				t.Errorf("the credential is still there: %s", text)
			}
		})
	}
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestStoreThroughALink(t *testing.T) {
	dir := t.TempDir()
	target := write(t, filepath.Join(dir, "dotfiles", "auth.json"), "{}")
	link := filepath.Join(dir, "auth.json")
	fail.On(t, os.Symlink(target, link))
	fail.On(t, Store(link, "quay.io", Credential{Username: "me", Password: "pw"}))
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if text, err := os.ReadFile(target); err != nil || !strings.Contains(string(text), "quay.io") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestStoreRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "auth.json")
	for _, c := range []Credential{{Username: "", Password: "pw"}, {Username: "me"}, {Username: "a:b", Password: "s3cret"}} {
		if err := Store(path, "quay.io", c); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Store = %v", err)
		}
	}
	if found, err := Remove(path, "quay.io"); found || err != nil {
		t.Errorf("Remove without a file = %v, %v", found, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}

func TestLoginFile(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{}
	o := options(dir, env)
	want := func(path string) {
		t.Helper()
		if got, err := o.LoginFile(); err != nil || got != path {
			t.Errorf("LoginFile = %s, %v; want %s", got, err, path)
		}
	}
	want(filepath.Join(dir, "home/.config/containers/auth.json"))
	env["XDG_CONFIG_HOME"] = filepath.Join(dir, "config")
	want(filepath.Join(dir, "config/containers/auth.json"))
	all := o.withDefaults().files()
	want(write(t, all[0].path, "{}"))
	env["XDG_RUNTIME_DIR"] = filepath.Join(dir, "xdg")
	want(filepath.Join(dir, "xdg/containers/auth.json"))
	env["REGISTRY_AUTH_FILE"] = filepath.Join(dir, "env.json")
	want(filepath.Join(dir, "env.json"))
	o.AuthFile = filepath.Join(dir, "config.json")
	want(o.AuthFile)
}

func FuzzStore(f *testing.F) {
	f.Add([]byte(`{"auths":{"https://quay.io":{"auth":"eA=="}},"x":1}`), "quay.io")
	f.Add([]byte(``), "docker.io")
	f.Add([]byte(`{"AUTHS":{"a/b":{}},"auths":null}`), "a/b")
	f.Fuzz(func(t *testing.T, before []byte, key string) {
		if key == "" || normalizeKey(key) == "" || !utf8.ValidString(key) {
			return
		}
		path := filepath.Join(t.TempDir(), "auth.json")
		fail.On(t, os.WriteFile(path, before, 0o600))
		if Store(path, key, Credential{Username: "me", Password: "pw"}) != nil {
			return // the file is unchanged
		}
		text, err := os.ReadFile(path)
		fail.On(t, err)
		a, err := parse(text)
		if err != nil {
			t.Fatalf("what was stored cannot be read: %v\n%s", err, text)
		}
		c, err := a.Auths[normalizeKey(key)].credential()
		if err != nil || c.Username != "me" || c.Password != "pw" {
			t.Fatalf("%s, %v in %s", c.Username, err, text)
		}
	})
}
