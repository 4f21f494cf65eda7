package keychain

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestNarrower(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "auth.json")
	text := `{"auths":{"m.example":{},"m.example/ocp":{},"m.example/ocp/acme":{}},"credHelpers":{"h.example/team":"x"}}`
	fail.On(t, os.WriteFile(file, []byte(text), 0o600))
	k := New(Options{AuthFile: file, Home: t.TempDir(), RuntimeDir: t.TempDir(), Getenv: func(string) string { return "" }})
	for _, tc := range []struct {
		host, path string
		want       bool
	}{
		{"m.example", "", true},
		{"M.example", "ocp", true},
		{"m.example", "ocp/acme", false},
		{"m.example", "oc", false},
		{"h.example", "", true},
		{"h.example", "team", false},
		{"other.example", "", false},
	} {
		if got := k.Narrower(tc.host, tc.path); got != tc.want {
			t.Errorf("Narrower(%q, %q) = %t", tc.host, tc.path, got)
		}
	}
}
