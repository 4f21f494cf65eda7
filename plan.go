package gantry

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/build"
)

// PlanOptions says what Plan plans. Config is required.
type PlanOptions struct {
	Env *Env
	Selection
	ReleaseTrust
	ImageTrust
	Gates
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
	// Errata reads the labels of images for PlanResult.Errata. The configs of images are requested once, and kept in
	// the cache of the workspace.
	Errata bool
	// MaxNestedPaths is how many path components a registry allows; 0 is no limit.
	MaxNestedPaths int
	// OnStrand is the one of MirrorOptions. With OnStrandRefuse, Plan returns its result and an error if a run
	// would be refused, also because a catalog is older, unless AllowOlder is set. It requires Destination.
	OnStrand   string
	AllowOlder bool
	// everyTag requests all tags of signatures, also those that the last plan has.
	everyTag bool
}

// A PlanResult is a plan, and the part of it that a destination does not have.
type PlanResult struct {
	Plan *plan.Plan
	// Digest is the one of the plan as it is written.
	Digest digest.Digest
	// Destination is the one of the options.
	Destination string
	// ToCopy is what the destination does not have; nil without a destination.
	ToCopy *mirror.ToCopy
	// Deltas is what an archive would compare with what the site has; nil for other destinations.
	Deltas *PlannedDeltas
	// Resources are the cluster resources that a run would write; nil without a registry.
	Resources *ResourceFiles
	// Trial is set if the plan was not saved in the workspace, because Installed or Dependencies of
	// the options change what the configuration asks for.
	Trial bool
	// Verified is what the signature policy found; nil if none was applied.
	Verified *VerifiedSignatures
	// Gate is what the gate decided about images; nil without one.
	Gate *GateResult
	// Errata are those of the plan; nil without PlanOptions.Errata.
	Errata *Errata
	// Warnings are those about the configuration.
	Warnings []ConfigProblem
	// Replaced are the catalogs that replace others at the destination.
	Replaced []ReplacedCatalog
}

