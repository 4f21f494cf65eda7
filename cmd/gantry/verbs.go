package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// A verb is a command below gantry. Its flags and texts take longer to build than most invocations
// take otherwise, so that only the verbs on the command line are built.
type verb struct {
	name, short string
	build       func() *cobra.Command
}

// verbs returns the verbs that help lists.
func (a *app) verbs() []verb {
	return []verb{
		{"archive", "Inspect archives, compare them and extract content", a.archiveCommand},
		{"catalog", "Inspect, filter, convert, build and serve operator catalogs", a.catalogCommand},
		{"check", "Check that clusters can be updated from a mirror", a.checkCommand},
		{"config", "Check and make configurations, or print their JSON Schema", a.configCommand},
		{"delete", "List what a DeleteImageSetConfiguration selects of a mirror", a.deleteCommand},
		{"diff", "Compare a configuration, plan, mirror or archive with another one", a.diffCommand},
		{"doctor", "Look at everything that mirroring to a registry depends on", a.doctorCommand},
		{"explain", "Show why an image, a bundle or a release is in a plan", a.explainCommand},
		{"graph", "Draw the update graph of a package, or of platform releases", a.graphCommand},
		{"list", "List operators and platform releases that can be mirrored", a.listCommand},
		{"login", "Check the credentials for a registry and store them", a.loginCommand},
		{"logout", "Remove the credentials for a registry", a.logoutCommand},
		{"mirror", "Copy content to a mirror registry, an archive or an OCI image layout", a.mirrorCommand},
		{"operator", "Print what installs a mirrored operator in a cluster", a.operatorCommand},
		{"plan", "Resolve a configuration to images, and show their sizes", a.planCommand},
		{"prune", "Delete from a mirror what no image set needs", a.pruneCommand},
		{"pull", "List the files of a mirror or an archive, or write one", a.pullCommand},
		{"registry", "Create the repositories or projects that a mirror needs", a.registryCommand},
		{"release", "Show or extract images, manifests and tools of a platform release", a.releaseCommand},
		{"resources", "Write the cluster resources of a mirror again, also for another host name", a.resourcesCommand},
		{"serve", "Serve an archive as a read-only registry", a.serveCommand},
		{"status", "Show the mirrors and archives of a workspace, and the last run of each", a.statusCommand},
		{"verify", "Check every byte of an archive or layout, or every image of a mirror", a.verifyCommand},
		{"version", "Print the version of gantry", a.versionCommand},
	}
}

// named returns a function that reports whether an argument is the name of a verb. Which of the
// arguments is the verb is for the parser of flags to decide; this includes it, and any other
// argument that happens to be the name of a verb.
func named(args []string) func(verb string) bool {
	return func(verb string) bool { return slices.Contains(args, verb) }
}

// everyVerb reports that a verb is wanted.
func everyVerb(string) bool { return true }

// command returns the verb as a command.
func (v verb) command() *cobra.Command {
	c := v.build()
	c.Short = v.short
	if !c.HasSubCommands() {
		c.Args = usageArgs(c.Args)
	}
	return c
}

// entry returns a command for lists of verbs.
func (v verb) entry() *cobra.Command {
	return &cobra.Command{Use: v.name, Short: v.short, RunE: func(*cobra.Command, []string) error {
		return fmt.Errorf("gantry %s is not on the command line", v.name)
	}}
}
