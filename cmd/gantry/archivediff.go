package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
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
	Version int            `json:"version"`
	Old     comparedSet    `json:"old"`
	New     comparedSet    `json:"new"`
	Added   []changedImage `json:"added"`
	Removed []changedImage `json:"removed"`
	Changed []changedImage `json:"changed"`
	// NewBytes is the content that the new plan has and the old one has not, each
	// blob and manifest once, GoneBytes the reverse.
	NewContent  int   `json:"newContent"`
	NewBytes    int64 `json:"newBytes"`
	GoneContent int   `json:"goneContent"`
	GoneBytes   int64 `json:"goneBytes"`
}

type comparedSet struct {
	Archive  string        `json:"archive"`
	Name     string        `json:"name"`
	Sequence int           `json:"sequence"`
	Plan     digest.Digest `json:"plan"`
}

// changedImage is an image by its name in a mirror.
type changedImage struct {
	Name string        `json:"name"`
	Old  digest.Digest `json:"old,omitempty"`
	New  digest.Digest `json:"new,omitempty"`
	Size int64         `json:"size"` // in bytes, before sharing; of the new one, where there is one
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
	if err := d.compare(before, after); err != nil {
		return err
	}
	if a.output == outputJSON {
		err = a.encode(d)
	} else {
		_, err = fmt.Fprint(a.stdout, d.text())
	}
	if err == nil && !d.empty() {
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

// compared reads the plan of one side and says in c which that is.
func (a *app) compared(ctx context.Context, f *archiveFlags, arg string, c *comparedSet) (*plan.Plan, error) {
	have, err := a.lookInto(f, []string{arg})
	if err != nil {
		return nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	s := have.Newest()
	*c = comparedSet{Archive: arg, Name: s.Series, Sequence: s.Sequence, Plan: have.PlanDigest()}
	return a.planIn(ctx, have)
}

func (d *archiveDifference) empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+d.NewContent+d.GoneContent == 0
}

// compare fills in what differs, by name.
func (d *archiveDifference) compare(before, after *plan.Plan) error {
	d.Added, d.Removed, d.Changed = []changedImage{}, []changedImage{}, []changedImage{}
	old, now := byName(before), byName(after)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		x := changedImage{Name: name, New: now[name].Digest, Size: now[name].Size}
		if was, ok := old[name]; !ok {
			d.Added = append(d.Added, x)
		} else if x.Old = was.Digest; x.Old != x.New {
			d.Changed = append(d.Changed, x)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := now[name]; !ok {
			d.Removed = append(d.Removed, changedImage{Name: name, Old: old[name].Digest, Size: old[name].Size})
		}
	}
	var err error
	if d.NewContent, d.NewBytes, err = lacks(before, after); err != nil {
		return err
	}
	d.GoneContent, d.GoneBytes, err = lacks(after, before)
	return err
}

// byName are the images of a plan by each of their names.
func byName(p *plan.Plan) map[string]*plan.Image {
	names := map[string]*plan.Image{}
	for i := range p.Images {
		for _, tag := range p.Images[i].Tags {
			names[p.Images[i].Repository+":"+tag] = &p.Images[i]
		}
	}
	return names
}

// lacks is how much content of other a plan has not.
func lacks(p, other *plan.Plan) (n int, size int64, err error) {
	contents, err := p.Contents()
	if err != nil {
		return 0, 0, err
	}
	count := func(d digest.Digest, bytes int64) {
		if !contents.Has(d) {
			n, size = n+1, size+bytes
		}
	}
	for i := range other.Manifests {
		count(other.Manifests[i].Digest, other.Manifests[i].Size)
	}
	for _, b := range other.Blobs {
		count(b.Digest, b.Size)
	}
	return n, size, nil
}

func (d *archiveDifference) text() string {
	var b strings.Builder
	which := func(c comparedSet) string {
		return fmt.Sprintf("sequence %d of %q in %s", c.Sequence, c.Name, c.Archive)
	}
	if d.empty() {
		fmt.Fprintf(&b, "No difference: %s and %s bring the same.\n", which(d.Old), which(d.New))
		return b.String()
	}
	fmt.Fprintf(&b, "From %s\n  to %s\n", which(d.Old), which(d.New))
	for _, part := range []struct {
		title  string
		images []changedImage
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
