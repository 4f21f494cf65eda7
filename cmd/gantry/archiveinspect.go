package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/plan"
)

func (a *app) archiveInspectCommand() *cobra.Command {
	var f archiveFlags
	var form string
	c := &cobra.Command{
		Use:   "inspect file://DIR...",
		Short: "Say what an archive is, and which volumes it has",
		Long: `Inspect prints the number and name of an archive, who signed it, the earlier
archives that it builds on, its volumes and where they are, and what it brings.
Volumes are looked at, not read: gantry verify compares every byte. That some are
missing is said, and is no error.

` + archiveHelp + `
` + exitStatusHelp,
		Example: `  gantry archive inspect file:///media/disk
  gantry archive inspect file:///media/disk1 file:///media/disk2 --allowed-signers allowed_signers
  gantry archive inspect file:///media/disk --sequence 2 -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.archiveInspect(cmd.Context(), &f, form, args)
		},
	}
	f.addFlags(c.Flags())
	formFlag(c.Flags(), &form, "form of the result: text or json", outputText, outputJSON)
	return c
}

// inspected is what gantry archive inspect -o json prints.
type inspected struct {
	Version int      `json:"version"`
	Folders []string `json:"folders"` // as they were given
	// Name is the series: that of the plans.
	Name      string          `json:"name"`
	Sequence  int             `json:"sequence"`
	Set       digest.Digest   `json:"set"`                 // of its set manifest
	Signature *sshsig.Verdict `json:"signature,omitempty"` // nil where nobody signed
	// Sets are the archive, before it what repairs it, and then those that it
	// builds on.
	Sets []inspectedSet `json:"sets"`
	// Others are the numbers of further archives in the folders.
	Others []int `json:"others,omitempty"`
	// Missing is how many volumes of the sets that are here are not, or are
	// something else.
	Missing int `json:"missing"`
	// Plan is what it brings; nil where the plan cannot be read, for the reason of
	// PlanProblem.
	Plan        *inspectedPlan `json:"plan,omitempty"`
	PlanProblem string         `json:"planProblem,omitempty"`
}

type inspectedSet struct {
	Sequence   int               `json:"sequence"`
	Set        digest.Digest     `json:"set"`
	Repair     bool              `json:"repair,omitempty"`
	Manifest   string            `json:"manifest"`
	Folder     string            `json:"folder,omitempty"` // "" where it is not here
	Parent     digest.Digest     `json:"parent,omitempty"`
	Plan       digest.Digest     `json:"plan,omitempty"`
	VolumeSize int64             `json:"volumeSize,omitempty"`
	Features   []string          `json:"features,omitempty"`
	BuildsOn   []inspectedBase   `json:"buildsOn,omitempty"`
	Content    int               `json:"content"` // manifests and blobs
	Bytes      int64             `json:"bytes"`   // of them
	Elsewhere  int               `json:"elsewhere,omitempty"`
	Encrypted  bool              `json:"encrypted,omitempty"`
	Locked     bool              `json:"locked,omitempty"` // no identity opened it
	Volumes    []inspectedVolume `json:"volumes,omitempty"`

	elsewhereBytes int64
}

type inspectedBase struct {
	Sequence int           `json:"sequence"`
	Set      digest.Digest `json:"set"`
}

type inspectedVolume struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Path    string `json:"path,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// inspectedPlan is what a plan brings, in numbers.
type inspectedPlan struct {
	Digest   digest.Digest          `json:"digest"`
	Totals   plan.Totals            `json:"totals"`
	Images   map[plan.ImageKind]int `json:"images"`
	Catalogs []inspectedCatalog     `json:"catalogs"`
	Releases []inspectedRelease     `json:"releases,omitempty"`
	Missing  int                    `json:"missing,omitempty"` // images that the source did not have
	Blocked  int                    `json:"blocked,omitempty"`
	Notes    []string               `json:"notes,omitempty"`
}

type inspectedCatalog struct {
	Name     string   `json:"name"`
	Image    string   `json:"image"`
	Packages []string `json:"packages"`
}

type inspectedRelease struct {
	Name       string        `json:"name"`
	Image      string        `json:"image"`
	Digest     digest.Digest `json:"digest"`
	Unverified bool          `json:"unverified,omitempty"`
}

func (a *app) archiveInspect(ctx context.Context, f *archiveFlags, form string, args []string) error {
	if err := a.form(form, outputText, outputJSON); err != nil {
		return err
	}
	have, err := a.lookInto(f, args)
	if err != nil {
		return err
	}
	defer func() { _ = have.Close() }() // only read from
	newest := have.Newest()
	result := &inspected{
		Version: 1, Folders: args, Name: newest.Series, Sequence: newest.Sequence, Set: newest.Set, Signature: signatureOf(have),
	}
	for _, s := range have.Sets() {
		result.add(s)
	}
	if err := result.addOthers(args); err != nil {
		return err
	}
	switch p, err := carry.ReadPlan(ctx, have); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		result.Plan = inspectPlan(p, have.PlanDigest())
	case errors.Is(err, fs.ErrNotExist) && carry.EarlierThan(have) != nil:
		result.PlanProblem = "it is the plan of an earlier archive, which is not here"
	default:
		result.PlanProblem = err.Error()
	}
	if a.output == outputJSON {
		return a.encode(result)
	}
	return a.text(result.text())
}

func (r *inspected) add(s archive.SetInfo) {
	set := inspectedSet{
		Sequence: s.Sequence, Set: s.Set, Repair: s.Repair, Manifest: s.Manifest, Folder: s.Dir, Parent: s.Parent, Plan: s.Plan,
		VolumeSize: s.VolumeSize, Features: s.Features, Content: s.Content, Bytes: s.ContentBytes,
		Encrypted: s.Encrypted, Locked: s.Locked,
		Elsewhere: s.Elsewhere, elsewhereBytes: s.ElsewhereBytes,
	}
	for _, b := range s.BuildsOn {
		set.BuildsOn = append(set.BuildsOn, inspectedBase(b))
	}
	for _, v := range s.Volumes {
		set.Volumes = append(set.Volumes, inspectedVolume(v))
		if v.Problem != "" {
			r.Missing++
		}
	}
	r.Sets = append(r.Sets, set)
}

// addOthers notes the archives that this one has nothing to do with.
func (r *inspected) addOthers(args []string) error {
	dirs, err := folders("", args)
	if err != nil {
		return err
	}
	all, err := archive.Sequences(dirs...)
	if err != nil {
		return err
	}
	for _, sequence := range all {
		if !slices.ContainsFunc(r.Sets, func(s inspectedSet) bool { return s.Sequence == sequence }) {
			r.Others = append(r.Others, sequence)
		}
	}
	return nil
}

func inspectPlan(p *plan.Plan, d digest.Digest) *inspectedPlan {
	in := &inspectedPlan{
		Digest: d, Totals: p.Totals, Images: map[plan.ImageKind]int{}, Catalogs: []inspectedCatalog{},
		Missing: len(p.Missing), Blocked: len(p.Blocked), Notes: p.Notes,
	}
	for i := range p.Images {
		in.Images[p.Images[i].Kind]++
	}
	for _, c := range p.Catalogs {
		x := inspectedCatalog{Name: c.Name(), Image: c.Repository + ":" + c.Tag, Packages: []string{}}
		for _, pkg := range c.Packages {
			x.Packages = append(x.Packages, pkg.Name)
		}
		in.Catalogs = append(in.Catalogs, x)
	}
	for _, r := range p.Releases {
		in.Releases = append(in.Releases, inspectedRelease{r.Name(), r.Repository + ":" + r.Tag, r.Digest, r.Unverified})
	}
	return in
}

// title names a set.
func (s *inspectedSet) title() string {
	switch {
	case s.Repair:
		return fmt.Sprintf("Repair of sequence %d", s.Sequence)
	case s.Folder == "":
		return fmt.Sprintf("Sequence %d, which it builds on, is not here: %s", s.Sequence, s.Set)
	}
	return fmt.Sprintf("Sequence %d", s.Sequence)
}

func (r *inspected) text() string {
	var b strings.Builder
	signed := "nobody"
	if r.Signature != nil {
		signed = strings.TrimPrefix(strings.TrimPrefix(signedText(*r.Signature), "the archive is signed "), "by ")
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "Archive\t%s\n", strings.Join(r.Folders, ", "))
	name := fmt.Sprintf("of %q", r.Name)
	if slices.ContainsFunc(r.Sets, func(s inspectedSet) bool { return s.Locked && s.Set == r.Set }) {
		name = "of a name that is encrypted"
	}
	fmt.Fprintf(t, "Sequence\t%d %s\n", r.Sequence, name)
	fmt.Fprintf(t, "Set manifest\t%s\n", r.Set)
	fmt.Fprintf(t, "Signed by\t%s\n", signed)
	_ = t.Flush() // into memory
	for i := range r.Sets {
		r.Sets[i].write(&b)
	}
	if len(r.Others) > 0 {
		fmt.Fprintf(&b, "\nAlso in the folder, and looked into with --sequence: %s\n", strings.Trim(fmt.Sprint(r.Others), "[]"))
	}
	r.writePlan(&b)
	return trimmed(b.String())
}

// write tells of a set and its volumes.
func (s *inspectedSet) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", s.title())
	if s.Folder == "" {
		return
	}
	content := number(s.Content, "manifest or blob", "manifests and blobs") + " (" + progress.Bytes(s.Bytes) + ")"
	if s.Locked {
		content = "encrypted"
	}
	fmt.Fprintf(b, "  %s in %s, volumes of at most %s\n", content,
		number(len(s.Volumes), "volume", "volumes"), progress.Bytes(s.VolumeSize))
	if len(s.BuildsOn) > 0 {
		var on []string
		for _, base := range s.BuildsOn {
			on = append(on, strconv.Itoa(base.Sequence))
		}
		fmt.Fprintf(b, "  builds on sequence %s", strings.Join(on, ", "))
		if s.Elsewhere > 0 {
			fmt.Fprintf(b, ", which brought %s (%s) that new images share", number(s.Elsewhere, "manifest or blob", "manifests and blobs"), progress.Bytes(s.elsewhereBytes))
		}
		b.WriteString("\n")
	}
	if len(s.Features) > 0 {
		fmt.Fprintf(b, "  format features: %s\n", strings.Join(s.Features, ", "))
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, v := range s.Volumes {
		where := printable(v.Path)
		if v.Problem != "" {
			where = strings.ToUpper(v.Problem[:1]) + v.Problem[1:]
			if v.Path != "" {
				where = printable(v.Path) + ": " + v.Problem
			}
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", v.Name, progress.Bytes(v.Size), where)
	}
	_ = t.Flush() // into memory
}

func (r *inspected) writePlan(b *strings.Builder) {
	b.WriteString("\n")
	p := r.Plan
	if p == nil {
		fmt.Fprintf(b, "The plan cannot be read: %s.\n", r.PlanProblem)
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "Plan\t%s\n", p.Digest)
	fmt.Fprintf(t, "Images\t%d\t(%s)\n", p.Totals.Images, kinds(p.Images))
	fmt.Fprintf(t, "Content\t%s\t(%d manifests, %d blobs, each counted once)\n", progress.Bytes(p.Totals.Bytes), p.Totals.Manifests, p.Totals.Blobs)
	_ = t.Flush() // into memory
	for _, c := range p.Catalogs {
		fmt.Fprintf(b, "Catalog %s\n  becomes %s\n", printable(c.Name), printable(c.Image))
		var names []string
		for _, name := range c.Packages {
			names = append(names, printable(name))
		}
		list(b, names)
	}
	if len(p.Releases) > 0 {
		b.WriteString("Platform releases\n")
		var names []string
		for _, r := range p.Releases {
			name := printable(r.Name)
			if r.Unverified {
				name += "  " + notVerified
			}
			names = append(names, name)
		}
		list(b, names)
	}
	if p.Missing > 0 {
		fmt.Fprintf(b, "Missing at the source: %s\n", number(p.Missing, "image", "images"))
	}
	if p.Blocked > 0 {
		fmt.Fprintf(b, "Blocked by the configuration: %s\n", number(p.Blocked, "image", "images"))
	}
}
