package gantry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/build"
)

// PlanOptions says what Plan plans. Config is required.
type PlanOptions struct {
	Env *Env
	Selection
	ReleaseTrust
	ImageTrust
	// Name is the name of the configuration in the workspace, and of its plan. The default is the
	// name of its file.
	Name string
	// Workspace is the folder for plans and the cache. The default is DefaultWorkspace.
	Workspace string
	// Destination, if not empty, is what the plan is compared with.
	Destination string
	// RemoveSignatures leaves out the signatures and other referrers of images, as mirror.signatures:
	// remove does.
	RemoveSignatures bool
	// MaxNestedPaths is how many path components a registry allows; 0 is no limit.
	MaxNestedPaths int
}

// A PlanResult is a plan, and the part of it that a destination does not have.
type PlanResult struct {
	Plan *plan.Plan
	// Destination is the one of the options.
	Destination string
	// ToCopy is what the destination does not have; nil without a destination.
	ToCopy *mirror.ToCopy
	// Resources are the cluster resources that a run would write; nil without a registry.
	Resources *ResourceFiles
	// Trial is set if the plan was not saved in the workspace, because Installed or Dependencies of
	// the options change what the configuration asks for.
	Trial bool
	// Verified is what the signature policy found; nil if none was applied.
	Verified *VerifiedSignatures
	// Warnings are those about the configuration.
	Warnings []ConfigProblem
}

