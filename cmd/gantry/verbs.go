package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
)

// A verb is a command below gantry. Its flags and texts take longer to build than most invocations
// take otherwise, so that only the verbs on the command line are built.
type verb struct {
	// group is the title of the list in help that has the verb, or "" for a verb that works without
	// being listed.
	group, name, short string
	build              func() *cobra.Command
	// now is the command that a verb without a group is an earlier name of, or "".
	now string
}

// The groups of verbs, in the order of help.
const (
	groupMirror   = "Mirroring"
	groupClusters = "Clusters"
	groupContent  = "Content"
	groupSettings = "Setting up"
)

// verbs returns the verbs that help lists, and then those that it does not list.
func (a *app) verbs() []verb {
	return []verb{
		{groupMirror, "plan", "Resolve a configuration to images, and show their sizes", a.planCommand, ""},
		{groupMirror, "mirror", "Copy content to a mirror registry, an archive or an OCI image layout", a.mirrorCommand, ""},
		{groupMirror, "verify", "Check every byte of an archive or layout, or every image of a mirror", a.verifyCommand, ""},
		{groupMirror, "status", "Show the mirrors and archives of a workspace, and the last run of each", a.statusCommand, ""},
		{groupMirror, "diff", "Compare a configuration, plan, mirror or archive with another one", a.diffCommand, ""},
		{groupMirror, "prune", "Delete from a mirror what no image set needs, or what a list names", a.pruneCommand, ""},
		{groupClusters, "check", "Check that clusters can be updated from a mirror", a.checkCommand, ""},
		{groupClusters, "cluster", "Write what clusters apply: resources of a mirror, operators", a.clusterCommand, ""},
		{groupContent, "list", "List packages, bundles, images and more of catalogs, mirrors and archives", a.listCommand, ""},
		{groupContent, "get", "List the files of a mirror or an archive, or write one", a.getCommand, ""},
		{groupContent, "archive", "Inspect archives, compare them, extract content and serve it", a.archiveCommand, ""},
		{groupContent, "catalog", "Inspect, draw, filter, convert, build and serve operator catalogs", a.catalogCommand, ""},
		{groupContent, "release", "Show or extract images, manifests and tools of a platform release", a.releaseCommand, ""},
		{groupSettings, "init", "Write a first configuration, from five answers or from a cluster", a.initCommand, ""},
		{groupSettings, "config", "Check and make configurations, or print their JSON Schema", a.configCommand, ""},
		{groupSettings, "registry", "Check a registry, store its credentials, create its repositories", a.registryCommand, ""},
		{"", "version", "Print the version of gantry", a.versionCommand, ""},

		{"", "delete", "List what a DeleteImageSetConfiguration selects of a mirror", a.deleteCommand, "prune --list"},
		{"", "doctor", "", a.doctorCommand, "registry doctor"},
		{"", "explain", "", a.explainCommand, "plan explain"},
		{"", "graph", "", a.graphCommand, "catalog graph"},
		{"", "login", "", a.loginCommand, "registry login"},
		{"", "logout", "", a.logoutCommand, "registry logout"},
		{"", "operator", "", a.operatorCommand, "cluster operator"},
		{"", "pull", "List the files of a mirror or an archive, or write one", a.getCommand, "get"},
		{"", "resources", "", a.resourcesCommand, "cluster resources"},
		{"", "serve", "", a.serveCommand, "archive serve"},
	}
}

// currentNames replaces the quoted earlier names of verbs.
func currentNames() *strings.Replacer {
	var pairs []string
	for _, v := range (&app{}).verbs() {
		if v.now != "" {
			pairs = append(pairs, `"`+v.name+`"`, `"`+v.now+`"`)
		}
	}
	return strings.NewReplacer(pairs...)
}

// named returns a function that reports whether an argument is the name of a verb. Which of the
// arguments is the verb is for the parser of flags to decide; this includes it, and any other
// argument that happens to be the name of a verb.
func named(args []string) func(verb string) bool {
	return func(verb string) bool { return slices.Contains(args, verb) }
}

