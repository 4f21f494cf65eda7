package keychain

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// What the user named has to be there and to be an auth file; nobody named what is at
// the usual places.
func TestCheckNamed(t *testing.T) {
	dir := t.TempDir()
	missing, broken := filepath.Join(dir, "no.json"), filepath.Join(dir, "broken.json")
	write(t, broken, `{"auths": [1`)
	write(t, filepath.Join(dir, "home/.docker/config.json"), "{")
	if err := New(options(dir, nil)).CheckNamed(); err != nil {
		t.Error(err)
	}
	err := New(options(dir, map[string]string{"REGISTRY_AUTH_FILE": missing})).CheckNamed()
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing+" (named by $REGISTRY_AUTH_FILE)") {
		t.Errorf("an absent file: %v", err)
	}
	o := options(dir, nil)
	o.AuthFile, o.AuthFlag = broken, "--dest-authfile"
	if err := New(o).CheckNamed(); err == nil || !strings.Contains(err.Error(), broken+" (named by --dest-authfile): line 1") {
		t.Errorf("half a file: %v", err)
	}
}
