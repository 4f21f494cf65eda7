package gantry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// TestAddProgram checks that the program and its checksum are written once, replaced when the program is
// another one, and that damage is found.
func TestAddProgram(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "gantry-dev"), filepath.Join(t.TempDir(), "disk")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"version 1", "version 2", "version 2"} {
		write(path, text)
		added, err := addProgram(t.Context(), path, dir)
		if err != nil || added.File != "gantry" {
			t.Fatalf("%+v, %v", added, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "gantry"))
		if err != nil || string(got) != text {
			t.Errorf("it has %q, %v; want %q", got, err, text)
		}
		if all, err := verifyPrograms(t.Context(), []string{dir}); err != nil || len(all) != 1 || all[0].SHA256 != added.SHA256 {
			t.Errorf("verified %+v, %v", all, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "gantry"))
	if err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("it is no program: %v, %v", info, err)
	}
	sum := filepath.Join(dir, "gantry.sha256")
	text, err := os.ReadFile(sum)
	if err != nil || !strings.HasSuffix(string(text), "  gantry\n") {
		t.Errorf("the checksum is %q, %v", text, err)
	}
	write(filepath.Join(dir, "gantry"), "version 3")
	if _, err := verifyPrograms(t.Context(), []string{dir}); advice.KindOf(err) != advice.Mismatch {
		t.Errorf("another program: %v", err)
	}
	if _, err := addProgram(t.Context(), path, dir); err != nil { // writes it again
		t.Errorf("a damaged program: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "gantry")); err != nil {
		t.Fatal(err)
	}
	if _, err := verifyPrograms(t.Context(), []string{dir}); advice.KindOf(err) != advice.Mismatch {
		t.Errorf("a missing program: %v", err)
	}
	if err := os.Remove(sum); err != nil {
		t.Fatal(err)
	}
	if all, err := verifyPrograms(t.Context(), []string{dir}); err != nil || len(all) != 0 {
		t.Errorf("no program: %v, %v", all, err)
	}
	if _, err := addProgram(t.Context(), filepath.Join(dir, "none"), dir); advice.KindOf(err) != advice.Input {
		t.Errorf("a program that does not exist: %v", err)
	}
}
