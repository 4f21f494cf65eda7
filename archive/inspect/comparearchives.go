package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// CompareArchivesOptions says which archives CompareArchives compares.
type CompareArchivesOptions struct {
	// Folders are the folders of the old and the new archive, each as file://DIR. One folder may have
	// both.
	Folders []string
	// Sequence has the numbers of the old and the new archive. 0 is the newest. The default is the
	// newest of each folder, or the last two of one folder.
	Sequence []int
	// Read says with which signatures and identities archives are read.
	Read archive.OpenOptions
}

// An ArchiveDifference is what changed from one archive to another. Its JSON is what gantry archive
// diff --output json prints.
type ArchiveDifference struct {
	Version int             `json:"version"`
	Old     ComparedArchive `json:"old"`
	New     ComparedArchive `json:"new"`
	plan.Difference
}

// A ComparedArchive is one of the archives that were compared.
type ComparedArchive struct {
	Archive  string        `json:"archive"`
	Name     string        `json:"name"`
	Sequence int           `json:"sequence"`
	Plan     digest.Digest `json:"plan"`
}

// CompareArchives compares the plans of two archives. Content that an archive omits because an earlier
// archive has it counts as part of it. Only the volumes with the plans are read.
func CompareArchives(ctx context.Context, o CompareArchivesOptions) (*ArchiveDifference, error) {
	if len(o.Folders) < 1 || len(o.Folders) > 2 {
		return nil, env.InputHint("write file://OLD file://NEW, or one folder with both", "comparing archives requires one or two folders")
	}
	old := open.Options{Folders: o.Folders[:1], Read: o.Read}
	now := open.Options{Folders: o.Folders[len(o.Folders)-1:], Read: o.Read}
	switch {
	case len(o.Sequence) == 2:
		old.Sequence, now.Sequence = o.Sequence[0], o.Sequence[1]
	case len(o.Sequence) != 0:
		return nil, env.InputHint("give two numbers: OLD,NEW", "Options.Sequence %s", strings.Trim(fmt.Sprint(o.Sequence), "[]"))
	case len(o.Folders) == 1:
		var err error
		if old.Sequence, err = SecondNewest(o.Folders[0]); err != nil {
			return nil, err
		}
	}
	d := &ArchiveDifference{Version: 1}
	before, err := OutlineArchive(ctx, old, now.Folders, &d.Old)
	if err != nil {
		return nil, err
	}
	after, err := OutlineArchive(ctx, now, old.Folders, &d.New)
	if err != nil {
		return nil, err
	}
	d.Difference = *plan.Compare(before, after)
	return d, nil
}

// SecondNewest returns the number of the second newest archive in a folder.
func SecondNewest(folder string) (int, error) {
	dirs, err := open.Folders("", []string{folder})
	if err != nil {
		return 0, err
	}
	sequences, err := archive.Sequences(dirs...)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, advice.Wrap(advice.Input, err, "")
	case err != nil:
		return 0, err
	case len(sequences) < 2:
		return 0, env.InputHint("name another folder to compare it with", "%s has only one archive", folder)
	}
	return sequences[len(sequences)-2], nil
}

// OutlineArchive returns the outline of the plan of one archive, and describes the archive in c. An archive that had nothing
// to carry leaves its plan out: it is then read from the archive in other, the folders of the one to compare with.
func OutlineArchive(ctx context.Context, o open.Options, other []string, c *ComparedArchive) (*plan.Outline, error) {
	have, err := open.Archive(o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	s := have.Selected()
	*c = ComparedArchive{Archive: o.Folders[0], Name: s.Series, Sequence: s.Sequence, Plan: have.PlanDigest()}
	p, err := airgap.OpenedPlan(ctx, have)
	if err == nil {
		return p.Outline(), nil
	}
	if !errors.Is(err, os.ErrNotExist) || len(s.BuildsOn) == 0 {
		return nil, err
	}
	o.Sequence, o.Folders = s.Sequence, slices.Concat(o.Folders, other)
	if both, openErr := open.Archive(o); openErr == nil {
		defer func() { _ = both.Close() }() // only read from
		if p, readErr := airgap.OpenedPlan(ctx, both); readErr == nil && both.Selected().SetRef == s.SetRef {
			return p.Outline(), nil
		}
	}
	last := s.BuildsOn[len(s.BuildsOn)-1]
	return nil, env.InputHint(fmt.Sprintf("name the folder of gantry-%06d in its place: both have one plan", last.Sequence),
		"%s had nothing to carry in sequence %d, so that its plan is only in an earlier archive", c.Archive, s.Sequence)
}
