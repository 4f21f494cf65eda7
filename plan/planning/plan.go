package planning

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/trust"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// Options says what Make plans. Config is required.
type Options struct {
	Env *env.Env
	selection.Selection
	updates.ReleaseTrust
	trust.ImageTrust
	gates.Gates
	// Name is the name of the configuration in the workspace, and of its plan. The default is the
	// name of its file.
	Name string
	// Workspace is the folder for plans and the cache. The default is env.DefaultWorkspace.
	Workspace string
	// Destination, if not empty, is what the plan is compared with.
	Destination string
	// Deltas is how an archive would carry blobs; nil is the default of mirroring.Run.
	Deltas *airgap.DeltaOptions
	// RemoveSignatures leaves out the signatures and other referrers of images, as mirror.signatures:
	// remove does.
	RemoveSignatures bool
	// Errata reads the labels of images for Result.Errata. The configs of images are requested once, and kept in
	// the cache of the workspace.
	Errata bool
	// MaxNestedPaths is how many path components a registry allows; 0 is no limit.
	MaxNestedPaths int
	// Replacing is what a run may replace. With admission.OnStrandRefuse, Make returns its result and an error if a run
	// would be refused, also because a catalog is older, unless AllowOlder is set. It requires Destination.
	admission.Replacing
	// Page makes Result.Page.
	Page bool
	// Lock is a file that may have an earlier plan; its notes are known, too.
	Lock string
	// EveryTag requests all tags of signatures, also those that the last plan has.
	EveryTag bool
}

// A Result is a plan, and the part of it that a destination does not have.
type Result struct {
	Plan *plan.Plan
	// Digest is the one of the plan as it is written.
	Digest digest.Digest
	// Destination is the one of the options.
	Destination string
	// ToCopy is what the destination does not have; nil without a destination.
	ToCopy *mirror.ToCopy
	// Deltas is what an archive would compare with what the site has; nil for other destinations.
	Deltas *site.PlannedDeltas
	// Resources are the cluster resources that a run would write; nil without a registry.
	Resources *cluster.ResourceFiles
	// Trial is set if the plan was not saved in the workspace, because Installed or Dependencies of
	// the options change what the configuration asks for.
	Trial bool
	// Verified is what the signature policy found; nil if none was applied.
	Verified *trust.VerifiedSignatures
	// Gate is what the gate decided about images; nil without one.
	Gate *gates.GateResult
	// Errata are those of the plan; nil without Options.Errata.
	Errata *Errata
	// Warnings are those about the configuration.
	Warnings []selection.ConfigProblem
	// Replaced are the catalogs that replace others at the destination.
	Replaced []admission.ReplacedCatalog
	// Page is the plan as a page for people; nil without Options.Page.
	Page *page.Document
	// NewNotes are the notes of the plan that neither the last plan in the workspace nor the one in Options.Lock has.
	NewNotes []string
}

