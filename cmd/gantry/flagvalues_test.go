package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestOutputIsAFormat checks that every command takes -o, and as a format.
func TestOutputIsAFormat(t *testing.T) {
	eachCommand(func(c *cobra.Command) {
		if strings.Contains(c.CommandPath(), " completion") || c.Hidden {
			return
		}
		_ = c.ParseFlags(nil) // adds those of the commands above it
		if f := c.Flags().ShorthandLookup("o"); f == nil || f.Name != "output" || !strings.Contains(f.Usage, "format") && !strings.Contains(f.Usage, "address") {
			t.Errorf("%s: -o is %+v", c.CommandPath(), f)
		}
	})
}

// TestFormatOrFile checks -o of the verbs where earlier versions took a file.
func TestFormatOrFile(t *testing.T) {
	for _, tc := range []struct {
		args               []string
		format, file, want string
	}{
		{nil, outputText, "", ""},
		{[]string{"-o", "json"}, outputJSON, "", ""},
		{[]string{"--output=text"}, outputText, "", ""},
		{[]string{"-o", "plan.json"}, outputText, "plan.json", ""},
		{[]string{"-oplan.1"}, outputText, "plan.1", ""},
		{[]string{"-o", "out/plan"}, outputText, "out/plan", ""},
		{[]string{"-o", "xml"}, "", "", "use text or json, or --lock xml if it is the name of a file"},
		{[]string{"-o", ""}, "", "", "use text or json"},
		{[]string{"-o", "/dev/fd/3"}, outputText, "/dev/fd/3", ""},
		{[]string{"--lock", "json"}, outputText, "json", ""},
		{[]string{"-o", "json", "--lock", "plan.json"}, outputJSON, "plan.json", ""},
		{[]string{"--lock", "plan.json", "-o", "json"}, outputJSON, "plan.json", ""},
		{[]string{"-o", "yaml"}, "", "", "use text or json, or --lock yaml"},
		{[]string{"-o", "svg"}, "", "", "use text or json"},
		{[]string{"--lock", "a.json", "-o", "b.json"}, "", "", "--lock a.json"},
		{[]string{"-o", "a.json", "--lock", "b.json"}, "", "", "given twice"},
		{[]string{"-o", "a.json", "-o", "a.json"}, "", "", "given twice"},
		{[]string{"-o", "a.json", "-o", "b.json"}, "", "", "--lock a.json"},
	} {
		var lock string
		a := &app{output: outputText}
		c := &cobra.Command{Use: "x"}
		a.addFile(c.Flags(), &lock, "lock", "")
		countSingle(c)
		err := c.ParseFlags(tc.args)
		if err == nil {
			err = checkSingle(c.Flags())
		}
		switch {
		case tc.want == "" && (err != nil || a.output != tc.format || lock != tc.file):
			t.Errorf("%q: format %q, file %q, %v", tc.args, a.output, lock, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%q: %v, want %q", tc.args, err, tc.want)
		}
	}
}

func TestGivenTwice(t *testing.T) {
	for _, args := range []string{
		"plan -c a.yaml -c b.yaml", "mirror -c a.yaml --config b.yaml file://x", "mirror --plan a --plan b file://x", "explain -c a -c b x", "plan --lock a --lock b",
		"list releases --channel stable-4.20 --channel fast-4.20", "check --plan a --plan a", "catalog filter -c a -c b", "archive extract file://x --to a --to b",
	} {
		if o := runGantry(t, "", strings.Fields(args)...); o.code != exitUsage || !strings.Contains(o.stderr, "given twice") || o.stdout != "" {
			t.Errorf("gantry %s: %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
}

func TestArchivesFlag(t *testing.T) {
	for _, tc := range []struct{ args, want []string }{
		{[]string{"file:///a"}, []string{"file:///a"}},
		{[]string{"file:///a", "file:///b"}, []string{"file:///a", "file:///b"}},
		{[]string{"file:///a,file:///b,file:///c"}, []string{"file:///a", "file:///b", "file:///c"}},
		{[]string{"file:///a, b,c"}, []string{"file:///a, b,c"}},
		{[]string{`file:///the "blue" disk`}, []string{`file:///the "blue" disk`}},
		{[]string{`"file:///a"`}, []string{`"file:///a"`}},
		{[]string{"file:///two\nlines,file:///b"}, []string{"file:///two\nlines", "file:///b"}},
	} {
		var got archives
		for _, arg := range tc.args {
			if err := got.Set(arg); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(tc.want, []string(got)); diff != "" {
			t.Errorf("%q: %s", tc.args, diff)
		}
	}
	// The verbs use it.
	dir := filepath.Join(t.TempDir(), "a \"b\"\n, c")
	fail.On(t, os.Mkdir(dir, 0o700))
	for _, verb := range []string{"mirror", "verify"} {
		if o := runGantry(t, "", verb, "--from", fileScheme+dir, "--workspace", t.TempDir(), "docker://127.0.0.1:1"); !strings.Contains(o.stderr, "there is none: there are no volumes") {
			t.Errorf("%s --from %q: %s", verb, dir, o.stderr)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	for flag, verb := range map[string]string{"--version": "version", "--version -o json": "version -o json"} {
		of, o := runGantry(t, "", strings.Fields(flag)...), runGantry(t, "", strings.Fields(verb)...)
		if of != o || o.code != exitOK || o.stderr != "" || !strings.Contains(o.stdout, "gantry") && !strings.Contains(o.stdout, "version") {
			t.Errorf("%s: %+v, %s: %+v", flag, of, verb, o)
		}
	}
}
