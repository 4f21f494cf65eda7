package extract

import (
	"testing"
)

// TestHiddenFiles checks that hidden files are only written if they are named.
func TestHiddenFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{".bashrc": true, ".ssh/authorized_keys": true, "a/.b/c": true, "a.b": false, "a/b.c": false} {
		if got := isHidden(name); got != want {
			t.Errorf("isHidden(%s) = %t", name, got)
		}
	}
}
