package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestFollowUps checks for every command that it is decided what follows it, and the command lines that do: they have
// absolute paths, and commands and flags that exist.
func TestFollowUps(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	fail.On(t, err)
	t.Chdir(dir)
	for _, name := range []string{"imageset.yaml", "plan.json", "out/catalog.yaml", "disk/a", "my disk/a"} {
		fail.On(t, os.MkdirAll(filepath.Dir(name), 0o700))
		fail.On(t, os.WriteFile(name, nil, 0o600))
	}
	root := (&app{}).command(everyVerb)
	commands := followUps()
	for _, c := range runnable(root, nil) {
		if _, known := commands[c.CommandPath()]; !known && !c.Hidden && !onlyPrints(c) {
			t.Errorf("what follows %s?", c.CommandPath())
		}
		delete(commands, c.CommandPath())
	}
	for path := range commands {
		t.Errorf("there is no command %s", path)
	}
	for line, want := range map[string]string{
		"plan -c imageset.yaml":                                           "gantry mirror -c DIR/imageset.yaml docker://MIRROR",
		"plan -c imageset.yaml docker://m:5000/ocp":                       "gantry mirror -c DIR/imageset.yaml docker://m:5000/ocp",
		"plan -c imageset.yaml --lock plan.json file://disk":              "gantry mirror --plan DIR/plan.json file://DIR/disk",
		"plan -c imageset.yaml --kubernetes-job 4 docker://m":             "kubectl apply -f FILE",
		"plan explain kite -c imageset.yaml":                              "gantry plan -v -c DIR/imageset.yaml",
		"plan explain kite":                                               "",
		"plan sbom":                                                       "",
		"mirror -c imageset.yaml oci://out":                               "gantry verify oci://DIR/out",
		"mirror -c imageset.yaml docker://m":                              "",
		"verify file://disk":                                              "gantry mirror --from file://DIR/disk docker://MIRROR",
		"verify docker://m":                                               "gantry status docker://m",
		"verify oci://out":                                                "",
		"status":                                                          "gantry verify docker://MIRROR",
		"status docker://m":                                               "gantry verify docker://m",
		"diff docker://m file://disk":                                     "gantry mirror --from file://DIR/disk docker://m",
		"diff -c imageset.yaml docker://m":                                "gantry mirror -c DIR/imageset.yaml docker://m",
		"archive inspect file://disk":                                     "gantry mirror --from file://DIR/disk docker://MIRROR",
		"archive list file://disk":                                        "gantry mirror --from file://DIR/disk docker://MIRROR",
		"archive rebuild file://disk":                                     "gantry verify file://DIR/disk",
		"catalog list quay.io/org/i:v1":                                   "gantry catalog list quay.io/org/i:v1 PACKAGE",
		"catalog list out kite":                                           "gantry catalog graph DIR/out kite",
		"catalog validate out":                                            "gantry catalog build DIR/out docker://MIRROR/CATALOG:TAG",
		"catalog build out docker://m/i:v1":                               "gantry list packages docker://m/i:v1",
		"catalog deprecate out kite --message x":                          "gantry catalog validate DIR/out",
		"catalog filter -c imageset.yaml --output-dir out":                "gantry catalog validate DIR/out",
		"cluster operator install kite --to out":                          "oc apply -f DIR/out",
		"config check imageset.yaml":                                      "gantry plan -c DIR/imageset.yaml",
		"config convert old.yaml --to imageset.yaml":                      "gantry plan -c DIR/imageset.yaml",
		"config convert old.yaml":                                         "",
		"config from-cluster c.json --to imageset.yaml":                   "gantry plan -c DIR/imageset.yaml",
		"config from-mirror docker://m --to imageset.yaml":                "gantry plan -c DIR/imageset.yaml",
		"list catalogs --version 4.20":                                    "gantry list packages CATALOG",
		"list packages quay.io/org/i:v1":                                  "gantry list bundles quay.io/org/i:v1 --package NAME",
		"list packages kite* --version 4.20":                              "gantry list bundles --version 4.20 --package NAME",
		"list packages kite -c imageset.yaml":                             "gantry list bundles -c DIR/imageset.yaml --package NAME",
		"list packages --catalog quay.io/a:v1 --catalog quay.io/b:v1":     "",
		"registry prepare --from file://a --from file://b docker://m":     "",
		"list bundles kite file://disk":                                   "gantry mirror --from file://DIR/disk docker://MIRROR",
		"list files kite docker://m":                                      "gantry get docker://m NAME --to FILE",
		"list bundles quay.io/org/i:v1":                                   "gantry init",
		"list releases --version 4.20":                                    "gantry init",
		"list files docker://m":                                           "gantry get docker://m NAME --to FILE",
		"registry login m:5000":                                           "gantry registry doctor docker://m:5000",
		"registry logout m:5000":                                          "gantry registry login m:5000",
		"registry doctor docker://m":                                      "gantry mirror -c FILE docker://m",
		"registry doctor -c imageset.yaml docker://m":                     "gantry mirror -c DIR/imageset.yaml docker://m",
		"registry prepare --plan plan.json docker://m":                    "gantry mirror --plan DIR/plan.json docker://m",
		"release info quay.io/openshift-release-dev/ocp-release:4.20.5-x": "gantry release images quay.io/openshift-release-dev/ocp-release:4.20.5-x",
		"version": "",
	} {
		fail.Diff(t, strings.ReplaceAll(want, "DIR", dir), followUp(parsedLine(t, strings.Fields(line))))
		if program, rest, _ := strings.Cut(want, " "); program == "gantry" {
			parsedLine(t, strings.Fields(rest))
		}
	}
	fail.Diff(t, "gantry mirror --from 'file://"+dir+"/my disk' docker://MIRROR", followUp(parsedLine(t, []string{"verify", "file://my disk"})))
}

// parsedLine parses a command line that gantry accepts.
func parsedLine(t *testing.T, args []string) (*cobra.Command, []string) {
	t.Helper()
	c, rest, err := (&app{}).command(everyVerb).Find(args)
	fail.On(t, err)
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("gantry %s: %v", strings.Join(args, " "), err)
	}
	return c, c.Flags().Args()
}

// runnable returns the commands below c that run.
func runnable(c *cobra.Command, all []*cobra.Command) []*cobra.Command {
	for _, below := range c.Commands() {
		if below.Hidden {
			continue
		}
		if below.Runnable() && !below.HasSubCommands() || below.Name() == "plan" {
			all = append(all, below)
		}
		all = runnable(below, all)
	}
	return all
}
