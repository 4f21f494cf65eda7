package keychain

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestCheckNamed checks that a file that the user named must exist and be an auth file, and that
// files in the default locations are not checked.
func TestCheckNamed(t *testing.T) {
	dir := t.TempDir()
	missing, broken := filepath.Join(dir, "no.json"), filepath.Join(dir, "broken.json")
	write(t, broken, `{"auths": [1`)
	write(t, filepath.Join(dir, "home/.docker/config.json"), "{")
	fail.On(t, New(options(dir, nil)).CheckNamed())
	err := New(options(dir, map[string]string{"REGISTRY_AUTH_FILE": missing})).CheckNamed()
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing+" (named by $REGISTRY_AUTH_FILE)") {
		t.Errorf("an absent file: %v", err)
	}
	o := options(dir, nil)
	o.AuthFile, o.NamedBy = broken, "--dest-authfile"
	if err := New(o).CheckNamed(); err == nil || !strings.Contains(err.Error(), broken+" (named by --dest-authfile): line 1") {
		t.Errorf("half a file: %v", err)
	}
}
