package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: ns}
spec: {color: red, low: 2, tags: [a, b]}
`

func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name, manifest, wantOut, wantErr string
	}{
		{"good", good, "ok FILE Widget/w\n", ""},
		{"two documents", good + "---\n" + strings.Replace(good, "name: w", "name: v", 1), "ok FILE Widget/w\nok FILE Widget/v\n", ""},
		{"pattern", strings.Replace(good, "red", "RED", 1), "", "spec.color"},
		{"required", strings.Replace(good, "color: red, ", "", 1), "", "spec.color: Required value"},
		{"unknown field", strings.Replace(good, "color: red", "color: red, colour: red", 1), "", `unknown field "spec.colour"`},
		{"set", strings.Replace(good, "[a, b]", "[a, a]", 1), "", "Duplicate value"},
		{"rule against a default", strings.Replace(good, "low: 2", "low: 10", 1), "", "low must not exceed high"},
		{"type", strings.Replace(good, "low: 2", "low: two", 1), "", "spec.low"},
		{"duplicate key", strings.Replace(good, "low: 2", "low: 2, low: 3", 1), "", `key "low" already set`},
		{"name", strings.Replace(good, "name: w", "name: W_", 1), "", "metadata.name"},
		{"no namespace", strings.Replace(good, ", namespace: ns", "", 1), "", "metadata.namespace"},
		{"no such kind", strings.Replace(good, "example.com/v1", "example.com/v2", 1), "", "no CRD serves"},
		{"nothing", "---\n---\n", "", "the file holds no object"},
		{"one of two", good + "---\n" + strings.Replace(good, "red", "RED", 1), "ok FILE Widget/w\n", "spec.color"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "m.yaml")
			if err := os.WriteFile(file, []byte(tc.manifest), 0o644); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			status := run(t.Context(), []string{"-crds", "testdata/crds", file}, &out, &errs)
			if got := strings.ReplaceAll(out.String(), file, "FILE"); got != tc.wantOut {
				t.Errorf("standard output is %q, want %q", got, tc.wantOut)
			}
			if tc.wantErr == "" && (status != 0 || errs.Len() > 0) {
				t.Errorf("status %d, standard error %q; want 0 and nothing", status, &errs)
			}
			if tc.wantErr != "" && (status != 1 || !strings.Contains(errs.String(), tc.wantErr)) {
				t.Errorf("status %d, standard error %q; want 1 and %q", status, &errs, tc.wantErr)
			}
		})
	}
}

func TestRunUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"-crds", "testdata/crds"}, {"m.yaml"}, {"-x"}} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), args, &out, &errs); status != 2 || errs.Len() == 0 {
			t.Errorf("run(%q) = %d, standard error %q; want 2 and a message", args, status, &errs)
		}
	}
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"-crds", t.TempDir(), "m.yaml"}, &out, &errs); status != 1 || !strings.Contains(errs.String(), "no CRD") {
		t.Errorf("an empty folder: status %d, %q", status, &errs)
	}
}
