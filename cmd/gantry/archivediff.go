package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan"
)

// archiveDiffFlags are those of gantry archive diff.
type archiveDiffFlags struct {
	trust     trustFlags
	sequences []int
	form      string
}

func (a *app) archiveDiffCommand() *cobra.Command {
	var f archiveDiffFlags
	c := &cobra.Command{
		Use:   "diff {file://OLD file://NEW | file://DIR --sequence OLD,NEW}",
		Short: "Say what changed from one archive to another",
		Long: `Diff lists the images that one archive brings and the other does not, those that
have other content under the same name, and how much content that is. It compares
the plans of the newest archives in two folders, or of two archives in one folder;
the last two, unless --sequence names them. Of the volumes it needs just the ones
that have the plans. What an archive leaves out since an earlier one brought it
counts as brought. The exit status is 5 where they differ.

` + exitStatusHelp,
		Example: `  gantry archive diff file:///media/january file:///media/february
  gantry archive diff file:///media/disk --sequence 1,3
  gantry archive diff file:///media/disk -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.archiveDiff(cmd.Context(), &f, args)
		},
	}
	f.addFlags(c.Flags())
	return c
}

func (f *archiveDiffFlags) addFlags(fs *pflag.FlagSet) {
	f.trust.addFlags(fs)
	fs.IntSliceVar(&f.sequences, "sequence", nil, "compare these two archives of a folder, or take these from two folders, 0 being the newest: OLD,NEW")
	formFlag(fs, &f.form, "form of the list: text or json", outputText, outputJSON)
}

// archiveDifference is what gantry archive diff -o json prints.
type archiveDifference struct {
	Version int         `json:"version"`
	Old     comparedSet `json:"old"`
	New     comparedSet `json:"new"`
	plan.Difference
}

type comparedSet struct {
	Archive  string        `json:"archive"`
	Name     string        `json:"name"`
	Sequence int           `json:"sequence"`
	Plan     digest.Digest `json:"plan"`
}

func (a *app) archiveDiff(ctx context.Context, f *archiveDiffFlags, args []string) error {
	if err := a.form(f.form, outputText, outputJSON); err != nil {
		return err
	}
	old, now := archiveFlags{trust: f.trust}, archiveFlags{trust: f.trust}
	switch {
	case len(f.sequences) == 2:
		old.sequence, now.sequence = f.sequences[0], f.sequences[1]
	case len(f.sequences) != 0:
		return usageHint("give two numbers: OLD,NEW", "--sequence %s", strings.Trim(fmt.Sprint(f.sequences), "[]"))
	case len(args) == 1:
		var err error
		if old.sequence, err = a.before(args[0]); err != nil {
			return err
		}
	}
	d := &archiveDifference{Version: 1}
	before, err := a.compared(ctx, &old, args[0], &d.Old)
	if err != nil {
		return err
	}
	after, err := a.compared(ctx, &now, args[len(args)-1], &d.New)
	if err != nil {
		return err
	}
	d.Difference = *plan.Compare(before, after)
	if a.output == outputJSON {
		err = a.encode(d)
	} else {
		err = a.text(d.text())
	}
	if err == nil && !d.Empty() {
		err = errSomething
	}
	return err
}

// before is the number of the archive in a folder that comes before the newest.
func (a *app) before(arg string) (int, error) {
	dirs, err := folders("", []string{arg})
	if err != nil {
		return 0, err
	}
	sequences, err := archive.Sequences(dirs...)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, &usageError{err}
	case err != nil:
		return 0, err
	case len(sequences) < 2:
		return 0, usageHint("name another folder to compare with", "%s has no two archives", arg)
	}
	return sequences[len(sequences)-2], nil
}

// compared reads the plan of one side, of which it keeps the outline, and says in c
// which that is.
func (a *app) compared(ctx context.Context, f *archiveFlags, arg string, c *comparedSet) (*plan.Outline, error) {
	have, err := a.lookInto(f, []string{arg})
	if err != nil {
		return nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	s := have.Newest()
	*c = comparedSet{Archive: arg, Name: s.Series, Sequence: s.Sequence, Plan: have.PlanDigest()}
	p, err := a.planIn(ctx, have)
	if err != nil {
		return nil, err
	}
	return p.Outline(), nil
}

func (d *archiveDifference) text() string {
	var b strings.Builder
	which := func(c comparedSet) string {
		return fmt.Sprintf("sequence %d of %q in %s", c.Sequence, c.Name, c.Archive)
	}
	if d.Empty() {
		fmt.Fprintf(&b, "No difference: %s and %s bring the same.\n", which(d.Old), which(d.New))
		return b.String()
	}
	fmt.Fprintf(&b, "From %s\n  to %s\n", which(d.Old), which(d.New))
	for _, part := range []struct {
		title    string
		releases []string
	}{{"Added", d.AddedReleases}, {"Removed", d.RemovedReleases}} {
		if len(part.releases) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", part.title, number(len(part.releases), "platform release", "platform releases"))
			var lines []string
			for _, name := range part.releases {
				lines = append(lines, printable(name))
			}
			list(&b, lines)
		}
	}
	for _, part := range []struct {
		title  string
		images []plan.ChangedImage
	}{{"Added", d.Added}, {"Removed", d.Removed}, {"Changed", d.Changed}} {
		if len(part.images) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", part.title, number(len(part.images), "image", "images"))
		var lines []string
		for _, x := range part.images {
			line := fmt.Sprintf("%s  %s", x.Name, progress.Bytes(x.Size))
			if x.Old != "" && x.New != "" {
				line += fmt.Sprintf("  %s, was %s", short(x.New), short(x.Old))
			}
			lines = append(lines, line)
		}
		list(&b, lines)
	}
	fmt.Fprintf(&b, "New content: %s in %s. No longer needed: %s in %s.\n",
		progress.Bytes(d.NewBytes), number(d.NewContent, "blob or manifest", "blobs and manifests"),
		progress.Bytes(d.GoneBytes), number(d.GoneContent, "blob or manifest", "blobs and manifests"))
	return b.String()
}
