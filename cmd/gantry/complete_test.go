package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestCompletion checks the completions that shells show for a partial command.
func TestCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"disk/march", "disk/april"} {
		fail.On(t, os.MkdirAll(dir, 0o755))
	}
	fail.On(t, os.WriteFile("disk/notes", nil, 0o600))
	files := "Default" // the default of the shell
	listed := []string{"help"}
	for _, v := range (&app{}).verbs() {
		if v.group != "" {
			listed = append(listed, v.name)
		}
	}
	slices.Sort(listed)
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
		// The present names are listed, and those of earlier versions are not.
		{"", strings.Join(listed, " "), "NoFileComp"},
		{"registry ", "doctor login logout prepare", "NoFileComp"},
		{"cluster ", "operator resources", "NoFileComp"},
		{"plan e", "explain", "NoSpace, NoFileComp"},
		{"archive s", "serve", "NoFileComp"},
		{"release g", "graph", "NoFileComp"},
		{"mirror --sin", "", "NoFileComp"},
		{"mirror --bas", "--base", "NoFileComp"},
		{"graph -o ", "svg mermaid dot json text", "NoFileComp"},
	} {
		o := runGantry(t, "", append([]string{"__completeNoDesc"}, strings.Split(tc.typed, " ")...)...)
		lines := strings.Fields(o.stdout)
		got := lines[:max(len(lines)-1, 0)] // the last line is the directive, as a number
		if diff := cmp.Diff(strings.Fields(tc.want), append([]string{}, got...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.typed, diff)
		}
		then := "ShellCompDirective" + strings.ReplaceAll(tc.then, ", ", ", ShellCompDirective")
		if !strings.HasSuffix(strings.TrimSpace(o.stderr), ": "+then) || o.code != exitOK {
			t.Errorf("%s: %d %s, want %s", tc.typed, o.code, o.stderr, then)
		}
	}
}
