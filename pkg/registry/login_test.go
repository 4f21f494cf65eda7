package registry_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

func asked(user, password string) func() (keychain.Credential, error) {
	return func() (keychain.Credential, error) {
		return keychain.Credential{Username: user, Password: password}, nil
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	for name, auth := range map[string]registrytest.Auth{"basic": registrytest.BasicAuth, "token": registrytest.TokenAuth} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := registrytest.Start(t, registrytest.Options{TLS: true, Auth: auth})
			run := t.TempDir()
			file := filepath.Join(run, "containers", "auth.json")
			s := &mirrortest.Site{T: t, Dir: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir(), "XDG_RUNTIME_DIR": run}}
			s.Vars["CONTAINERS_REGISTRIES_CONF"] = s.Write("registries.conf", "")
			login := func(certs, password string) (*registry.LoginResult, error) {
				e := s.NewEnv()
				e.CertDir, e.RetryTimes = certs, -1
				return registry.Login(t.Context(), registry.LoginOptions{Env: e, Registry: server.Host, Ask: asked(server.Username, password)})
			}
			ca := filepath.Join(server.CertDir, server.Host)
			_, err := login("", server.Password)
			mirrortest.Refused(t, err, advice.Failure, "CertDir")
			_, err = login(ca, "s3cret-and-wrong")
			mirrortest.Refused(t, err, advice.Unauthorized, server.Host+" refused the password for user "+strconv.Quote(server.Username))
			if strings.Contains(env.ErrorText(err), "s3cret") {
				t.Errorf("the password is in %v", err)
			}
			if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something was written: %v", err)
			}
			got, err := login(ca, server.Password)
			if diff := cmp.Diff(&registry.LoginResult{Version: 1, Registry: server.Host, User: server.Username, File: file, Checked: true}, got); err != nil || diff != "" {
				t.Fatalf("%v, %s", err, diff)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			// Other verbs use the stored credentials.
			tags := func() error {
				e := s.NewEnv()
				e.CertDir, e.RetryTimes = ca, -1
				client, err := e.Client(remote.Source)
				if err == nil {
					_, err = client.Tags(t.Context(), reference.Reference{Host: server.Host, Path: "a/b"}, 1)
				}
				return err
			}
			if err := tags(); advice.KindOf(err) == advice.Unauthorized {
				t.Errorf("with the credentials: %v", err)
			}
			for _, removed := range []bool{true, false} {
				out, err := registry.Logout(t.Context(), registry.LogoutOptions{Env: s.NewEnv(), Registry: server.Host})
				if diff := cmp.Diff(&registry.LogoutResult{Version: 1, Registry: server.Host, File: file, Removed: removed}, out); err != nil || diff != "" {
					t.Errorf("logout: %v, %s", err, diff)
				}
			}
			mirrortest.Refused(t, tags(), advice.Unauthorized, "gantry registry login "+server.Host)
		})
	}
}

// TestLoginKeepsTheRest checks what is not changed in a file of credentials.
func TestLoginKeepsTheRest(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t, registrytest.Options{})
	s := &mirrortest.Site{T: t, Dir: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	s.Vars["CONTAINERS_REGISTRIES_CONF"] = s.Write("registries.conf", "")
	file := s.Write("mine.json", `{"x":[1],"auths":{"other.example":{"auth":"YTpi"}}}`)
	e := s.NewEnv()
	e.AuthFile, e.Source.SkipTLSVerify = file, true
	got, err := registry.Login(t.Context(), registry.LoginOptions{Env: e, Registry: "docker://" + server.Host + "/org/", Ask: asked("me", "pw")})
	if diff := cmp.Diff(&registry.LoginResult{Version: 1, Registry: server.Host + "/org", User: "me", File: file}, got); err != nil || diff != "" {
		t.Fatalf("%v, %s", err, diff)
	}
	text, err := os.ReadFile(file)
	fail.On(t, err)
	var parsed map[string]any
	fail.On(t, json.Unmarshal(text, &parsed))
	want := map[string]any{"x": []any{1.0}, "auths": map[string]any{
		"other.example": map[string]any{"auth": "YTpi"}, server.Host + "/org": map[string]any{"auth": "bWU6cHc="},
	}}
	fail.Diff(t, want, parsed)
	// The credentials of the path are removed; those of the host still apply to it.
	if _, err := registry.Login(t.Context(), registry.LoginOptions{Env: e, Registry: server.Host, Ask: asked("me", "pw")}); err != nil {
		t.Fatal(err)
	}
	s.Vars["REGISTRY_AUTH_FILE"] = file
	if out, err := registry.Logout(t.Context(), registry.LogoutOptions{Env: s.NewEnv(), Registry: server.Host + "/org"}); err != nil || !out.Removed || out.Remaining != file {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestLoginRefused(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t, registrytest.Options{})
	s := &mirrortest.Site{T: t, Dir: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	s.Vars["CONTAINERS_REGISTRIES_CONF"] = s.Write("registries.conf", "")
	helped := s.Write("helped.json", `{"credsStore":"desktop"}`)
	for name, tc := range map[string]struct {
		host, user, password string
		change               func(*env.Env)
		word                 string
	}{
		"an address":    {host: "https://quay.io", word: "HOST"},
		"a short name":  {host: "mirror", word: "HOST"},
		"an image":      {host: "quay.io/a/b:v1", word: "HOST"},
		"no password":   {user: "me", word: "empty"},
		"two lines":     {user: "me", password: "one\ntwo", word: "line"},
		"endless":       {user: "me", password: strings.Repeat("x", env.MaxPassword+10), word: "line"},
		"a colon":       {user: "m:e", password: "pw", word: "colon"},
		"a helper":      {user: "me", password: "pw", change: func(e *env.Env) { e.AuthFile = helped }, word: "docker-credential-desktop"},
		"absent folder": {user: "me", password: "pw", change: func(e *env.Env) { e.CertDir = s.Path("absent") }, word: "absent"},
	} {
		e := s.NewEnv()
		e.Source.SkipTLSVerify = true
		if tc.change != nil {
			tc.change(e)
		}
		if tc.host == "" {
			tc.host = server.Host
		}
		_, err := registry.Login(t.Context(), registry.LoginOptions{Env: e, Registry: tc.host, Ask: asked(tc.user, tc.password)})
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		mirrortest.Refused(t, err, advice.Input, tc.word)
	}
}
