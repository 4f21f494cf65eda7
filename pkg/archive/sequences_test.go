package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSequencesOfFolders(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	newSample(1, 700).write(t, first, Options{})
	newSample(2, 700).write(t, first, Options{})
	if err := os.CopyFS(second, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
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
