package keys

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestConfigFile checks where the user's configuration is looked for.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"xdg/gantry", "home/.config/gantry"} {
		fail.On(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		fail.On(t, os.WriteFile(filepath.Join(dir, name, "limits.yaml"), nil, 0o600))
	}
	xdg, home := filepath.Join(dir, "xdg"), filepath.Join(dir, "home")
	for _, tc := range []struct {
		env        map[string]string
		file, want string
	}{
		{map[string]string{"XDG_CONFIG_HOME": xdg, "HOME": home}, "limits.yaml", filepath.Join(xdg, "gantry", "limits.yaml")},
		{map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": home}, "limits.yaml", filepath.Join(home, ".config", "gantry", "limits.yaml")},
		{map[string]string{"HOME": home}, "limits.yaml", filepath.Join(home, ".config", "gantry", "limits.yaml")},
		{map[string]string{"XDG_CONFIG_HOME": xdg, "HOME": home}, "allowed_signers", ""},
		{nil, "limits.yaml", ""},
	} {
		e := &env.Env{Getenv: func(name string) string { return tc.env[name] }}
		if got := env.ConfigFile(e.Variable, tc.file); got != tc.want {
			t.Errorf("%s with %v is %q, want %q", tc.file, tc.env, got, tc.want)
		}
	}
}