// PlanConfig makes the plan of the configuration that o names, by o's Selection, ReleaseTrust, Name and Workspace. It is not saved.
func PlanConfig(ctx context.Context, e *env.Env, o Options) (*plan.Plan, error) {
	selected, err := o.Selection.LoadConfig(e)
	if err != nil {
		return nil, err
	}
	if err := o.ReleaseTrust.Check(); err != nil {
		return nil, err
	}
	s, err := workspace.OpenSession(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.Release()
	return MakeFor(ctx, s, nil, o, nil, nil, selected, false)
}

// Make resolves everything that a configuration asks for, and saves the plan in the workspace, unless
// Installed or Dependencies make it a trial. It copies nothing. If images are missing at their sources, it returns the plan and a *admission.PartialError.
func Make(ctx context.Context, o Options) (*Result, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if err := selection.CheckName(o.Name); err != nil {
		return nil, err
	}
	selected, err := o.Selection.LoadConfig(e)
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	trust, err := trust.ReadPolicy(e, o.ImageTrust)
	if err != nil {
		return nil, err
	}
	asked, err := gates.FindGates(e, o.Gates)
	if err != nil {
		return nil, err
	}
	var t site.Destination
	if o.Destination != "" {
		if t, err = site.OpenDestination(e, o.Destination, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths}); err != nil {
			return nil, err
		}
	}
	s, err := workspace.OpenSession(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.Release()
	before, known := earlierPlans(s, &o)
	p, err := site.Planned(ctx, t, false, func(ctx context.Context) (*plan.Plan, error) {
		return MakeFor(ctx, s, t, o, trust, asked, selected, !o.Any())
	})
	if err != nil {
		return nil, err
	}
	sum, err := p.Digest()
	if err != nil {
		return nil, err
	}
	if err := gates.PassPlanGate(ctx, s, asked, p, sum); err != nil {
		return nil, err
	}
	result := &Result{Gate: asked.Answers(), Plan: p, Digest: sum, Destination: o.Destination, Trial: o.Any(), Verified: trust.Accepted().Summary(), Warnings: selection.ConfigProblems(selected.Config.Warnings), NewNotes: newNotes(p, known)}
	if o.Errata {
		if result.Errata, err = planErrata(ctx, s, p); err != nil {
			return nil, err
		}
	}
	if t != nil {
		if err := result.compare(ctx, s, t, &o, trust.Accepted(), selected); err != nil {
			return nil, err
		}
	}
	if o.Page {
		if result.Page = result.newPage(ctx, s, selected, o.Config, before); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if err := o.refuse(result.Replaced); err != nil {
		return result, err
	}
	if len(p.Missing) > 0 {
		return result, admission.NewPlannedError(p, "")
	}
	return result, nil
}

// check returns an error if options contradict each other.
func (o *Options) check() error {
	refuses := o.OnStrand == admission.OnStrandRefuse
	switch err := errors.Join(o.ReleaseTrust.Check(), admission.CheckOnStrand(o.OnStrand)); {
	case err != nil:
		return err
	case refuses && o.Destination == "":
		return env.InputHint("name a destination", "Options.OnStrand compares the catalogs with those of a destination")
	case o.AllowOlder && !refuses:
		return env.InputHint("leave it out", "Options.AllowOlder is for Options.OnStrand "+admission.OnStrandRefuse+": otherwise older catalogs are only listed")
	case strings.HasPrefix(o.Destination, env.LayoutScheme) && (refuses || o.AllowOlder):
		return admission.ErrLayoutCompared()
	}
	return o.CheckFormatOf(o.Destination)
}

// refuse returns an error if the options do not permit what the plan would replace.
func (o *Options) refuse(replaced []admission.ReplacedCatalog) error {
	if o.OnStrand == admission.OnStrandRefuse {
		if err := admission.RefuseOlder(replaced, o.AllowOlder); err != nil {
			return err
		}
	}
	return admission.RefuseStranded(replaced, o.OnStrand)
}

// compare compares the plan with a destination: what a run would copy, publish and replace there.
func (r *Result) compare(ctx context.Context, s *workspace.Session, t site.Destination, o *Options, accepted *trust.AcceptedImages, selected *selection.Selected) error {
	p := r.Plan
	if to, ok := t.(*site.ArchiveDestination); ok {
		if err := site.PrepareExport(ctx, s.Env, s, to, airgap.ExportOptions{Deltas: cmp.Or(o.Deltas, &airgap.DeltaOptions{})}, p); err != nil {
			return err
		}
	}
	if to := t.Registry(); to != nil {
		if err := site.KnowRecords(ctx, s, to, false); err != nil {
			return err
		}
		if err := cluster.NameObjects(s, to, env.WorkspaceDir(o.Workspace), p.Name, "", false); err != nil {
			return err
		}
	}
	expected, err := admission.Admit(ctx, s, t, p, o.Name, cluster.ManifestOptions{Accepted: accepted})
	if err != nil {
		return err
	}
	if expected != nil {
		if r.Resources, err = cluster.PreviewResources(s, t.Registry(), expected); err != nil {
			return err
		}
	}
	running, err := Running(ctx, s, t, &o.Selection, selected, p.Name)
	if err != nil {
		return err
	}
	replaced := &admission.ReplacedReader{Session: s, To: t, Images: s.Sources.Origin, Originals: true, Running: running.All}
	if r.Replaced, err = replaced.Compare(ctx, p); err != nil {
		return err
	}
	if r.ToCopy, err = t.Compare(ctx, p); err != nil {
		return err
	}
	r.Deltas, err = site.PlanDeltas(t, p)
	return err
}

// MakeFor makes the plan of a configuration, and saves it in the workspace if save is set. The saved
// plan is what the configuration asks for or what was copied: other commands use it as that. t, which may be nil, is where it
// is copied to: it has the record of what clusters run.
func MakeFor(ctx context.Context, s *workspace.Session, t site.Destination, o Options, accepting *trust.SignaturePolicy, g *gates.Programs, selected *selection.Selected, save bool) (*plan.Plan, error) {
	e := s.Env
	streams, err := env.Streams(&e.Registries)
	if err != nil {
		return nil, err
	}
	name := selection.PlanName(o.Name, o.Config)
	given := o.Name
	if !o.InFile() {
		given = name // the program chose it
	}
	if err := admission.Claim(s, given, o.Config, name); err != nil {
		return nil, err
	}
	if err := recall(ctx, s, t, &o.Selection, name, selected); err != nil {
		return nil, err
	}
	platform := selected.Config.Mirror.Platform
	service := updates.NewUpdates(e, s.Client, platform, o.ReleaseTrust)
	if wantsReleases(platform) && !o.IgnoreReleaseSignature {
		if err := service.Check(); err != nil {
			return nil, err
		}
	}
	e.Noticef("planning %s", o.Config)
	var done, images atomic.Int64
	stop := env.Show(e.Observer, "planning", func() progress.Reading {
		return progress.Reading{Images: images.Load(), ImagesDone: done.Load()}
	})
	from := s.Sources.Plan()
	from.Releases = service
	closeCharts, err := addCharts(s, &from, selected.Config.Mirror.Helm)
	if err != nil {
		return nil, err
	}
	defer closeCharts()
	updates.WarnTrust(e, o.ReleaseTrust, wantsReleases(platform))
	minAge, err := o.MinAgeOf(selected.Config)
	if err != nil {
		return nil, err
	}
	earlier := func() (*plan.Plan, time.Time) { return earlierPlan(s, name) }
	if o.EveryTag {
		earlier = nil
	}
	if !o.Page {
		selected.Text = nil
	}
	p, err := build.Plan(ctx, selected.Config, name, from, build.Options{
		TakeImages: !o.Page,
		Jobs:       streams, Log: e.Logger(), Warn: func(text string) { e.Warnf("%s", text) }, Installed: operators(selected), Clusters: releases(selected), Now: time.Now(), Earlier: earlier, MinAge: minAge, Format: o.Format(), IgnoreReleaseSignature: o.IgnoreReleaseSignature, RemoveSignatures: o.RemoveSignatures,
		Progress: func(n, of int) { done.Store(max(done.Load(), int64(n))); images.Store(int64(of)) },
	})
	stop()
	if err == nil {
		p, err = trust.AcceptSources(ctx, s, accepting, p)
	}
	if err == nil {
		p, err = gates.PassGate(ctx, s, g, p)
	}
	if err == nil && accepting != nil && (o.RemoveSignatures || selected.Config.Mirror.Signatures == imageset.RemoveSignatures) {
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
	if !o.InFile() {
		return p, nil
	}
	return p, admission.KeepClaim(s, o.Config, name)
}

// wantsReleases reports whether a configuration asks for platform releases.
func wantsReleases(cfg *imageset.Releases) bool {
	return cfg != nil && (len(cfg.Channels) > 0 || cfg.Release != "")
}

// LoadPlan rebuilds the catalogs of a plan that are not in the cache of the workspace.
func LoadPlan(ctx context.Context, s *workspace.Session, p *plan.Plan, trust updates.ReleaseTrust) (*plan.Plan, error) {
	if err := VerifyReleases(s, p, trust); err != nil {
		return nil, err
	}
	if g := p.GraphData; g != nil {
		present, err := s.Cached(ctx, p, g.Digest, true)
		if err == nil && !present {
			err = rebuildGraph(ctx, s, g, p.Format)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := rebuildIndexes(ctx, s, p); err != nil {
		return nil, err
	}
	for _, c := range p.Catalogs {
		if !c.Built {
			continue
		}
		if present, err := s.Cached(ctx, p, c.Digest, false); err != nil {
			return nil, err
		} else if present {
			continue
		}
		s.Env.Noticef("building catalog %s again", c.Source)
		if err := build.RebuildCatalog(ctx, c, p.Rewritten(), p.Format, s.Sources.Plan()); err != nil {
			return nil, err
		}
	}
	if err := rebuildCharts(ctx, s, p); err != nil {
		return nil, err
	}
	return p, rebuildFiles(ctx, s, p)
}
