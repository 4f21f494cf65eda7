package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
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
	// AddedReleases and RemovedReleases are names of platform releases.
	AddedReleases   []string `json:"addedReleases,omitempty"`
	RemovedReleases []string `json:"removedReleases,omitempty"`
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
	d.compare(before, after)
	if a.output == outputJSON {
		err = a.encode(d)
	} else {
		err = a.text(d.text())
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

// compared reads the plan of one side, of which it keeps the outline, and says in c
// which that is.
func (a *app) compared(ctx context.Context, f *archiveFlags, arg string, c *comparedSet) (*planOutline, error) {
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
	return outlineOf(p), nil
}

func (d *archiveDifference) empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+d.NewContent+d.GoneContent == 0
}

// A planOutline is what two plans are compared by, each list in its order: the names of
// releases, the images by name, and every manifest and blob by what stands for its
// digest. It is a fraction of the plan.
type planOutline struct {
	releases []string
	images   []outlinedImage
	content  []outlinedContent
}

type outlinedImage struct {
	name   string
	digest digest.Digest
	size   int64 // bytes
}

type outlinedContent struct {
	key  [sha256.Size]byte // stands for the digest, in less than half the room
	size int64             // bytes
}

func outlineOf(p *plan.Plan) *planOutline {
	o := &planOutline{content: make([]outlinedContent, 0, len(p.Manifests)+len(p.Blobs))}
	for i := range p.Releases {
		o.releases = append(o.releases, p.Releases[i].Name())
	}
	for i := range p.Images {
		img := &p.Images[i]
		for _, tag := range img.Tags {
			o.images = append(o.images, outlinedImage{img.Repository + ":" + tag, img.Digest, img.Size})
		}
	}
	for i := range p.Manifests {
		o.content = append(o.content, outlinedContent{sha256.Sum256([]byte(p.Manifests[i].Digest)), p.Manifests[i].Size})
	}
	for _, b := range p.Blobs {
		o.content = append(o.content, outlinedContent{sha256.Sum256([]byte(b.Digest)), b.Size})
	}
	slices.Sort(o.releases)
	slices.SortFunc(o.images, func(x, y outlinedImage) int { return strings.Compare(x.name, y.name) })
	slices.SortFunc(o.content, func(x, y outlinedContent) int { return bytes.Compare(x.key[:], y.key[:]) })
	return o
}

// compare fills in what differs, by name.
func (d *archiveDifference) compare(before, after *planOutline) {
	d.Added, d.Removed, d.Changed = []changedImage{}, []changedImage{}, []changedImage{}
	pairs(before.releases, after.releases, func(name *string) string { return *name }, func(old, now *string) {
		switch {
		case old == nil:
			d.AddedReleases = append(d.AddedReleases, *now)
		case now == nil:
			d.RemovedReleases = append(d.RemovedReleases, *old)
		}
	})
	pairs(before.images, after.images, func(x *outlinedImage) string { return x.name }, func(old, now *outlinedImage) {
		switch {
		case old == nil:
			d.Added = append(d.Added, changedImage{Name: now.name, New: now.digest, Size: now.size})
		case now == nil:
			d.Removed = append(d.Removed, changedImage{Name: old.name, Old: old.digest, Size: old.size})
		case old.digest != now.digest:
			d.Changed = append(d.Changed, changedImage{Name: now.name, Old: old.digest, New: now.digest, Size: now.size})
		}
	})
	pairs(before.content, after.content, func(x *outlinedContent) string { return string(x.key[:]) }, func(old, now *outlinedContent) {
		switch {
		case old == nil:
			d.NewContent, d.NewBytes = d.NewContent+1, d.NewBytes+now.size
		case now == nil:
			d.GoneContent, d.GoneBytes = d.GoneContent+1, d.GoneBytes+old.size
		}
	})
}

// pairs goes through two lists that are sorted by key. What only one of them has comes
// with nil in place of the other.
func pairs[T any](old, now []T, key func(*T) string, each func(old, now *T)) {
	for len(old)+len(now) > 0 {
		var order int
		switch {
		case len(old) == 0:
			order = 1
		case len(now) == 0:
			order = -1
		default:
			order = strings.Compare(key(&old[0]), key(&now[0]))
		}
		var was, is *T
		if order <= 0 {
			was, old = &old[0], old[1:]
		}
		if order >= 0 {
			is, now = &now[0], now[1:]
		}
		each(was, is)
	}
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
