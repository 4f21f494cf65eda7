package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// nameOfFlag returns a flag as testdata/earliercommands.txt has it, with the type of its value.
func nameOfFlag(f *pflag.Flag) string {
	name := "--" + f.Name + ":" + f.Value.Type()
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + "," + name
	}
	return name
}

// TestEarlierCommands checks that every command of testdata/earliercommands.txt can be run with every
// flag that it has there. The file has what the version had that listed 24 commands in its help; a
// command that is given up would be taken out of it.
func TestEarlierCommands(t *testing.T) {
	text, err := os.ReadFile("testdata/earliercommands.txt")
	fail.On(t, err)
	a := &app{}
	root := a.command(everyVerb)
	// A switch that has values now takes the values of a switch, too.
	values := map[string]string{"gantry verify --blobs:bool": "--blobs:string", "gantry check --blobs:bool": "--blobs:string"}
	commands := 0
	for line := range strings.Lines(string(text)) {
		path, flags, _ := strings.Cut(strings.TrimSpace(line), ": ")
		commands++
		c, rest, err := root.Find(strings.Fields(path)[1:])
		if err != nil || len(rest) > 0 || c.CommandPath() != path {
			t.Errorf("%s does not exist: %v", path, err)
			continue
		}
		if missing := missingFlags(c, strings.Fields(flags), values); len(missing) > 0 {
			t.Errorf("%s does not have %q", path, missing)
		}
		if o := runGantry(t, "", append(strings.Fields(path)[1:], "--help")...); o.code != exitOK || !strings.Contains(o.stdout, "\nUsage:\n  "+path) {
			t.Errorf("%s --help: %d\n%s", path, o.code, o.stdout)
		}
		now := nameNow(a, path)
		if now == path || now == "gantry prune" {
			continue
		}
		if c, rest, err = root.Find(strings.Fields(now)[1:]); err != nil || len(rest) > 0 {
			t.Errorf("%s, which replaces %s, does not exist: %v", now, path, err)
			continue
		}
		if missing := missingFlags(c, strings.Fields(flags), values); len(missing) > 0 {
			t.Errorf("%s does not have %q of %s", now, missing, path)
		}
	}
	if commands < 60 {
		t.Errorf("%d commands were checked", commands)
	}
}

// nameNow returns the name that a command of an earlier version has now.
func nameNow(a *app, path string) string {
	if path == "gantry graph release" {
		return "gantry release graph"
	}
	words := strings.Fields(path)
	for _, v := range a.verbs() {
		if len(words) > 1 && v.name == words[1] && v.now != "" {
			command, _, _ := strings.Cut(v.now, " --")
			return strings.Join(append([]string{"gantry", command}, words[2:]...), " ")
		}
	}
	return path
}

// missingFlags returns which flags a command does not have. values has flags whose values changed.
func missingFlags(c *cobra.Command, flags []string, values map[string]string) []string {
	_ = c.InheritedFlags() // adds them to Flags
	var have, missing []string
	c.Flags().VisitAll(func(f *pflag.Flag) { have = append(have, nameOfFlag(f)) })
	for _, f := range flags {
		if now := values[c.CommandPath()+" "+f]; now != "" {
			f = now
		}
		if !slices.Contains(have, f) {
			missing = append(missing, f)
		}
	}
	return missing
}

// TestEarlierNames runs every command under its earlier and its present name, with the same result.
func TestEarlierNames(t *testing.T) {
	t.Chdir(t.TempDir())
	fail.On(t, os.MkdirAll("catalog/my-operator", 0o755))
	catalog := `{"schema":"olm.package","name":"my-operator","defaultChannel":"stable"}
{"schema":"olm.channel","package":"my-operator","name":"stable","entries":[{"name":"my-operator.v1.0.0"}]}
{"schema":"olm.bundle","package":"my-operator","name":"my-operator.v1.0.0","image":"quay.io/org/bundle@sha256:` + strings.Repeat("a", 64) + `","properties":[{"type":"olm.package","value":{"packageName":"my-operator","version":"1.0.0"}}]}
`
	for name, text := range map[string]string{"catalog/my-operator/catalog.json": catalog, "plan.json": "{}", "password": "secret"} {
		fail.On(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for _, tc := range []struct {
		earlier, now, args string
		code               int
	}{
		{"explain", "plan explain", "my-operator --plan plan.json", exitUsage},
		{"explain", "plan explain", "", exitUsage},
		{"graph", "catalog graph", "catalog my-operator", exitOK},
		{"graph", "catalog graph", "catalog -o json", exitOK},
		{"graph", "catalog graph", "catalog other -o svg", exitUsage},
		{"graph release", "release graph", "stable-4.20 -o pdf", exitUsage},
		{"login", "registry login", "mirror.example.com:5000 --password-stdin", exitUsage},
		{"logout", "registry logout", "mirror.example.com:5000 --authfile auth.json", exitOK},
		{"doctor", "registry doctor", "file://mirror", exitUsage},
		{"serve", "archive serve", "file://nothing", exitUsage},
		{"serve", "archive serve", "file://nothing --htpasswd=", exitUsage},
		{"pull", "get", "file://nothing", exitUsage},
		{"pull", "get", "docker://mirror.example.com --to x", exitUsage},
		{"resources", "cluster resources", "-o json", exitUsage},
		{"operator install", "cluster operator install", "my-operator --check x --to y", exitUsage},
		{"operator", "cluster operator", "instal", exitUsage},
		{"delete --delete-yaml-file", "prune --list", "plan.json docker://mirror.example.com", exitUsage},
		{"delete --generate -c", "prune -c", "plan.json docker://mirror.example.com", exitUsage},
	} {
		ran := func(command string) outcome {
			o := asking{t, map[string]string{"HOME": t.TempDir()}}.gantry(strings.Fields(command + " " + tc.args)...)
			o.stderr = strings.ReplaceAll(o.stderr, "gantry "+tc.now, "gantry "+tc.earlier)
			return o
		}
		earlier, now := ran(tc.earlier), ran(tc.now)
		if earlier != now || earlier.code != tc.code || earlier.stdout+earlier.stderr == "" {
			t.Errorf("gantry %s %s ended with %+v, as gantry %s with %+v, want %d", tc.earlier, tc.args, earlier, tc.now, now, tc.code)
		}
	}
}
