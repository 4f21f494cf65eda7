package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompletion checks the completions that shells show for a partial command.
func TestCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"disk/march", "disk/april"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("disk/notes", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	files := "Default" // the default of the shell
	for _, tc := range []struct {
		typed, want, then string
	}{
		{"mirror -c x ", "docker:// file:// oci://", "NoSpace, NoFileComp"},
		{"mirror -c x o", "oci://", "NoSpace, NoFileComp"},
		{"mirror -c x file://di", "file://disk", "NoSpace, NoFileComp"},
		{"mirror -c x oci://disk/", "oci://disk/april oci://disk/march", "NoSpace, NoFileComp"},
		{"mirror -c x docker://m", "", "NoSpace, NoFileComp"},
		{"mirror file://disk ", "", "NoSpace, NoFileComp"},
		{"mirror --from file://disk/m", "file://disk/march", "NoSpace, NoFileComp"},
		{"mirror --on-error ", "stop continue package", "NoFileComp"},
		{"mirror --volume-size ", "cd fat32 dvd dvd-dl bd bd-dl", "NoFileComp"},
		{"mirror --receipt ", "", files},
		{"mirror --repair ", "", files},
		{"mirror --progress ", "auto bar lines json none", "NoFileComp"},
		{"mirror --output ", "text json", "NoFileComp"},
		{"verify ", "docker:// file:// oci://", "NoSpace, NoFileComp"},
		{"verify file://disk/april f", "file://", "NoSpace, NoFileComp"},
		{"serve ", "file://", "NoSpace, NoFileComp"},
		{"catalog serve ", "", files},
		{"archive list file://disk/", "file://disk/april file://disk/march", "NoSpace, NoFileComp"},
		{"archive list -o ", "text json", "NoFileComp"},
		{"graph -o ", "svg mermaid dot json text", "NoFileComp"},
	} {
		args := append([]string{"__completeNoDesc"}, strings.Split(tc.typed, " ")...)
		var stdout, stderr bytes.Buffer
		if code := run(args, &stdout, &stderr); code != exitOK {
			t.Errorf("%s: %d %s", tc.typed, code, &stderr)
		}
		lines := strings.Fields(stdout.String())
		got := lines[:max(len(lines)-1, 0)] // the last line is the directive, as a number
		if diff := cmp.Diff(strings.Fields(tc.want), append([]string{}, got...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.typed, diff)
		}
		then := "ShellCompDirective" + strings.ReplaceAll(tc.then, ", ", ", ShellCompDirective")
		if !strings.HasSuffix(strings.TrimSpace(stderr.String()), ": "+then) {
			t.Errorf("%s: %s, want %s", tc.typed, &stderr, then)
		}
	}
}
