package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// DiffOptions says what Diff compares. Old is required. New is the second text, or what Config asks for. Without
// both, the last two revisions of a mirror, or the last two archives of a folder, are compared.
type DiffOptions struct {
	Env *env.Env
	selection.Selection
	updates.ReleaseTrust
	// Old and New are docker://HOST[:PORT][/PREFIX], file://DIR or the file of a plan.
	Old, New string
	// Name is the image set of a mirror. The default is the one with the name of what it is compared with, if
	// the mirror has it, and otherwise all together.
	Name string
	// Workspace is the folder for the cache of plans that are made of Config. The default is
	// env.DefaultWorkspace.
	Workspace string
	// MaxNestedPaths is how many path components a registry allows; 0 is no limit.
	MaxNestedPaths int
	// Read has the signing policy and the identities that archives are read with.
	Read archive.OpenOptions
}

// A ContentDifference is what changed from one content to another. Its JSON is what gantry diff --output json
// prints.
type ContentDifference struct {
	Version int             `json:"version"`
	Old     ComparedContent `json:"old"`
	New     ComparedContent `json:"new"`
	plan.Difference
}

// ComparedContent is one of the two that were compared.
type ComparedContent struct {
	// Kind is configuration, plan, archive or mirror, and Source its file, folder or registry.
	Kind   string `json:"kind"`
	Source string `json:"source"`
	// Name is the name of a plan or archive; "" for a mirror.
	Name string `json:"name,omitempty"`
	// Sequence is the number of an archive.
	Sequence int `json:"sequence,omitempty"`
	// ImageSets are those of a mirror.
	ImageSets []ComparedSet `json:"imageSets,omitempty"`
	// Missing is how many images of the plan of a configuration are unavailable at their sources.
	Missing int `json:"missing,omitempty"`
}

// A ComparedSet is an image set of a mirror that was compared.
type ComparedSet struct {
	Name string `json:"name"`
	// Revision is the number of the compared revision.
	Revision int `json:"revision"`
	// Deprecated: Turn is Revision under the key of earlier versions.
	Turn int           `json:"turn"`
	Plan digest.Digest `json:"plan"`
}

// Diff compares what configurations, plans, archives and the image sets of mirrors contain. Nothing is
// changed. The plan of a configuration is made, and not saved.
func Diff(ctx context.Context, o DiffOptions) (*ContentDifference, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if err := o.check(); err != nil {
		return nil, err
	}
	d := &ContentDifference{Version: 1}
	before, after, err := o.outlines(ctx, e, d)
	if err != nil {
		return nil, err
	}
	d.Difference = *plan.Compare(before, after)
	return d, nil
}

func (o *DiffOptions) check() error {
	switch {
	case o.Old == "":
		return env.InputHint("name a plan, docker://HOST[:PORT][/PREFIX] or file://DIR", "nothing to compare with")
	case o.Config != "" && o.New != "":
		return env.InputHint("leave one of them out", "Options.Config and Options.New both say what is new")
	case o.Config == "" && o.Any():
		return selection.ErrNoSelection()
	case strings.HasPrefix(o.Old, env.LayoutScheme), strings.HasPrefix(o.New, env.LayoutScheme):
		return env.InputHint("compare the plan, which gantry plan wrote", "a layout has no plan")
	case o.Config == "" && o.New == "" && !strings.HasPrefix(o.Old, env.RegistryScheme) && !strings.HasPrefix(o.Old, env.ArchiveScheme):
		return env.InputHint("name another plan, docker://HOST[:PORT][/PREFIX] or file://DIR, or set Options.Config", "nothing to compare %s with", o.Old)
	}
	return nil
}

// outlines returns the two outlines, and describes what they are of in d. Mirrors are read last, because the
// name of the other one selects their image set.
func (o *DiffOptions) outlines(ctx context.Context, e *env.Env, d *ContentDifference) (before, after *plan.Outline, err error) {
	if o.New == "" && o.Config == "" {
		return o.lastTwo(ctx, e, d)
	}
	readNew := func(name string) (*plan.Outline, error) {
		if o.Config != "" {
			return o.outlineConfig(ctx, e, &d.New)
		}
		return o.outline(ctx, e, o.New, name, &d.New)
	}
	if strings.HasPrefix(o.Old, env.RegistryScheme) {
		if after, err = readNew(""); err == nil {
			before, err = o.outline(ctx, e, o.Old, d.New.Name, &d.Old)
		}
		return before, after, err
	}
	if before, err = o.outline(ctx, e, o.Old, "", &d.Old); err == nil {
		after, err = readNew(d.Old.Name)
	}
	return before, after, err
}

// outline returns the outline of what a text names. like is the name of what it is compared with.
func (o *DiffOptions) outline(ctx context.Context, e *env.Env, what, like string, c *ComparedContent) (*plan.Outline, error) {
	switch {
	case strings.HasPrefix(what, env.ArchiveScheme):
		return o.outlineArchive(ctx, what, 0, c)
	case strings.HasPrefix(what, env.RegistryScheme):
		t, err := o.mirror(e, what)
		if err != nil {
			return nil, err
		}
		revisions, err := o.revisions(ctx, t, like)
		if err != nil {
			return nil, err
		}
		return outline(ctx, t, revisions, c)
	}
	p, err := signing.ReadPlan(what)
	if err != nil {
		return nil, err
	}
	*c = ComparedContent{Kind: "plan", Source: what, Name: p.Name, Missing: len(p.Missing)}
	return p.Outline(), nil
}

