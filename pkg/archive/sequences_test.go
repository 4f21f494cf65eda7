package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestSequencesOfFolders(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	newSample(1, 700).write(t, first, Options{})
	newSample(2, 700).write(t, first, Options{})
	fail.On(t, os.CopyFS(second, os.DirFS(first)))
	newSample(3, 700).write(t, second, Options{})
	for _, tc := range []struct {
		dirs []string
		want []int
	}{{[]string{first}, []int{1, 2}}, {[]string{second, first}, []int{1, 2, 3}}} {
		if got, err := Sequences(tc.dirs...); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("Sequences(%v) = %v, %v", tc.dirs, got, err)
		}
	}
	for _, dirs := range [][]string{{t.TempDir()}, {filepath.Join(first, "absent")}} {
		if got, err := Sequences(dirs...); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Sequences(%v) = %v, %v", dirs, got, err)
		}
	}
}
