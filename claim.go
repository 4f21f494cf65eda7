package gantry

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

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan"
)

// A name identifies one configuration of a workspace. The workspace keeps the configuration's plan,
// and the record of each mirror, under that name, and a run replaces what the previous run of the
// same name left there. The name is the one of the configuration's file, or PlanOptions.Name.
//
// Two configurations may have files with the same name. PlanOptions.Name decides, if it is given.
// Otherwise a file at another path is the same configuration if the file that the workspace
// remembers is gone (it was moved) or has the same text (another checkout). An archive does not
// contain the path of the configuration. There, and as a second check here, a plan that has none of
// the catalogs that the mirror has under this name is considered another configuration.

// claim returns an error if the name belongs to another configuration of the workspace.
func (s *Session) claim(given, config, name string) error {
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
	return inputHint(
		fmt.Sprintf("set Options.Name to another name, or to %s if this configuration replaces that one", name),
		"%s: the name %q belongs to another configuration in this workspace, %s", config, name, before)
}

// keepClaim saves which configuration the name belongs to.
func (s *Session) keepClaim(config, name string) error {
	path, err := filepath.Abs(config)
	if err != nil {
		return err
	}
	return s.SaveConfiguration(name, path)
}

// maxCompared is the maximum size of two configurations that are compared, in bytes.
const maxCompared = 16 << 20

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
	if earlier.Size() != here.Size() || earlier.Size() > maxCompared {
		return false, nil
	}
	a, _, errA := regular.ReadPath(before, maxCompared)
	b, _, errB := regular.ReadPath(now, maxCompared)
	return errA == nil && errB == nil && bytes.Equal(a, b), nil
}

// admit returns an error if a plan would remove content of other image sets from the destination. For a
// registry, it returns the cluster resources if everything is copied. It changes nothing.
func (s *Session) admit(ctx context.Context, t Destination, p *plan.Plan, given string, opts manifestOptions) (*clusterResources, error) {
	switch t := t.(type) {
	case *RegistryDestination:
		return s.admitTo(t, p, given, opts)
	case *archiveDestination:
		return nil, t.export.CheckSeries(ctx, p)
	}
	return nil, nil
}

// admitTo returns an error if a plan would replace catalogs of other image sets in a mirror, or if
// its manifests are invalid.
func (s *Session) admitTo(t *RegistryDestination, p *plan.Plan, given string, opts manifestOptions) (*clusterResources, error) {
	if err := t.nameAll(p); err != nil {
		return nil, err
	}
	before, others, err := s.records(t, p.Name)
	if err != nil {
		return nil, err
	}
	if before != nil {
		t.format = before.Format
	}
	mine := mirror.NewRecord(p, t.names, &mirror.Report{}, before)
	if before != nil && given == "" {
		if gone := state.Abandoned(*before, mine); len(gone) > 0 {
			return nil, inputHint(
				fmt.Sprintf("if this is another configuration, set Options.Name to another name; if those catalogs are no longer wanted, set Options.Name to %s", p.Name),
				"the mirror has %s of a configuration called %q, and this one of that name has none of them", strings.Join(gone, ", "), p.Name)
		}
	}
	if before != nil && given == "" && t.otherOwner(p.Name) != "" && !t.sharesRepository(p, before) {
		return nil, inputHint(
			fmt.Sprintf("set Options.Name to another name, or to %s if this configuration replaces that one", p.Name),
			"the mirror has an image set called %q of another workspace, mirrored by %s, and this configuration has nothing in common with it", p.Name, t.otherOwner(p.Name))
	}
	var conflict *state.ConflictError
	if err := state.CheckConflicts(mine, others); errors.As(err, &conflict) {
		return nil, s.ownerOf(t, conflict)
	}
	s.warnReplacedTags(t, p, others)
	if err := s.CheckResources(t.Key()); err != nil {
		return nil, err
	}
	report := &mirror.Report{}
	for _, whole := range namesMissing(p) {
		report.Withheld = append(report.Withheld, mirror.Withheld{Catalog: whole.Catalog, Release: whole.Release})
	}
	return s.resources(t, p, report, opts)
}

// admitAgain returns the error of admitTo if another run changed the records of a mirror before this one got
// the lease.
func (s *Session) admitAgain(ctx context.Context, t *RegistryDestination, p *plan.Plan, given string, opts manifestOptions) error {
	if t.recordProblem != nil {
		return nil //nolint:nilerr // syncRecords sent the warning
	}
	before := t.recorded
	if err := s.syncRecords(ctx, t); err != nil {
		return err
	}
	if maps.EqualFunc(before, t.recorded, func(a, b recordedSet) bool { return a.Tag() == b.Tag() }) {
		return nil
	}
	_, err := s.admitTo(t, p, given, opts)
	return err
}

// ownerOf adds the path of the other configuration to the error, if the workspace knows it, or who mirrored it
// from another workspace.
func (s *Session) ownerOf(t *RegistryDestination, conflict *state.ConflictError) error {
	if by := t.otherOwner(conflict.Owner); by != "" {
		return fmt.Errorf("%w (mirrored by %s)", conflict, by)
	}
	path, err := s.Configuration(conflict.Owner)
	if err != nil || path == "" {
		return conflict
	}
	return fmt.Errorf("%w (%s)", conflict, path)
}
