package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
)

// deletionFlags are the flags of verbs that delete content from a mirror.
type deletionFlags struct {
	registryFlags
	workspace  string
	onlyMirror bool
	nested     int
}

// addFlags adds the flags to a command.
func (f *deletionFlags) addFlags(c *cobra.Command) {
	f.registryFlags.addDestinationFlags(c.Flags())
	c.Flags().StringVar(&f.workspace, "workspace", env.DefaultWorkspace, "folder of the workspace")
	c.Flags().BoolVar(&f.onlyMirror, "only-mirror", false, "no other mirror on the registry contains this one or is below it: ignore records that the credentials cannot read")
	addNestedPaths(c.Flags(), &f.nested)
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
}

// deletionExits is the part of a help about the exit status of such a verb. more are other reasons for a partial one.
func deletionExits(more string) string {
	return exitCodes(map[int]string{
		exitPartial: "the registry refuses to delete, or some content could not be deleted;\nthe rest is consistent" + more,
		exitLocked:  helpLocked, exitUnauthorized: helpUnauthorized,
	})
}

// showDeletion prints the result of such a verb, as a document or as text, after what was not deleted. It returns the error
// of the verb, or of printing.
func (a *app) showDeletion(report *prune.Report, document any, text string, err error) error {
	for _, line := range view.DeletionFailures(report) {
		a.warn("%s", line)
	}
	return cmp.Or(a.result(document, func() string { return text }), err)
}
