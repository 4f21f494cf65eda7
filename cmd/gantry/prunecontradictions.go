package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// The flags of gantry prune for lists of images.
const (
	listFlag   = "list"
	configFlag = "config"
)

// pruneSelections are the flags that select what gantry prune deletes or lists, in place of what no
// image set needs, each with the other flags that it can be combined with, and the hint for those
// that it cannot.
var pruneSelections = []struct {
	flag, does, hint string
	with             []string
}{
	{configFlag, "writes a list, and deletes nothing", "gantry prune --yes --list FILE deletes what a list has", []string{"name", "delete-id", "layout"}},
	{listFlag, "deletes what the list has, and nothing else", "leave one of them out", []string{"yes", "name", "list-mirror", "only-mirror"}},
	{deleteYAMLFlag, "deletes what the list has, and nothing else", "leave one of them out", []string{"yes", "name", "list-mirror", "only-mirror"}},
	{"others", "deletes nothing", "gantry prune --yes --list FILE deletes what --others --select SELECTION --save FILE wrote", []string{"select", "save", "only-mirror"}},
}

// pruneFlagNames are the flags of gantry prune that depend on what is selected.
var pruneFlagNames = []string{
	"yes", "plan", "save", "keep-last", "older-than", "forget", "select", "name", "list-mirror", "only-mirror", "delete-id", "layout",
	configFlag, listFlag, deleteYAMLFlag, "others",
}

// checkPruned returns an error if flags of gantry prune contradict each other.
func checkPruned(given *pflag.FlagSet) error {
	for _, s := range pruneSelections {
		if !given.Changed(s.flag) {
			continue
		}
		for _, name := range pruneFlagNames {
			if name != s.flag && given.Changed(name) && !slices.Contains(s.with, name) {
				return usageHint(s.hint, "--%s %s, so --%s cannot be combined with it", s.flag, s.does, name)
			}
		}
		return nil
	}
	for _, name := range []string{"select", "name", "list-mirror", "delete-id", "layout"} {
		if !given.Changed(name) {
			continue
		}
		var with []string
		for _, s := range pruneSelections {
			if s.flag != deleteYAMLFlag && slices.Contains(s.with, name) {
				with = append(with, "--"+s.flag)
			}
		}
		return usageHint("add "+strings.Join(with, " or "), "--%s is for %s", name, strings.Join(with, " and "))
	}
	return nil
}
