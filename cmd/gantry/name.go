package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan"
)

// A name stands for one configuration: under it the workspace keeps its plan and
// what each mirror holds of it, and a run replaces what the run before of that
// name left there. It is the name of the configuration's file, or --name.
//
// Two configurations may have files of one name. Who gives --name says which one
// is meant, and is believed. Otherwise a file elsewhere is the same configuration
// where the one that the workspace remembers is gone (it was moved) or has the
// same text (another checkout). What comes in an archive has no folder: there,
// and as a second line here, a plan that keeps none of the catalogs that the
// mirror holds of its name is taken for another configuration's.

// maxName bounds --name, in letters; file names of a plan have it in them.
const maxName = 100

// checkName refuses a --name that cannot name files.
func (in *inputs) checkName() error {
	if in.name != "" && (safeName(in.name) != in.name || len(in.name) > maxName) {
		return usageHint(fmt.Sprintf("use up to %d letters, digits, dots, dashes and underscores, a letter or digit first", maxName), "--name %q", in.name)
	}
	return nil
}

// planName is what the configuration is called: --name, or its file name without
// folder and ending, as a name for files.
func (in *inputs) planName() string {
	if in.name != "" {
		return in.name
	}
	base := filepath.Base(in.config)
	return safeName(strings.TrimSuffix(base, filepath.Ext(base)))
}

// rename gives a plan that was read the name that was asked for.
func (in *inputs) rename(p *plan.Plan) *plan.Plan {
	if in.name == "" || p == nil {
		return p
	}
	named := *p
	named.Name = in.name
	return &named
}

// claim refuses a name that stands for another configuration of the workspace.
func (s *session) claim(in inputs, name string) error {
	if in.name != "" {
		return nil
	}
	before, err := s.Configuration(name)
	if err != nil || before == "" {
		return err
	}
	same, err := sameConfiguration(before, in.config)
	if err != nil || same {
		return err
	}
	return usageHint(
		fmt.Sprintf("give this one a name of its own with --name, or --name %s where it takes the place of that one", name),
		"%s: the name %q stands for another configuration in this workspace, %s", in.config, name, before)
}

// keepClaim remembers which configuration the name stands for now.
func (s *session) keepClaim(in inputs, name string) error {
	path, err := filepath.Abs(in.config)
	if err != nil {
		return err
	}
	return s.SaveConfiguration(name, path)
}

// maxCompared is up to which size two configurations are compared, in bytes.
const maxCompared = 16 << 20

// sameConfiguration reports whether the configuration that lay at before is the
// one at now: the same file, a copy, or gone from there.
func sameConfiguration(before, now string) (bool, error) {
	path, err := filepath.Abs(now)
	if err != nil || path == before {
		return err == nil, err
	}
	there, unseen := os.Stat(before)
	switch {
	case errors.Is(unseen, fs.ErrNotExist), errors.Is(unseen, syscall.ENOTDIR), unseen == nil && !there.Mode().IsRegular():
		return true, nil
	case there == nil:
		return false, nil // there is something that may not be looked at
	}
	here, err := os.Stat(now)
	if err != nil || os.SameFile(there, here) {
		return err == nil, err
	}
	if there.Size() != here.Size() || there.Size() > maxCompared {
		return false, nil
	}
	a, errA := os.ReadFile(before)
	b, errB := os.ReadFile(now)
	return errA == nil && errB == nil && bytes.Equal(a, b), nil
}

// admit refuses a plan that would take from others what they have at the target.
// Nothing has been touched there yet.
func (s *session) admit(ctx context.Context, t target, p *plan.Plan, in inputs, opts resources.Options) error {
	switch t := t.(type) {
	case *registryTarget:
		return s.admitTo(t, p, in, opts)
	case *archiveTarget:
		return t.next.Admit(ctx, p)
	}
	return nil
}

// admitTo refuses a plan that would take catalogs of a mirror away from others,
// or whose manifests no cluster would take.
func (s *session) admitTo(t *registryTarget, p *plan.Plan, in inputs, opts resources.Options) error {
	if err := t.nameAll(p); err != nil {
		return err
	}
	before, others, err := s.holdings(t, p.Name)
	if err != nil {
		return err
	}
	mine := mirror.Hold(p, t.names, &mirror.Report{}, before)
	if before != nil && in.name == "" {
		if gone := mirror.Abandoned(*before, mine); len(gone) > 0 {
			return usageHint(
				fmt.Sprintf("where this is another configuration, give it a name of its own with --name; where those catalogs are to go, say --name %s", p.Name),
				"the mirror holds %s of a configuration called %q, and this one of that name has none of them", strings.Join(gone, ", "), p.Name)
		}
	}
	var clash *mirror.ClashError
	if err := mirror.Clash(mine, others); errors.As(err, &clash) {
		return &hintError{s.whose(clash), "; ", fmt.Sprintf(
			"give one of the two a targetCatalog or targetTag of its own, merge the two configurations, or say --name %s where this one takes the place of that one", clash.Other)}
	}
	_, err = s.resources(t, p, &mirror.Report{}, opts)
	return err
}

// whose adds where the other configuration lies, as far as the workspace knows.
func (s *session) whose(clash *mirror.ClashError) error {
	path, err := s.Configuration(clash.Other)
	if err != nil || path == "" {
		return clash
	}
	return fmt.Errorf("%w (%s)", clash, path)
}