// Plan resolves everything that a configuration asks for, and saves the plan in the workspace, unless
// Installed or Dependencies make it a trial. It copies nothing. If images are missing at their sources, it returns the plan and a *PartialError.
func Plan(ctx context.Context, o PlanOptions) (*PlanResult, error) {
	e, done := o.Env.orDefault()
	defer done()
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	selected, err := o.Selection.loadConfig(e)
	if err != nil {
		return nil, err
	}
	if err := o.ReleaseTrust.check(); err != nil {
		return nil, err
	}
	trust, err := e.imagePolicy(o.ImageTrust)
	if err != nil {
		return nil, err
	}
	var t Destination
	if o.Destination != "" {
		if t, err = e.OpenDestination(o.Destination, DestinationOptions{MaxNestedPaths: o.MaxNestedPaths}); err != nil {
			return nil, err
		}
	}
	s, err := e.OpenSession(workspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.release()
	p, err := planned(ctx, t, false, func(ctx context.Context) (*plan.Plan, error) { return s.makePlan(ctx, o, trust, selected, !o.any()) })
	if err != nil {
		return nil, err
	}
	result := &PlanResult{Plan: p, Destination: o.Destination, Trial: o.any(), Verified: s.accepted.summary(), Warnings: ConfigProblems(selected.Config.Warnings)}
	if t != nil {
		if to, ok := t.(*archiveDestination); ok {
			if err := e.prepareExport(ctx, s, to, airgap.ExportOptions{}, p); err != nil {
				return nil, err
			}
		}
		if r := t.Registry(); r != nil {
			if err := s.nameObjects(r, workspaceDir(o.Workspace), p.Name, "", false); err != nil {
				return nil, err
			}
		}
		expected, err := s.admit(ctx, t, p, o.Name, manifestOptions{})
		if err != nil {
			return nil, err
		}
		if expected != nil {
			if result.Resources, err = s.previewResources(t.Registry(), expected); err != nil {
				return nil, err
			}
		}
		if result.ToCopy, err = t.Compare(ctx, p); err != nil {
			return nil, err
		}
	}
	if len(p.Missing) > 0 {
		return result, newPlannedError(p, "")
	}
	return result, nil
}

// workspaceDir returns the folder that Options.Workspace names.
func workspaceDir(workspace string) string {
	return strings.TrimPrefix(cmp.Or(workspace, DefaultWorkspace), ArchiveScheme)
}

// makePlan makes the plan of a configuration, and saves it in the workspace if save is set. The saved
// plan is what the configuration asks for or what was copied: other commands use it as that.
func (s *Session) makePlan(ctx context.Context, o PlanOptions, trust *imagePolicy, selected *Selected, save bool) (*plan.Plan, error) {
	e := s.env
	streams, err := e.Streams()
	if err != nil {
		return nil, err
	}
	name := planName(o.Name, o.Config)
	if err := s.claim(o.Name, o.Config, name); err != nil {
		return nil, err
	}
	platform := selected.Config.Mirror.Platform
	updates := e.NewUpdates(s.client, platform, o.ReleaseTrust)
	if wantsReleases(platform) && !o.IgnoreReleaseSignature {
		if err := updates.check(); err != nil {
			return nil, err
		}
	}
	e.say("planning %s", o.Config)
	var done, images atomic.Int64
	stop := e.show("planning", func() progress.Reading {
		return progress.Reading{Images: images.Load(), ImagesDone: done.Load()}
	})
	from := s.sources.Plan()
	from.Releases = updates
	closeCharts, err := s.addCharts(&from, selected.Config.Mirror.Helm)
	if err != nil {
		return nil, err
	}
	defer closeCharts()
	e.warnTrust(o.ReleaseTrust, wantsReleases(platform))
	p, err := build.Plan(ctx, selected.Config, name, from, build.Options{
		Jobs: streams, Log: e.logger(), Warn: func(text string) { e.warn("%s", text) }, Installed: selected.Operators, Clusters: selected.running(), Now: time.Now(), IgnoreReleaseSignature: o.IgnoreReleaseSignature, RemoveSignatures: o.RemoveSignatures,
		Progress: func(n, of int) { done.Store(max(done.Load(), int64(n))); images.Store(int64(of)) },
	})
	stop()
	if err == nil {
		p, err = s.acceptSources(ctx, trust, p)
	}
	if err == nil && trust != nil && (o.RemoveSignatures || selected.Config.Mirror.Signatures == imageset.RemoveSignatures) {
		p, err = p.WithoutSignatures()
	}
	if err != nil {
		return nil, err
	}
	if !save {
		return p, nil
	}
	if err := s.SavePlan(p.Name, p.Write); err != nil {
		return nil, err
	}
	return p, s.keepClaim(o.Config, name)
}

// wantsReleases reports whether a configuration asks for platform releases.
func wantsReleases(cfg *imageset.Releases) bool {
	return cfg != nil && (len(cfg.Channels) > 0 || cfg.Release != "")
}

// ReadPlan reads a plan from a file.
func ReadPlan(path string) (*plan.Plan, error) {
	f, err := regular.OpenInput(path)
	if err != nil {
		return nil, inputf("Options.Plan: %w", err)
	}
	p, err := plan.Read(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, inputf("%s: %w", path, err)
	}
	if err := state.VerifyPlan(path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// loadPlan reads a plan, and rebuilds the catalogs of it that are not in the cache of the
// workspace.
func (s *Session) loadPlan(ctx context.Context, path string, trust ReleaseTrust) (*plan.Plan, error) {
	p, err := ReadPlan(path)
	if err != nil {
		return nil, err
	}
	if err := s.verifyReleases(p, trust); err != nil {
		return nil, err
	}
	if g := p.GraphData; g != nil {
		present, err := s.cached(ctx, p, g.Digest, true)
		if err == nil && !present {
			err = s.rebuildGraph(ctx, g)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.rebuildIndexes(ctx, p); err != nil {
		return nil, err
	}
	for _, c := range p.Catalogs {
		if !c.Built {
			continue
		}
		if present, err := s.cached(ctx, p, c.Digest, false); err != nil {
			return nil, err
		} else if present {
			continue
		}
		s.env.say("building catalog %s again", c.Source)
		if err := build.RebuildCatalog(ctx, c, p.Rewritten(), s.sources.Plan()); err != nil {
			return nil, err
		}
	}
	if err := s.rebuildCharts(ctx, p); err != nil {
		return nil, err
	}
	return p, s.rebuildFiles(ctx, p)
}