// groups are the groups of verbs.
func groups() []*cobra.Group {
	var all []*cobra.Group
	for _, title := range []string{groupMirror, groupClusters, groupContent, groupSettings} {
		all = append(all, &cobra.Group{ID: title, Title: title})
	}
	return all
}

// everyVerb reports that a verb is wanted.
func everyVerb(string) bool { return true }

// command returns the verb as a command.
func (v verb) command() *cobra.Command {
	c := v.build()
	_, args, _ := strings.Cut(c.Use, " ")
	c.Use = strings.TrimRight(v.name+" "+args, " ")
	c.GroupID, c.Hidden = v.group, v.group == ""
	if v.short != "" {
		c.Short = v.short
	}
	if v.now != "" {
		c.Long = fmt.Sprintf("Use gantry %s: gantry %s is its earlier name.\n\n%s", v.now, v.name, c.Long)
	}
	checkArgs(c)
	return c
}

// entry returns a command for lists of verbs.
func (v verb) entry() *cobra.Command {
	return &cobra.Command{Use: v.name, Short: v.short, GroupID: v.group, Hidden: v.group == "", RunE: func(*cobra.Command, []string) error {
		return fmt.Errorf("gantry %s is not on the command line", v.name)
	}}
}

// verbArgs checks the arguments of a command with subcommands: an unknown subcommand is an error, and
// no argument prints the help.
func verbArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, verb := range c.Commands() {
		if !verb.Hidden || !c.HasParent() {
			verbs = append(verbs, verb.Name())
		}
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
	if found := below(c, args); len(found) > 0 {
		return advice.Wrap(advice.Input, err, "write "+strings.Join(found, " or "))
	}
	if near := suggest.Phrase(args[0], verbs); near != "" {
		if !c.HasParent() {
			near = currentNames().Replace(near)
		}
		return advice.Wrap(advice.Input, err, near+"\nsee: "+c.CommandPath()+" --help")
	}
	if c.HasParent() {
		return advice.Wrap(advice.Input, err, "write "+c.CommandPath()+" with one of: "+strings.Join(verbs, ", "))
	}
	return seeHelp(c, err)
}

// below returns the command lines that arguments can mean if their first one is a verb, or a command below another verb:
// "gantry list packages quay" for packages, list, quay. It may be one of several things (packages) or one of them (package). Of several
// lines, one of the verb c is meant. Below a verb, the command may also be a later argument: "gantry list quay packages".
func below(c *cobra.Command, args []string) (found []string) {
	if at := slices.IndexFunc(args, func(arg string) bool { return isBelow(c, arg) }); at > 0 && c.HasParent() {
		return []string{shellLine(slices.Concat(strings.Fields(c.CommandPath())[1:], args[at:at+1], args[:at], args[at+1:]))}
	}
	for _, v := range (&app{}).verbs() {
		if v.group == "" {
			continue
		}
		if c.HasParent() && v.name == args[0] {
			return []string{shellLine(args)}
		}
		for _, sub := range v.command().Commands() {
			if sub.Hidden || sub.Name() != args[0] && sub.Name() != args[0]+"s" {
				continue
			}
			rest := args[1:]
			if len(rest) > 0 && rest[0] == v.name {
				rest = rest[1:]
			}
			text := shellLine(append([]string{v.name, sub.Name()}, rest...))
			if v.name == c.Name() {
				return []string{text}
			}
			found = append(found, text)
		}
	}
	return found
}

// isBelow reports whether a name is the one of a command below c.
func isBelow(c *cobra.Command, name string) bool {
	return slices.ContainsFunc(c.Commands(), func(sub *cobra.Command) bool { return !sub.Hidden && sub.Name() == name })
}

// shellLine returns a line that runs gantry with these arguments, without passwords.
func shellLine(args []string) string {
	line := []string{"gantry"}
	for _, arg := range args {
		line = append(line, view.ShellWord(redact.Text(arg)))
	}
	return strings.Join(line, " ")
}
