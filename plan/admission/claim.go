package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// A name identifies one configuration of a workspace. The workspace keeps the configuration's plan,
// and the record of each mirror, under that name, and a run replaces what the previous run of the
// same name left there. The name is the one of the configuration's file, or planning.Options.Name.
//
// Two configurations may have files with the same name. That option decides, if it is given.
// Otherwise a file at another path is the same configuration if the file that the workspace
// remembers is gone (it was moved) or has the same text (another checkout). An archive does not
// contain the path of the configuration. There, and as a second check here, a plan that has none of
// the catalogs that the mirror has under this name is considered another configuration.

// Claim returns an error if the name belongs to another configuration of the workspace.
func Claim(s *workspace.Session, given, config, name string) error {
	if given != "" {
		return nil
	}
	before, err := s.Configuration(name)
	if err != nil || before == "" {
		return err
	}
	same, err := sameConfiguration(before, config)
	if err != nil || same {
		return err
	}
	return env.InputHint(
		fmt.Sprintf("set Options.Name to another name, or to %s if this configuration replaces that one", name),
		"%s: the name %q belongs to another configuration in this workspace, %s", config, name, before)
}

// KeepClaim saves which configuration the name belongs to.
func KeepClaim(s *workspace.Session, config, name string) error {
	path, err := filepath.Abs(config)
	if err != nil {
		return err
	}
	return s.SaveConfiguration(name, path)
}

// sameConfiguration reports whether the file now is the configuration that was at the path before:
// the same file, a copy of it, or one that was moved.
func sameConfiguration(before, now string) (bool, error) {
	path, err := filepath.Abs(now)
	if err != nil || path == before {
		return err == nil, err
	}
	earlier, err := os.Stat(before)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && !earlier.Mode().IsRegular():
		return true, nil
	case err != nil:
		return false, nil //nolint:nilerr // it exists, but cannot be accessed
	}
	here, err := os.Stat(now)
	if err != nil || os.SameFile(earlier, here) {
		return err == nil, err
	}
	if earlier.Size() != here.Size() || earlier.Size() > selection.MaxCompared {
		return false, nil
	}
	a, _, errA := regular.ReadPath(before, selection.MaxCompared)
	b, _, errB := regular.ReadPath(now, selection.MaxCompared)
	return errA == nil && errB == nil && bytes.Equal(a, b), nil
}

// Admit returns an error if a plan would remove content of other image sets from the destination. For a
// registry, it returns the cluster resources if everything is copied. It changes nothing.
func Admit(ctx context.Context, s *workspace.Session, t site.Destination, p *plan.Plan, given string, opts cluster.ManifestOptions) (*cluster.Manifests, error) {
	switch t := t.(type) {
	case *site.RegistryDestination:
		return admitTo(s, t, p, given, opts)
	case *site.ArchiveDestination:
		return nil, t.Export.CheckSeries(ctx, p)
	}
	return nil, nil
}

// admitTo returns an error if a plan would replace catalogs of other image sets in a mirror, or if
// its manifests are invalid.
func admitTo(s *workspace.Session, t *site.RegistryDestination, p *plan.Plan, given string, opts cluster.ManifestOptions) (*cluster.Manifests, error) {
	if err := t.NameAll(p); err != nil {
		return nil, err
	}
	before, others, err := site.Records(s, t, p.Name)
	if err != nil {
		return nil, err
	}
	if before != nil {
		t.Format = before.Format
	}
	mine := mirror.NewRecord(p, t.Names, &mirror.Report{}, before)
	if before != nil && given == "" {
		if gone := state.Abandoned(*before, mine); len(gone) > 0 {
			return nil, env.InputHint(
				fmt.Sprintf("if this is another configuration, set Options.Name to another name; if those catalogs are no longer wanted, set Options.Name to %s", p.Name),
				"the mirror has %s of a configuration called %q, and this one of that name has none of them", strings.Join(gone, ", "), p.Name)
		}
	}
	if before != nil && given == "" && t.OtherOwner(p.Name) != "" && !t.SharesRepository(p, before) {
		return nil, env.InputHint(
			fmt.Sprintf("set Options.Name to another name, or to %s if this configuration replaces that one", p.Name),
			"the mirror has an image set called %q of another workspace, mirrored by %s, and this configuration has nothing in common with it", p.Name, t.OtherOwner(p.Name))
	}
	var conflict *state.ConflictError
	if err := state.CheckConflicts(mine, others); errors.As(err, &conflict) {
		return nil, ownerOf(s, t, conflict)
	}
	warnReplacedTags(s, t, p, others)
	if err := s.CheckResources(t.Key()); err != nil {
		return nil, err
	}
	report := &mirror.Report{}
	for _, whole := range site.NamesMissing(p) {
		report.Withheld = append(report.Withheld, mirror.Withheld{Catalog: whole.Catalog, Release: whole.Release})
	}
	return cluster.NewManifests(s, t, p, report, opts)
}

// AdmitAgain returns the error of admitTo if another run changed the records of a mirror before this one got
// the lease.
func AdmitAgain(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, p *plan.Plan, given string, opts cluster.ManifestOptions) error {
	if t.RecordProblem != nil {
		return nil //nolint:nilerr // site.SyncRecords sent the warning
	}
	before := t.Recorded
	if err := site.SyncRecords(ctx, s, t); err != nil {
		return err
	}
	if maps.EqualFunc(before, t.Recorded, func(a, b site.RecordedSet) bool { return a.Tag() == b.Tag() }) {
		return nil
	}
	_, err := admitTo(s, t, p, given, opts)
	return err
}

// ownerOf adds the path of the other configuration to the error, if the workspace knows it, or who mirrored it
// from another workspace.
func ownerOf(s *workspace.Session, t *site.RegistryDestination, conflict *state.ConflictError) error {
	if by := t.OtherOwner(conflict.Owner); by != "" {
		return fmt.Errorf("%w (mirrored by %s)", conflict, by)
	}
	path, err := s.Configuration(conflict.Owner)
	if err != nil || path == "" {
		return conflict
	}
	return fmt.Errorf("%w (%s)", conflict, path)
}
