package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// A run with Options.Installed records what clusters run, in the record of the mirror and in the workspace. A later
// run of the image set without these files keeps the upgrade paths from there, and no run replaces a catalog by one
// in which a recorded operator has no upgrade path. Options.ForgetInstalled says that the record is out of date.
// Records of versions that did not have it are completed from the plan, whose selections list the operators.

// recall completes what clusters run by what is recorded of it, each kind that Options.Installed does not have. The
// destination may be nil.
func recall(ctx context.Context, s *workspace.Session, t site.Destination, o *selection.Selection, name string, selected *selection.Selected) error {
	m := &selected.Config.Mirror
	if o.ForgetInstalled || len(m.Operators) == 0 && m.Platform == nil || len(selected.Clusters) > 0 && len(selected.Releases) > 0 {
		return nil
	}
	known, err := recordedClusters(ctx, s, t, name)
	if err == nil && known == nil {
		known, err = plannedClusters(s, name)
		s.Before.Clusters = known
	}
	if err != nil || known == nil {
		return err
	}
	if len(selected.Clusters) == 0 {
		selected.Recorded.Operators = known.Operators
	}
	if len(selected.Releases) == 0 {
		selected.Recorded.Releases = known.Releases
	}
	if n := len(selected.Recorded.Operators); n > 0 {
		s.Env.Noticef("keeping the upgrade paths of %s (%s) that clusters ran when Options.Installed was last given; give it again to update this, or Options.ForgetInstalled if it is out of date",
			env.Number(n, "operator", "operators"), FirstNames(selected.Recorded.Operators))
	}
	return nil
}

