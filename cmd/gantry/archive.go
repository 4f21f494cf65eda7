package main

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/plan"
)

const archiveHelp = `Each file://DIR is a folder with files of the archive: those of several media, and
of the earlier archives that it builds on, may be named together. The newest archive
in them is looked into, or the one that --sequence names.
`

func (a *app) archiveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "archive",
		Short: "Look into archives, and take out of them",
		Long: `Archive looks into what gantry mirror wrote to file://DIR, without a registry and
without unpacking it. gantry verify reads all of it and finds damage.

` + archiveHelp + `
` + exitStatusHelp,
		Example: `  gantry archive inspect file:///media/disk
  gantry archive list file:///media/disk
  gantry archive extract file:///media/disk --image '*/etcd:*' --to layout
  gantry archive diff file:///media/january file:///media/february
  gantry archive repair-request file:///media/disk -o request.json`,
		Args: verbArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.archiveInspectCommand(), a.archiveListCommand(), a.archiveExtractCommand(), a.archiveDiffCommand(), a.archiveRepairRequestCommand())
	for _, verb := range c.Commands() {
		verb.Args = usageArgs(verb.Args)
	}
	return c
}

// archiveFlags say which archive is looked into.
type archiveFlags struct {
	trust    trustFlags
	sequence int
}

func (f *archiveFlags) addFlags(fs *pflag.FlagSet) {
	f.trust.addFlags(fs)
	fs.IntVar(&f.sequence, "sequence", 0, "look into the archive of this number instead of the newest")
}

// folders are the folders of archives that arguments name, or the values of a flag,
// which the error then begins with.
func folders(flag string, args []string) ([]string, error) {
	var dirs []string
	for _, arg := range args {
		dir, ok := strings.CutPrefix(arg, fileScheme)
		if !ok || dir == "" {
			return nil, usageHint("write file://DIR, the folder that it lies in", "%s%q is no archive", flag, arg)
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// lookInto opens the archive in the folders that args name. It may be damaged, and
// volumes may be missing.
func (a *app) lookInto(f *archiveFlags, args []string) (*archive.Archive, error) {
	dirs, err := folders("", args)
	if err != nil {
		return nil, err
	}
	if f.sequence < 0 {
		return nil, usageHint("give the number in the names of its files, or 0 for the newest", "--sequence %d", f.sequence)
	}
	opts, err := a.reading(&f.trust)
	if err != nil {
		return nil, err
	}
	opts.Sequence = f.sequence
	have, err := archive.InspectWith(opts, dirs...)
	var damage *archive.DamageError
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, &usageError{err}
	case errors.As(err, &damage):
		return nil, &hintError{err, "; ", "bring the files that are named again from where the archive was written"}
	}
	return have, refusal(err)
}

// printable is a text of a medium, which may come from anybody, for a terminal.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// A glob matches whole names: * stands for any letters, slashes among them, and ?
// for one. No pattern at all matches everything.
type glob struct{ patterns []*regexp.Regexp }

func newGlob(patterns ...string) glob {
	var g glob
	for _, p := range patterns {
		p = regexp.QuoteMeta(p)
		p = strings.ReplaceAll(p, `\*`, `.*`)
		p = strings.ReplaceAll(p, `\?`, `.`)
		g.patterns = append(g.patterns, regexp.MustCompile(`^(?s:`+p+`)$`)) // what was quoted is an expression
	}
	return g
}

// match reports whether a pattern matches one of the names.
func (g glob) match(names ...string) bool {
	return len(g.patterns) == 0 || slices.ContainsFunc(g.patterns, func(p *regexp.Regexp) bool {
		return slices.ContainsFunc(names, p.MatchString)
	})
}

// imageNames are what an image may be called: its places in the mirror, with and
// without tag, its digest and its source.
func imageNames(img *plan.Image) []string {
	names := []string{img.Repository, string(img.Digest), img.Repository + "@" + string(img.Digest), img.Source}
	for _, tag := range img.Tags {
		names = append(names, img.Repository+":"+tag)
	}
	return names
}