func (o *DiffOptions) outlineArchive(ctx context.Context, folder string, sequence int, c *ComparedContent) (*plan.Outline, error) {
	var a inspect.ComparedArchive
	outline, err := inspect.OutlineArchive(ctx, open.Options{Folders: []string{folder}, Sequence: sequence, Read: o.Read}, nil, &a)
	*c = ComparedContent{Kind: "archive", Source: folder, Name: a.Name, Sequence: a.Sequence}
	return outline, err
}

// outlineConfig makes the plan of the configuration.
func (o *DiffOptions) outlineConfig(ctx context.Context, e *env.Env, c *ComparedContent) (*plan.Outline, error) {
	p, err := planning.PlanConfig(ctx, e, planning.Options{Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, Name: o.Name, Workspace: o.Workspace})
	if err != nil {
		return nil, err
	}
	*c = ComparedContent{Kind: "configuration", Source: o.Config, Name: p.Name, Missing: len(p.Missing)}
	return p.Outline(), nil
}

// mirror opens a mirror.
func (o *DiffOptions) mirror(e *env.Env, what string) (*site.RegistryDestination, error) {
	return site.OpenMirror(e, what, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
}

// revisions returns the current revisions of the image sets that are compared: the one of DiffOptions.Name, or the one with
// the name like, or all.
func (o *DiffOptions) revisions(ctx context.Context, t *site.RegistryDestination, like string) ([]setrecord.Revision, error) {
	revisions, err := currentRevisions(ctx, t, o.Name)
	if err != nil {
		return nil, err
	}
	if len(revisions) == 0 {
		return nil, env.InputHint("mirror to it first; the next run of each configuration writes them", "%s has no records of image sets", t)
	}
	if i := slices.IndexFunc(revisions, func(s setrecord.Revision) bool { return s.Name == like }); i >= 0 {
		return revisions[i : i+1], nil
	}
	return revisions, nil
}

// outline returns the outline of revisions together.
func outline(ctx context.Context, t *site.RegistryDestination, revisions []setrecord.Revision, c *ComparedContent) (*plan.Outline, error) {
	*c = ComparedContent{Kind: "mirror", Source: t.String()}
	var all []*plan.Outline
	for i := range revisions {
		p, err := site.ReadRecordedPlan(ctx, t.ImageSets(), &revisions[i])
		if err != nil {
			return nil, err
		}
		all = append(all, p.Outline())
		c.ImageSets = append(c.ImageSets, ComparedSet{Name: revisions[i].Name, Revision: revisions[i].Number, Turn: revisions[i].Number, Plan: revisions[i].Plan})
	}
	return plan.JoinOutlines(all...), nil
}

// lastTwo returns the outlines of the last two archives of a folder, or of the last two revisions of an image set.
func (o *DiffOptions) lastTwo(ctx context.Context, e *env.Env, d *ContentDifference) (before, after *plan.Outline, err error) {
	if strings.HasPrefix(o.Old, env.ArchiveScheme) {
		sequence, err := inspect.SecondNewest(o.Old)
		if err == nil {
			before, err = o.outlineArchive(ctx, o.Old, sequence, &d.Old)
		}
		if err == nil {
			after, err = o.outlineArchive(ctx, o.Old, 0, &d.New)
		}
		return before, after, err
	}
	t, err := o.mirror(e, o.Old)
	if err != nil {
		return nil, nil, err
	}
	revisions, err := o.revisions(ctx, t, "")
	if err != nil {
		return nil, nil, err
	}
	if len(revisions) > 1 {
		var names []string
		for i := range revisions {
			names = append(names, revisions[i].Name)
		}
		return nil, nil, env.InputHint("set Options.Name to one of them", "%s has several image sets: %s", t, strings.Join(names, ", "))
	}
	earlier, err := revisionsBefore(ctx, t, &revisions[0])
	if err != nil {
		return nil, nil, err
	}
	if len(earlier) == 0 {
		return nil, nil, env.InputHint("name what to compare it with", "the image set %q of %s has only one revision", revisions[0].Name, t)
	}
	if before, err = outline(ctx, t, earlier[:1], &d.Old); err == nil {
		after, err = outline(ctx, t, revisions, &d.New)
	}
	return before, after, err
}

// String describes what was compared in a sentence.
func (c *ComparedContent) String() string {
	switch c.Kind {
	case "archive":
		return fmt.Sprintf("sequence %d of %q in %s", c.Sequence, c.Name, c.Source)
	case "mirror":
		sets := elements.Map(c.ImageSets, func(s ComparedSet) string { return fmt.Sprintf("%s (revision %d)", s.Name, s.Revision) })
		return c.Source + ", " + strings.Join(sets, ", ")
	}
	return c.Kind + " " + c.Source
}