// planConfig makes the plan of the configuration that o names, by o's Selection, ReleaseTrust, Name and Workspace. It is not saved.
func (e *Env) planConfig(ctx context.Context, o PlanOptions) (*plan.Plan, error) {
	selected, err := o.Selection.loadConfig(e)
	if err != nil {
		return nil, err
	}
	if err := o.ReleaseTrust.check(); err != nil {
		return nil, err
	}
	s, err := e.OpenSession(workspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.release()
	return s.makePlan(ctx, nil, o, nil, nil, selected, false)
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
	if err := errors.Join(o.ReleaseTrust.check(), checkOnStrand(o.OnStrand)); err != nil {
		return nil, err
	}
	if o.OnStrand == OnStrandRefuse && o.Destination == "" {
		return nil, inputHint("name a destination", "Options.OnStrand compares the catalogs with those of a destination")
	}
	if o.AllowOlder && o.OnStrand != OnStrandRefuse {
		return nil, inputHint("leave it out", "Options.AllowOlder is for Options.OnStrand "+OnStrandRefuse+": otherwise older catalogs are only listed")
	}
	if strings.HasPrefix(o.Destination, LayoutScheme) && (o.OnStrand == OnStrandRefuse || o.AllowOlder) {
		return nil, errLayoutCompared()
	}
	if err := o.checkFormatOf(o.Destination); err != nil {
		return nil, err
	}
	trust, err := e.imagePolicy(o.ImageTrust)
	if err != nil {
		return nil, err
	}
	gates, err := e.findGates(o.Gates)
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
	p, err := planned(ctx, t, false, func(ctx context.Context) (*plan.Plan, error) {
		return s.makePlan(ctx, t, o, trust, gates, selected, !o.any())
	})
	if err != nil {
		return nil, err
	}
	sum, err := p.Digest()
	if err != nil {
		return nil, err
	}
	if err := s.passPlanGate(ctx, gates, p, sum); err != nil {
		return nil, err
	}
	result := &PlanResult{Gate: gates.answers(), Plan: p, Digest: sum, Destination: o.Destination, Trial: o.any(), Verified: trust.accepted().summary(), Warnings: ConfigProblems(selected.Config.Warnings)}
	if o.Errata {
		if result.Errata, err = s.planErrata(ctx, p); err != nil {
			return nil, err
		}
	}
	if t != nil {
		if to, ok := t.(*archiveDestination); ok {
			if err := e.prepareExport(ctx, s, to, airgap.ExportOptions{Deltas: &airgap.DeltaOptions{}}, p); err != nil {
				return nil, err
			}
		}
		if r := t.Registry(); r != nil {
			if err := s.knowRecords(ctx, r, false); err != nil {
				return nil, err
			}
			if err := s.nameObjects(r, workspaceDir(o.Workspace), p.Name, "", false); err != nil {
				return nil, err
			}
		}
		expected, err := s.admit(ctx, t, p, o.Name, manifestOptions{accepted: trust.accepted()})
		if err != nil {
			return nil, err
		}
		if expected != nil {
			if result.Resources, err = s.previewResources(t.Registry(), expected); err != nil {
				return nil, err
			}
		}
		running, err := s.running(ctx, t, &o.Selection, selected, p.Name)
		if err != nil {
			return nil, err
		}
		replaced := &replacedReader{session: s, to: t, images: s.sources.Origin, originals: true, running: running.all}
		if result.Replaced, err = replaced.compare(ctx, p); err != nil {
			return nil, err
		}
		if result.ToCopy, err = t.Compare(ctx, p); err != nil {
			return nil, err
		}
		if result.Deltas, err = plannedDeltas(t, p); err != nil {
			return nil, err
		}
		if o.OnStrand == OnStrandRefuse {
			if err := refuseOlder(result.Replaced, o.AllowOlder); err != nil {
				return result, err
			}
		}
		if err := refuseStranded(result.Replaced, o.OnStrand); err != nil {
			return result, err
		}
	}
	if len(p.Missing) > 0 {
		return result, newPlannedError(p, "")
	}
	return result, nil
}

// workspaceDir returns the folder of an option Workspace.
func workspaceDir(workspace string) string {
	return strings.TrimPrefix(cmp.Or(workspace, DefaultWorkspace), ArchiveScheme)
}

// makePlan makes the plan of a configuration, and saves it in the workspace if save is set. The saved
// plan is what the configuration asks for or what was copied: other commands use it as that. t, which may be nil, is where it
// is copied to: it has the record of what clusters run.
func (s *Session) makePlan(ctx context.Context, t Destination, o PlanOptions, trust *imagePolicy, g *gates, selected *Selected, save bool) (*plan.Plan, error) {
	e := s.env
	streams, err := e.Streams()
	if err != nil {
		return nil, err
	}
	name := planName(o.Name, o.Config)
	if err := s.claim(o.Name, o.Config, name); err != nil {
		return nil, err
	}
	if err := s.recall(ctx, t, &o.Selection, name, selected); err != nil {
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
	minAge, err := o.minAgeOf(selected.Config)
	if err != nil {
		return nil, err
	}
	earlier := func() (*plan.Plan, time.Time) { return s.earlierPlan(name) }
	if o.everyTag {
		earlier = nil
	}
	p, err := build.Plan(ctx, selected.Config, name, from, build.Options{
		Jobs: streams, Log: e.logger(), Warn: func(text string) { e.warn("%s", text) }, Installed: selected.operators(), Clusters: selected.releases(), Now: time.Now(), Earlier: earlier, MinAge: minAge, Format: o.format(), IgnoreReleaseSignature: o.IgnoreReleaseSignature, RemoveSignatures: o.RemoveSignatures,
		Progress: func(n, of int) { done.Store(max(done.Load(), int64(n))); images.Store(int64(of)) },
	})
	stop()
	if err == nil {
		p, err = s.acceptSources(ctx, trust, p)
	}
	if err == nil {
		p, err = s.passGate(ctx, g, p)
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

// earlierPlan returns the last plan of an image set in the workspace, and when it was saved; nil if there is none
// that can be read.
func (s *Session) earlierPlan(name string) (*plan.Plan, time.Time) {
	f, err := s.OpenPlan(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}
	}
	var p *plan.Plan
	var saved time.Time
	if err == nil {
		p, saved, err = readSavedPlan(f)
	}
	if err != nil {
		s.env.logger().Info("all signatures are requested again, because the last plan cannot be read", "plan", name, "error", err)
	}
	return p, saved
}

// readSavedPlan reads and closes the file of a plan.
func readSavedPlan(f fs.File) (*plan.Plan, time.Time, error) {
	p, err := plan.Read(f)
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return nil, time.Time{}, err
	}
	return p, info.ModTime(), nil
}

// wantsReleases reports whether a configuration asks for platform releases.
func wantsReleases(cfg *imageset.Releases) bool {
	return cfg != nil && (len(cfg.Channels) > 0 || cfg.Release != "")
}

// ReadPlan reads a plan from a file, which may be compressed with gzip.
func ReadPlan(path string) (*plan.Plan, error) {
	p, _, err := readPlan(path)
	return p, err
}

// loadPlan rebuilds the catalogs of a plan that are not in the cache of the workspace.
func (s *Session) loadPlan(ctx context.Context, p *plan.Plan, trust ReleaseTrust) (*plan.Plan, error) {
	if err := s.verifyReleases(p, trust); err != nil {
		return nil, err
	}
	if g := p.GraphData; g != nil {
		present, err := s.cached(ctx, p, g.Digest, true)
		if err == nil && !present {
			err = s.rebuildGraph(ctx, g, p.Format)
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
		if err := build.RebuildCatalog(ctx, c, p.Rewritten(), p.Format, s.sources.Plan()); err != nil {
			return nil, err
		}
	}
	if err := s.rebuildCharts(ctx, p); err != nil {
		return nil, err
	}
	return p, s.rebuildFiles(ctx, p)
}
