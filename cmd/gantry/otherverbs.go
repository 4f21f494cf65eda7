package main

import "github.com/spf13/cobra"

// instructions are the verbs of other tools, with what to run instead.
func instructions() map[string]string {
	return map[string]string{
		"copy":    "use gantry mirror -c imageset.yaml DESTINATION; additionalImages in the configuration copies single images",
		"inspect": "use gantry archive inspect file://DIR for an archive, gantry catalog list CATALOG for a catalog, or gantry plan explain IMAGE for an image of a plan",
		"sync":    "use gantry mirror -c imageset.yaml DESTINATION; run again, it copies only what is missing",
	}
}

// otherVerbs returns hidden commands that name the verb to use, whatever flags are given.
func otherVerbs() []*cobra.Command {
	var all []*cobra.Command
	for name, hint := range instructions() {
		all = append(all, &cobra.Command{
			Use:                name,
			Hidden:             true,
			DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return usageHint(hint, "there is no command %q", name)
			},
		})
	}
	return all
}
