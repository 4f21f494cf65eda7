package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/plan"
)

// verifyFlags are those of gantry verify.
type verifyFlags struct {
	inputs
	sides
	trust          trustFlags
	from           []string
	maxNestedPaths int
	blobs          bool
}

// A mismatchError says that what was verified is not as it should be; the list
// has been printed.
type mismatchError struct{ text string }

func (e *mismatchError) Error() string { return e.text }

func (a *app) verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify {file://DIR... | oci://DIR | {-c FILE | --plan FILE | --from file://DIR} docker://HOST[:PORT][/PREFIX]}",
		Short: "Check an archive or a layout byte by byte, or a mirror image by image",
		Long: `Verify changes nothing. Of an archive it reads every byte once and names each
volume and entry that is not as it was written, with the images that this breaks;
volumes may lie in several folders, and earlier archives and repairs beside them.
Of an encrypted archive it does the same without an identity, but knows no images.
Of a layout it reads every blob and names those that are not as their digests say,
and the images of the plan that are not listed; without a plan, those count that
the layout lists.
Of a mirror it asks for every image of the plan, under its tags and with all its
platforms, and lists what is lacking. A registry takes no image without its blobs;
whether its storage lost some since, --blobs finds out with a request for each in
each repository, and gantry mirror --check-blobs mends. The plan is that of a configuration, of
gantry plan -o, or of the archive that was mirrored from.

` + exitStatusHelp,
		Example: `  gantry verify file:///media/disk
  gantry verify file:///media/disk1 file:///media/disk2
  gantry verify --verify-key ops.pub file:///media/disk
  gantry verify -c imageset.yaml docker://mirror.example.com:5000/ocp
  gantry verify -c imageset.yaml --blobs docker://mirror.example.com:5000/ocp
  gantry verify --plan plan.json docker://mirror.example.com:5000
  gantry verify -c imageset.yaml oci://layout
  gantry verify --from file:///media/disk docker://mirror.example.com:5000`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verify(cmd.Context(), f, args)
		},
	}
	f.inputs.addFlags(c.Flags())
	f.sides.addFlags(c.Flags())
	f.trust.addFlags(c.Flags())
	c.Flags().StringVar(&f.plan, "plan", "", "compare with this plan, as gantry plan -o wrote it")
	c.Flags().StringSliceVar(&f.from, "from", nil, "compare with the plan of the archive in this folder (file://DIR; may be repeated, or with commas)")
	c.Flags().IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "path components that the mirror allows, as it was mirrored with; 0 is no limit")
	c.Flags().BoolVar(&f.blobs, "blobs", false, "ask the mirror for every blob, too, and name the images that lost some")
	return c
}

func (a *app) verify(ctx context.Context, f verifyFlags, all []string) error {
	where := all[0]
	var dirs []string
	for _, other := range all {
		dir, isFile := strings.CutPrefix(other, fileScheme)
		if len(all) > 1 && (!isFile || dir == "") {
			return usageHint("write file://DIR for each of its folders, or name one mirror", "only an archive is in several places, and %q is no folder of one", other)
		}
		dirs = append(dirs, dir)
	}
	given := 0
	for _, s := range []string{f.config, f.plan, strings.Join(f.from, "")} {
		if s != "" {
			given++
		}
	}
	layoutDir, isLayout := strings.CutPrefix(where, ociScheme)
	switch dir, isFile := strings.CutPrefix(where, fileScheme); {
	case isFile && f.blobs:
		return usageHint("leave it out: every byte of an archive is read", "--blobs is for docker://")
	case isFile && dir != "" && given > 0:
		return usageHint("leave -c, --plan and --from out", "the plan of an archive is in it")
	case isFile && dir != "":
		return a.verifyArchive(ctx, dirs, &f.trust)
	case isLayout && f.blobs:
		return usageHint("leave it out: every byte of a layout is read", "--blobs is for docker://")
	case isLayout && layoutDir != "" && given <= 1:
	case !strings.HasPrefix(where, dockerScheme) && !isLayout || isLayout && layoutDir == "":
		return usageHint("write file://DIR for an archive, oci://DIR for a layout, docker://HOST[:PORT][/PREFIX] for a mirror", "%q cannot be verified", where)
	case given != 1:
		return usageHint("give one of -c imageset.yaml, --plan plan.json and --from file://DIR", "what should be in %s", where)
	}
	switch {
	case f.name != "" && f.config == "":
		return usageHint("leave it out", "--name is for a configuration, and the plan has a name")
	case f.given() && f.config == "":
		return errNoSelection
	}
	if _, err := folders("--from ", f.from); err != nil {
		return err
	}
	if err := f.trust.check(len(f.from) > 0); err != nil {
		return err
	}
	t, err := a.target(where, targetOptions{sides: &f.sides, maxNestedPaths: f.maxNestedPaths, checkBlobs: f.blobs})
	if err != nil {
		return err
	}
	if isLayout && given == 0 {
		return a.verifyLayout(ctx, nil, layoutDir, 0)
	}
	p, err := a.verifiedPlan(ctx, f, t.registry())
	if err != nil {
		return err
	}
	if isLayout {
		return a.verifyLayout(ctx, p, layoutDir, 0)
	}
	return a.verifyRegistry(ctx, t.registry(), p, where)
}

