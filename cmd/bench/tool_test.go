package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestVersionIn(t *testing.T) {
	for text, want := range map[string]string{
		"gantry (devel) (go1.26.8, linux/amd64)":     "(no version)",
		"gantry v1.2.3-rc.1 (go1.26.8, linux/amd64)": "1.2.3-rc.1",
		"skopeo version 1.9.3":                       "1.9.3",
		"VCSTag:     v0.11.7\nVCSRef: abc\n":         "0.11.7",
		"0.22.1\n":                                   "0.22.1",
	} {
		if got := versionIn(text); got != want {
			t.Errorf("%q has version %q, want %q", text, got, want)
		}
	}
}

func TestStored(t *testing.T) {
	at := turn{dir: t.TempDir()}
	if all, archive, err := at.stored(); all != 0 || archive != 0 || err != nil {
		t.Errorf("an empty folder stores %d and %d, %v", all, archive, err)
	}
	for file, size := range map[string]int{"workspace/plan.json": 10, "archive/volume": 100, "archive/deep/er": 1000, "log": 10000} {
		file = filepath.Join(at.dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if all, archive, err := at.stored(); all != 1110 || archive != 1100 || err != nil {
		t.Errorf("stored %d and %d, %v; want 1110 and 1100", all, archive, err)
	}
}