// FirstNames returns the names of the first operators.
func FirstNames(all []state.ClusterOperator) string {
	const most = 3
	var names []string
	for _, o := range all[:min(len(all), most)] {
		names = append(names, cmp.Or(o.Bundle, o.Package+" "+o.Version))
	}
	text := strings.Join(names, ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// recordedClusters returns what clusters run according to the last run of an image set, nil if it is unknown.
func recordedClusters(ctx context.Context, s *workspace.Session, t site.Destination, name string) (*state.Clusters, error) {
	if s.Before == nil || s.Before.Name != name {
		c, err := readClusters(ctx, s, t, name)
		if err != nil {
			return nil, err
		}
		s.Before = &workspace.ClustersBefore{Name: name, Clusters: c}
	}
	return s.Before.Clusters, nil
}

func readClusters(ctx context.Context, s *workspace.Session, t site.Destination, name string) (*state.Clusters, error) {
	if t != nil && t.Registry() != nil {
		if c, err := clustersAt(ctx, s, t.Registry(), name); c != nil || err != nil {
			return c, err
		}
	}
	return s.Clusters(name)
}

// plannedClusters returns what the last plan of the workspace says about clusters, nil if it has none.
func plannedClusters(s *workspace.Session, name string) (*state.Clusters, error) {
	p, err := readAndClose(s.OpenPlan(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		s.Env.Logger().Info("reading the last plan of the workspace", "name", name, "error", err)
		return nil, nil
	}
	return clustersOf(p, nil)
}

// readAndClose reads the plan in a file that was opened, or returns the error of that.
func readAndClose(text io.ReadCloser, err error) (*plan.Plan, error) {
	if err != nil {
		return nil, err
	}
	p, err := plan.Read(text)
	return p, errors.Join(err, text.Close())
}

// clustersAt returns what the record of the mirror says about clusters, or else the plan of the current revision; nil if it
// has neither.
func clustersAt(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, name string) (*state.Clusters, error) {
	connected, err := t.IsReached(ctx)
	if err == nil {
		err = site.KnowRecords(ctx, s, t, !connected)
	}
	if err != nil {
		return nil, err
	}
	mine, _, err := site.Records(s, t, name)
	if err != nil {
		return nil, err
	}
	if mine != nil && (mine.Clusters != nil || len(mine.Catalogs)+len(mine.Releases) == 0) {
		return mine.Clusters, nil
	}
	set, ok := t.Recorded[name]
	if !ok || !connected {
		return nil, nil
	}
	p, err := readAndClose(setrecord.OpenPlan(ctx, t.ImageSets(), &set.Revision))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		s.Env.Warnf("the operators that clusters ran at the last run are unknown: reading the plan of the mirror: %v", err)
		return nil, nil
	}
	return clustersOf(p, nil)
}

// clustersOf returns the operators that the selections of a plan contain, without those of a configuration, which may
// be nil.
func clustersOf(p *plan.Plan, cfg *imageset.Config) (*state.Clusters, error) {
	c := &state.Clusters{}
	for _, k := range p.Catalogs {
		op, err := imageset.ParseOperator(k.Selection)
		if err != nil {
			return nil, fmt.Errorf("reading the selection of catalog %s: %w", k.Source, err)
		}
		all := op.Installed
		if cfg != nil {
			all = all[min(len(all), configuredIn(cfg, &op)):]
		}
		for _, in := range all {
			o := state.ClusterOperator{Package: in.Package, Bundle: in.Bundle, Version: in.Version, Channel: in.Channel}
			if !slices.Contains(c.Operators, o) {
				c.Operators = append(c.Operators, o)
			}
		}
	}
	return c, nil
}

// configuredIn returns how many installed operators a configuration lists for a catalog. They are the first ones in the
// selection of a plan.
func configuredIn(cfg *imageset.Config, of *imageset.Operator) int {
	for i := range cfg.Mirror.Operators {
		op := &cfg.Mirror.Operators[i]
		if op.Catalog == of.Catalog && op.TargetCatalog == of.TargetCatalog && op.TargetTag == of.TargetTag {
			return len(op.Installed)
		}
	}
	return 0
}

// FindClusters finds what clusters run, as far as a run of a plan knows it. The record of the mirror gets it with the rest,
// and the workspace after that. made is what the plan was made from; nil for a plan that is read.
func FindClusters(ctx context.Context, s *workspace.Session, t site.Destination, p *plan.Plan, made *selection.Selected) error {
	before, err := recordedClusters(ctx, s, t, p.Name)
	if err != nil {
		return err
	}
	s.Recording, err = clustersAfter(p, made, before)
	return err
}

// clustersAfter returns what a run of a plan records; nil if the plan has nothing that clusters update.
func clustersAfter(p *plan.Plan, selected *selection.Selected, before *state.Clusters) (*state.Clusters, error) {
	if len(p.Catalogs)+len(p.Releases) == 0 {
		return nil, nil
	}
	if selected == nil {
		c, err := clustersOf(p, nil)
		if err != nil {
			return nil, err
		}
		// An archive that is mirrored in part names operators of packages that the mirror never had.
		c.Operators = slices.DeleteFunc(c.Operators, func(o state.ClusterOperator) bool { return !before.Runs(o.Package) && !hasPackage(p, o.Package) })
		if before != nil {
			c.Releases = before.Releases
			nameGenerations(c.Operators, before.Operators)
		}
		return c, nil
	}
	c, err := clustersOf(p, selected.Config)
	if err != nil {
		return nil, err
	}
	var known []state.ClusterOperator
	for _, o := range selected.Clusters {
		in := o.Entry()
		known = append(known, state.ClusterOperator{Package: in.Package, Bundle: in.Bundle, Version: in.Version, Channel: in.Channel, OLM: generationName(o.Generation)})
	}
	nameGenerations(c.Operators, append(known, selected.Recorded.Operators...))
	c.Releases = selected.Recorded.Releases
	for _, r := range selected.Running() {
		c.Releases = append(slices.Clip(c.Releases), state.ClusterRelease{Version: r.Version, Channel: r.Channel, Arch: r.Arch})
	}
	return c, nil
}

func hasPackage(p *plan.Plan, name string) bool {
	return slices.ContainsFunc(p.Catalogs, func(c plan.Catalog) bool {
		return slices.ContainsFunc(c.Packages, func(p plan.Package) bool { return p.Name == name })
	})
}

// nameGenerations sets the generation of OLM of operators that are known to have one.
func nameGenerations(all, known []state.ClusterOperator) {
	for i := range all {
		o := &all[i]
		for _, k := range known {
			if k.Bundle == o.Bundle && k.Version == o.Version && k.Channel == o.Channel && (k.Package == o.Package || k.Package == "") {
				if o.OLM != "" && o.OLM != k.OLM { // some clusters have the one, some the other
					o.OLM = ""
					break
				}
				o.OLM = k.OLM
			}
		}
	}
}

func generationName(g graph.Generation) string {
	if g == graph.V1 {
		return state.OLMV1
	}
	return state.OLMClassic
}

// RecordedOperators returns recorded operators as a cluster would report them. One whose generation of OLM is unknown
// is returned for both.
func RecordedOperators(all []state.ClusterOperator) []installed.Operator {
	var operators []installed.Operator
	for _, o := range all {
		in := entryOf(o)
		if o.OLM != state.OLMV1 {
			operators = append(operators, installed.Of(in, graph.Classic))
		}
		if o.OLM != state.OLMClassic {
			operators = append(operators, installed.Of(in, graph.V1))
		}
	}
	return operators
}

// entryOf returns a recorded operator as a configuration has it.
func entryOf(o state.ClusterOperator) imageset.Installed {
	return imageset.Installed{Pos: imageset.Position{File: theRecord}, Package: o.Package, Bundle: o.Bundle, Version: o.Version, Channel: o.Channel}
}

// RunningOperators are what is known of the operators that clusters run.
type RunningOperators struct {
	// All are those of Options.Installed, or else the recorded ones. Mirrored are those of them whose packages the last
	// run mirrored.
	All, Mirrored []installed.Operator
}

// Running returns which operators clusters run. made is what the plan was made from, or nil.
func Running(ctx context.Context, s *workspace.Session, t site.Destination, o *selection.Selection, made *selection.Selected, name string) (RunningOperators, error) {
	var r RunningOperators
	if made != nil {
		r.All = made.Clusters
	}
	if o.ForgetInstalled {
		return r, nil
	}
	c, err := recordedClusters(ctx, s, t, name)
	if err != nil || c == nil {
		return r, err
	}
	recorded := RecordedOperators(c.Operators)
	if len(r.All) == 0 {
		return RunningOperators{recorded, recorded}, nil
	}
	for _, o := range recorded {
		if slices.ContainsFunc(r.All, func(is installed.Operator) bool { return is.Package == o.Package }) {
			r.Mirrored = append(r.Mirrored, o)
		}
	}
	return r, nil
}

// theRecord names what recorded operators were read from.
const theRecord = "the record of what clusters run"

// operators returns the operators whose upgrade paths a plan keeps: those of Options.Installed, or else the recorded ones.
func operators(s *selection.Selected) []installed.Operator {
	all := slices.Clone(s.Clusters)
	for _, o := range s.Recorded.Operators {
		all = append(all, installed.Of(entryOf(o), graph.Classic)) // both generations are followed in a plan
	}
	return all
}

// releases returns the releases from which a plan keeps the update paths, in the same way.
func releases(s *selection.Selected) []build.Cluster {
	all := s.Running()
	for _, r := range s.Recorded.Releases {
		all = append(all, build.Cluster{Version: r.Version, Channel: r.Channel, Arch: r.Arch, Where: theRecord})
	}
	return all
}

// MadeFrom returns what a plan is made from: nothing if it is the one of an archive.
func MadeFrom(selected *selection.Selected, have *archive.Archive) *selection.Selected {
	if have != nil {
		return nil
	}
	return selected
}
