package env_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestWarnExposed warns once of a file with a secret that others can read, and of no other.
func TestWarnExposed(t *testing.T) {
	t.Parallel()
	var warned []string
	e := &env.Env{Warn: func(text string) { warned = append(warned, text) }}
	dir := t.TempDir()
	var want []string
	for name, mode := range map[string]os.FileMode{"open": 0o644, "own": 0o600} {
		file := filepath.Join(dir, name)
		fail.On(t, os.WriteFile(file, nil, mode))
		info, err := os.Stat(file)
		fail.On(t, err)
		if info.Mode().Perm()&0o044 != 0 { // not so on every system
			want = append(want, fmt.Sprintf("others can read %s (mode 0644), which has a secret: run chmod 600 on it", file))
		}
		for range 2 {
			env.WarnExposed(e, file, info)
		}
	}
	if !slices.Equal(warned, want) {
		t.Errorf("got %q, want %q", warned, want)
	}
}

// TestMethods keeps Env small: what needs single values of it is a function.
func TestMethods(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[*env.Env]().NumMethod(); n > 10 {
		t.Errorf("Env has %d exported methods, at most 10 are wanted", n)
	}
}
