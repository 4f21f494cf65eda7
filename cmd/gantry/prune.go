package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/removal"
)

// pruneFlags are the flags of gantry prune.
type pruneFlags struct {
	deletionFlags
	options  removal.PruneOptions
	others   bool
	selected []string
	listed   deleteFlags // for --list and --config
}

func (a *app) pruneCommand() *cobra.Command {
	var f pruneFlags
	c := &cobra.Command{
		Use: "prune [-c FILE | --list FILE] docker://HOST[:PORT][/PREFIX]",
		Long: `Delete from a mirror what no image set needs: images of earlier runs, with their
signatures, and tags. Without --yes or --plan, nothing is deleted, and the plan is printed.

What image sets need is in the records that gantry mirror writes to the mirror. Content
that no record lists is never deleted, nor is anything that such content refers to, or
that a published catalog names. The registry frees the space when it collects garbage.

--forget also deletes what only this image set needs, its records and cluster resources.

-c writes a list of what a DeleteImageSetConfiguration selects to the folder delete in the
workspace, in the format of oc mirror. --list shows what it would delete of such a list, and
with --yes deletes it, after it published catalogs without the listed bundles.

--others lists what no record has: content of other clients and of other tools. With --select
and --save, it writes some of it to a file for --list. It deletes nothing.

` + deletionExits(", or a listed image stays without a reason"),
		Example: `  gantry prune docker://mirror.example.com:5000/ocp
  gantry prune --yes docker://mirror.example.com:5000/ocp
  gantry prune --forget edge docker://mirror.example.com:5000/ocp
  gantry prune -c delete.yaml docker://mirror.example.com:5000/ocp
  gantry prune --list gantry-workspace/delete/delete-images.yaml docker://mirror.example.com:5000/ocp
  gantry prune --others docker://mirror.example.com:5000/ocp
  gantry prune --save prune.json docker://mirror.example.com:5000/ocp
  gantry prune --plan prune.json docker://mirror.example.com:5000/ocp`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd.Flags(), "forget", "plan", "save", "name", "list-mirror", listFlag, configFlag); err != nil {
				return err
			}
			if cmd.Flags().Changed("keep-last") && f.options.KeepLast < 1 {
				return usageHint("use a number above 0; 1 is the default", "--keep-last %d", f.options.KeepLast)
			}
			if err := checkPruned(cmd.Flags()); err != nil {
				return err
			}
			switch {
			case f.listed.options.DeleteYAMLFile != "", f.listed.config != "":
				return a.pruneListed(cmd.Context(), args[0], f)
			case f.others:
				return a.pruneOthers(cmd.Context(), args[0], f)
			}
			f.options.Mirror = args[0]
			return a.prune(cmd.Context(), f)
		},
	}
	o := &f.options
	f.addFlags(c)
	c.Flags().BoolVar(&o.Yes, "yes", false, "delete; without it, only the plan is printed")
	c.Flags().StringVar(&o.Plan, "plan", "", "delete what this plan lists, a file from gantry prune --save; it is refused if the records of the mirror changed since")
	c.Flags().StringVar(&o.Save, "save", "", "write the plan to this file")
	c.Flags().IntVar(&o.KeepLast, "keep-last", 0, "also keep what the last N revisions of each image set needed, the current one included")
	parsedFlag(c.Flags(), &o.OlderThan, "older-than", "duration", "", parsePeriod, "also keep what an image set needed within this time: 30d, 4w or 72h")
	c.Flags().StringVar(&o.Forget, "forget", "", "give up the image set with this name: also delete what only it needs, and its records last")
	c.Flags().BoolVar(&f.others, "others", false, "list what the mirror has and no record lists; nothing is deleted")
	c.Flags().StringArrayVar(&f.selected, "select", nil, "with --others and --save, what the file for --list has: REPOSITORY, REPOSITORY/*, REPOSITORY:TAG or REPOSITORY@DIGEST; may be repeated")
	f.listed.addListFlags(c, "-c", "-c, --others --save")
	c.Flags().Lookup(configFlag).Usage = "list what this DeleteImageSetConfiguration selects, and write the list; nothing is deleted"
	c.Flags().StringVar(&f.listed.options.DeleteYAMLFile, listFlag, "", c.Flags().Lookup(deleteYAMLFlag).Usage+"; without --yes, it is only shown")
	c.Flags().Lookup(deleteYAMLFlag).Hidden = true                // its name in gantry delete
	_ = c.RegisterFlagCompletionFunc("forget", completeImageSets) // it is there, and new
	return c
}

func (a *app) prune(ctx context.Context, f pruneFlags) error {
	o := f.options
	o.Env, o.Workspace, o.OnlyMirror, o.MaxNestedPaths = a.environment(&f.registryFlags), f.workspace, f.onlyMirror, f.nested
	result, err := removal.Prune(ctx, o)
	if result == nil {
		return err
	}
	shown := *result
	shown.Saved = absolute(result.Saved)
	return a.showDeletion(result.Deleted, result, view.Pruned(&shown), err)
}

// pruneListed lists what a configuration selects, or deletes what a list has.
func (a *app) pruneListed(ctx context.Context, mirror string, f pruneFlags) error {
	l := f.listed
	l.deletionFlags, l.options.Mirror, l.options.DryRun = f.deletionFlags, mirror, !f.options.Yes
	l.command, l.how = "gantry prune --yes --"+listFlag, "set --yes"
	if l.config != "" {
		return a.listDeletions(ctx, l)
	}
	return a.delete(ctx, l)
}

// pruneOthers lists what no record has.
func (a *app) pruneOthers(ctx context.Context, mirror string, f pruneFlags) error {
	result, err := removal.ListUnrecorded(ctx, removal.UnrecordedOptions{
		Env: a.environment(&f.registryFlags), Mirror: mirror, MaxNestedPaths: f.nested, OnlyMirror: f.onlyMirror, Select: f.selected, Save: f.options.Save,
	})
	if err != nil {
		return err
	}
	return a.result(result, func() string {
		result.Saved = absolute(result.Saved)
		return view.Unrecorded(result)
	})
}

// maxPeriod is the longest time span of --older-than: 100 years.
const maxPeriod = 100 * 365 * 24 * time.Hour

// parsePeriod reads a time span in days, weeks, or what time.ParseDuration reads.
func parsePeriod(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			var n int
			n, err = wholeNumber(number, 1, int(maxPeriod/length), "")
			d = time.Duration(n) * length
		}
	}
	if err != nil || d <= 0 || d > maxPeriod {
		return 0, errors.New("use a duration such as 30d, 4w or 72h")
	}
	return d, nil
}