// verifiedPlan makes or reads the plan that a mirror is compared with; t is nil for a
// layout.
func (a *app) verifiedPlan(ctx context.Context, f verifyFlags, t *registryTarget) (*plan.Plan, error) {
	switch {
	case f.plan != "":
		return readPlan(f.plan)
	case len(f.from) > 0:
		dirs, err := folders("--from ", f.from)
		if err != nil {
			return nil, err
		}
		have, err := a.inspectArchive(&f.trust, dirs...)
		if err != nil {
			return nil, err
		}
		defer func() { _ = have.Close() }() // only read from
		a.saySigned(have)
		p, err := carry.ReadPlan(ctx, have)
		if errors.Is(err, os.ErrNotExist) && t != nil {
			return a.planBefore(f, t, have, err)
		}
		return p, err
	}
	if err := f.load(); err != nil {
		return nil, err
	}
	s, err := a.open(f.inputs, &f.sides)
	if err != nil {
		return nil, err
	}
	defer a.leave(s)
	return a.makePlan(ctx, f.inputs, s, &f.sides)
}

// inspectArchive opens the archive in dirs, which may be damaged, if it is signed as
// it has to be.
func (a *app) inspectArchive(trust *trustFlags, dirs ...string) (*archive.Archive, error) {
	opts, err := a.reading(trust)
	if err != nil {
		return nil, err
	}
	have, err := archive.InspectWith(opts, dirs...)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &usageError{err}
	}
	return have, refusal(err)
}

// planBefore is the plan of an archive that leaves it out, as the workspace kept it when
// the mirror got it; lacks says that it is left out.
func (a *app) planBefore(f verifyFlags, t *registryTarget, have *archive.Archive, lacks error) (*plan.Plan, error) {
	if _, err := os.Stat(strings.TrimPrefix(f.workspace, fileScheme)); errors.Is(err, os.ErrNotExist) {
		return carry.ImportedPlan(nil, t.key(), have, lacks) // without making one
	}
	s, err := a.open(f.inputs, &f.sides)
	if err != nil {
		return nil, err
	}
	defer a.leave(s)
	return carry.ImportedPlan(s.Workspace, t.key(), have, lacks)
}

// verifiedMirror is what gantry verify --output json prints of a mirror.
type verifiedMirror struct {
	Version     int           `json:"version"`
	Destination string        `json:"destination"`
	Images      int           `json:"images"` // that should be there
	Lacking     []mirror.Lack `json:"lacking"`
}

func (a *app) verifyRegistry(ctx context.Context, t *registryTarget, p *plan.Plan, where string) error {
	sink, err := t.sink(p)
	if err != nil {
		return err
	}
	total := len(p.Images) + len(p.Missing)
	what := number(total, "image", "images")
	if t.checkBlobs {
		what += " and " + number(len(p.Blobs), "blob", "blobs")
	}
	a.say("looking for %s at %s", what, where)
	lacks, err := mirror.Verify(ctx, p, sink, mirror.Options{Streams: t.streams, Log: a.log, CheckBlobs: t.checkBlobs})
	if err != nil {
		return err
	}
	if a.output == outputJSON {
		err = a.encode(verifiedMirror{Version: 1, Destination: where, Images: total, Lacking: append([]mirror.Lack{}, lacks...)})
	} else {
		err = a.text(t.lackTable(lacks, total, where))
	}
	if err != nil || len(lacks) == 0 {
		return err
	}
	hint := "mirror again to bring them"
	if slices.ContainsFunc(lacks, func(l mirror.Lack) bool { return len(l.Blobs) > 0 }) {
		hint = "mirror again with --check-blobs to bring them"
	}
	return &hintError{&mismatchError{fmt.Sprintf("%d of %d images are not in the mirror as planned", len(lacks), total)}, ": ", hint}
}

func (t *registryTarget) lackTable(lacks []mirror.Lack, total int, where string) string {
	var b strings.Builder
	if len(lacks) == 0 {
		blobs := ""
		if t.checkBlobs {
			blobs = ", with every blob"
		}
		fmt.Fprintf(&b, "All %d images are at %s%s.\n", total, where, blobs)
		return b.String()
	}
	fmt.Fprintf(&b, "Lacking at %s\n", where)
	var lines []string
	for _, l := range lacks {
		line := l.Source
		if l.Repository != "" {
			line += "\n      as " + t.names[l.Repository].Name() + ":" + strings.Join(l.Tags, ", ")
		}
		lines = append(lines, line+"\n      "+l.Problem)
	}
	list(&b, lines)
	return b.String()
}
