package report

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// StatusOptions says which mirror Status reads.
type StatusOptions struct {
	Env *env.Env
	// Mirror is docker://HOST[:PORT][/PREFIX].
	Mirror string
	// Name is an image set; "" is all.
	Name string
	// Revisions also reads the earlier revisions of each image set.
	Revisions bool
	// Workspace is the folder of the workspace, for Page; usually "".
	Workspace string
	// MaxNestedPaths is how many path components the registry allows; 0 is no limit.
	MaxNestedPaths int
}

// A MirrorState lists the image sets of a mirror. Its JSON is what gantry status docker://HOST -o json prints.
type MirrorState struct {
	Version   int           `json:"version"`
	Mirror    string        `json:"mirror"`
	ImageSets []MirroredSet `json:"imageSets"`
	// Pending are runs that push, or that ended before they were recorded. They are listed until a later run of the image
	// set is recorded.
	Pending []setrecord.Pending `json:"pending,omitempty"`
	// Total is what all image sets need, with content that several need counted for each.
	Total setrecord.Content `json:"total"`
}

// A MirroredSet is an image set in a mirror.
type MirroredSet struct {
	setrecord.Revision
	// Revisions are the earlier revisions, the newest first; only if they were requested.
	Revisions []setrecord.Revision `json:"earlier,omitempty"`
}

// Status reads the records that a mirror has of its image sets. It needs no workspace. If some records
// cannot be read, it returns the others and an error.
func Status(ctx context.Context, o StatusOptions) (*MirrorState, error) {
	e, done := o.Env.OrDefault()
	defer done()
	t, err := site.OpenMirror(e, o.Mirror, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
	if err != nil {
		return nil, err
	}
	revisions, failed := currentRevisions(ctx, t, o.Name)
	if revisions == nil && failed != nil {
		return nil, adviseUnreadable(t, failed)
	}
	s := &MirrorState{Version: 1, Mirror: t.String(), ImageSets: []MirroredSet{}}
	for _, revision := range revisions {
		set := MirroredSet{Revision: revision}
		if o.Revisions {
			earlier, err := revisionsBefore(ctx, t, &revision)
			failed, set.Revisions = errors.Join(failed, err), earlier
		}
		s.ImageSets = append(s.ImageSets, set)
		add(&s.Total, revision.Content)
	}
	pending, err := setrecord.AllPending(ctx, t.ImageSets())
	failed = errors.Join(failed, err)
	for _, run := range pending {
		recorded := func(revision setrecord.Revision) bool { return revision.Name == run.Name && revision.Runs > run.Runs }
		if (o.Name == "" || o.Name == run.Name) && !slices.ContainsFunc(revisions, recorded) {
			s.Pending = append(s.Pending, run)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s, adviseUnreadable(t, failed)
}

// adviseUnreadable adds a hint to the error of records that cannot be read, unless it has one. What usually helps if a
// registry fails does not, if only a record fails.
func adviseUnreadable(t *site.RegistryDestination, err error) error {
	e, ok := errors.AsType[*remote.Error](err)
	record := ok && e.Hint == "" && strings.HasPrefix(e.Op, "reading ")
	if err == nil || !record && advice.Hint(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	return advice.Wrap(advice.KindOf(err), err, "run again; if the error stays, the registry lost or altered what the record consists of: delete the tags of that record in "+t.ImageSets().Repository().Name()+", and run gantry mirror for the image set, which writes its record again")
}

// currentRevisions returns the current revisions of the image sets of a mirror, or of one image set, which must exist.
func currentRevisions(ctx context.Context, t *site.RegistryDestination, name string) ([]setrecord.Revision, error) {
	if name == "" {
		return setrecord.Current(ctx, t.ImageSets())
	}
	listed, err := listed(ctx, t, name)
	if err != nil {
		return nil, err
	}
	revision, err := setrecord.CurrentOf(ctx, t.ImageSets(), listed)
	if err != nil {
		return nil, err
	}
	return []setrecord.Revision{*revision}, nil
}

// listed returns an image set in the list of a mirror.
func listed(ctx context.Context, t *site.RegistryDestination, name string) (*setrecord.Listed, error) {
	sets, err := setrecord.List(ctx, t.ImageSets())
	if err != nil {
		return nil, err
	}
	for i := range sets {
		if sets[i].Tag == setrecord.Tag(name) {
			return &sets[i], nil
		}
	}
	return nil, env.InputHint("gantry status "+t.String()+" lists those that it has", "%s has no record of the image set %q", t, name)
}

// revisionsBefore returns the revisions of an image set before the current one, the newest first.
func revisionsBefore(ctx context.Context, t *site.RegistryDestination, current *setrecord.Revision) ([]setrecord.Revision, error) {
	listed, err := listed(ctx, t, current.Name)
	if err != nil {
		return nil, err
	}
	all, err := setrecord.History(ctx, t.ImageSets(), listed)
	var before []setrecord.Revision
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Tag() != current.Tag() {
			before = append(before, all[i])
		}
	}
	return before, err
}

// add adds the numbers of one image set to a sum.
func add(sum *setrecord.Content, c setrecord.Content) {
	sum.Catalogs += c.Catalogs
	sum.Packages += c.Packages
	sum.Releases += c.Releases
	sum.Images += c.Images
	sum.Charts += c.Charts
	sum.Files += c.Files
	sum.Bytes += c.Bytes
	sum.Missing += c.Missing
	sum.Withheld += c.Withheld
}
