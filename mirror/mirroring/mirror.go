package mirroring

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/archive/keys"
	"github.com/gantry-mirror/gantry/archive/program"
	"github.com/gantry-mirror/gantry/mirror/admission"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/cluster"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// run is Mirror without reports.
func run(ctx context.Context, o Options) (done *Result, failure error) {
	e, closeEnv := o.Env.OrDefault()
	defer closeEnv()
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Repair != "" {
		return repair(ctx, e, o)
	}
	if _, err := copying.WaitForWindow(ctx, e, o.windows()); err != nil {
		return nil, err
	}
	var selected *selection.Selected
	if o.Config != "" {
		var err error
		if selected, err = o.Selection.LoadConfig(e); err != nil {
			return nil, err
		}
		o.configuration = selection.DigestOfFile(o.Config)
	}
	accepting, err := trust.ReadPolicy(e, o.ImageTrust)
	if err != nil {
		return nil, err
	}
	asked, err := gates.FindGates(e, o.Gates)
	if err != nil {
		return nil, err
	}
	approved, err := signing.ApprovePlan(e, o.approval())
	if err != nil {
		return nil, err
	}
	if (o.Shard != plan.Shard{}) {
		return mirrorShard(ctx, e, o, accepting, asked, approved)
	}
	sign := keys.SignWith(o.SigningKey)
	t, err := site.OpenDestination(e, o.Destination, site.DestinationOptions{
		RenameCatalogs: o.RenameCatalogs,
		MaxNestedPaths: o.MaxNestedPaths, StrictArchive: o.StrictArchive, VolumeSize: o.VolumeSize, Redundancy: o.Redundancy, CheckBlobs: o.CheckBlobs || o.RepairMissing, ReadBlobs: o.ReadBlobs, Sign: sign, Encrypt: o.EncryptTo,
	})
	if err != nil {
		return nil, err
	}
	var have *archive.Archive
	if len(o.From) > 0 {
		o.From = slices.Clone(o.From) // folders that the user names are added
		if have, err = o.openArchive(0); err != nil {
			return nil, err
		}
		defer func() { _ = have.Close() }() // only read from
		e.Opened(have)
	}
	o.Workspace = o.workspace()
	s, err := workspace.OpenSession(e, o.Workspace)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	if err := useLayout(s, &o); err != nil {
		return nil, err
	}
	if to, ok := t.(*site.ArchiveDestination); ok && s.UsesLayout() == state.OCMirrorLayout {
		to.Opts.OCMirrorNames, to.Opts.Replace = true, false // that tool's scripts find all volumes in the folder
	}
	run := beginRun(s, &o, t, have)
	run.gates = asked
	caller := ctx // the lease has a context of its own
	defer func() { failure = run.end(caller, &o, done, failure) }()
	if err := run.begin(&o); err != nil {
		return nil, err
	}
	made := planning.MadeFrom(selected, have)
	checked := t
	if o.ResourcesOnly {
		t.Registry().Offline = o.again != nil
		checked = nil
	}
	prepare, err := preparation(ctx, e, &o, t)
	if err != nil {
		return nil, err
	}
	p, err := site.Planned(ctx, checked, !o.DryRun, func(ctx context.Context) (*plan.Plan, error) {
		return planFor(ctx, s, o, accepting, asked, selected, approved, have, t)
	})
	if err != nil {
		return nil, err
	}
	if r := t.Registry(); r != nil {
		if err := site.KnowRecords(ctx, s, r, o.ResourcesOnly); err != nil {
			return nil, err
		}
		if err := cluster.NameObjects(s, r, o.Workspace, p.Name, o.ResourceName, !o.DryRun); err != nil {
			return nil, err
		}
	}
	sum, err := approved.DigestOf(p)
	if err != nil {
		return nil, err
	}
	run.planned(p.Name, sum, o.writesNothing())
	policy, err := manifestOptions(s, &o, t.Registry())
	if err != nil {
		return nil, err
	}
	if o.ResourcesOnly {
		policy.Accepted = accepting.Accepted()
		expected, err := admission.Admit(ctx, s, t, p, o.Name, policy)
		if err != nil {
			return nil, err
		}
		return resourcesOnly(ctx, s, &o, t.Registry(), p, expected)
	}
	var imported *airgap.Import
	if have != nil {
		if imported, err = checkImport(ctx, e, &o, s, t, have, p); err != nil {
			return nil, err
		}
		have = imported.Archive // another one, if more folders were named
		if p, err = trust.AcceptArchived(ctx, s, accepting, p, have, t); err == nil && o.RemoveSignatures && accepting != nil {
			p, err = p.WithoutSignatures()
		}
		if err != nil {
			return nil, err
		}
	}
	policy.Accepted = accepting.Accepted()
	if err := gates.PassPlanGate(ctx, s, asked, p, sum); err != nil {
		return nil, err
	}
	if to, ok := t.(*site.ArchiveDestination); ok {
		if err := prepareArchive(ctx, e, s, to, &o, p); err != nil {
			return nil, err
		}
	}
	j, err := copying.NewJob(ctx, o.OnError, p, s, have, t)
	if err != nil {
		return nil, err
	}
	p = j.Plan()
	expected, err := admission.Admit(ctx, s, t, p, o.Name, policy)
	if err != nil {
		return nil, err
	}
	if err := admission.CheckFormatKept(e, o.Config != "", o.DestFormat, t.Registry(), p); err != nil {
		return nil, err
	}
	result := &Result{Version: 1, Destination: o.Destination, PlanDigest: sum, PlanSignature: approved.Signer(), Plan: p, Verified: accepting.Accepted().Summary(), Gate: asked.Answers()}
	result.UnsignedImages, _ = result.Plan.Unsigned()
	if selected != nil && have == nil {
		result.Warnings = selection.ConfigProblems(selected.Config.Warnings)
	}
	if err := checkReplaced(ctx, s, &o, j, made, have == nil, result); err != nil {
		return result, err
	}
	if o.DryRun {
		if expected != nil {
			if result.Resources, err = cluster.PreviewResources(s, t.Registry(), expected); err != nil {
				return nil, err
			}
		}
		if err := preview(ctx, s, t, &o, p, result); err != nil {
			return nil, err
		}
		if requested := j.Requested(); len(requested.Missing) > 0 {
			return result, admission.NewPlannedError(requested, o.OnError)
		}
		return result, nil
	}
	if r := t.Registry(); r != nil {
		if err := prepare.CreateFor(ctx, p); err != nil {
			return nil, err
		}
		leased, release, err := site.Lease(ctx, s, r)
		if err != nil {
			return nil, err
		}
		defer release()
		defer func() { failure = site.Lost(leased, r, failure) }()
		ctx = leased
		if err := admitLeased(ctx, s, r, &o, p, policy, approved); err != nil {
			return nil, err
		}
	}
	if o.WithGantry != "" {
		if result.Program, err = program.Add(ctx, o.WithGantry, strings.TrimPrefix(o.Destination, env.ArchiveScheme), o.SigningKey); err != nil {
			return nil, err
		}
	}
	j.Announce = func(ctx context.Context) { site.AnnounceRun(ctx, s, t.Registry(), j.Plan()) }
	if result.Report, result.Transfer, err = copying.Run(ctx, s, j, o.copying(result)); err != nil {
		return result, err
	}
	p = j.Plan() // selection.OnErrorPackage may have reduced it
	result.Plan, result.Notes, result.Blocked, result.Withheld = p, p.Notes, len(p.Blocked), site.NamesMissing(p)
	result.SmallerIndexes, result.Converted = planning.SmallerIndexes(p), planning.ConvertedImages(p)
	if err := planning.FindClusters(ctx, s, t, p, made); err != nil {
		return nil, err
	}
	if r := t.Registry(); r != nil {
		sayOtherFiles(ctx, s.Env, r, p, result.Report)
		if result.Resources, result.ImageSet, err = cluster.SaveResources(ctx, s, r, p, result.Report, policy, describeRun(s, r, &o, p, result.Report)); err != nil {
			return nil, err
		}
	}
	if to, ok := t.(*site.ArchiveDestination); ok {
		result.setArchive(to.Export.Result())
	}
	if err := errors.Join(s.SaveClusters(p.Name, s.Recording), saveErrors(s, p, result.Report, time.Now())); err != nil {
		return nil, err
	}
	if have != nil {
		result.Signature = keys.SignatureOf(have)
		result.ArchiveRead = sayRead(s.Env, have)
		if result.RepairRequest, err = imported.SaveRequest(ctx); err != nil {
			return nil, err
		}
		if result.Receipt, err = imported.WriteReceipt(ctx, p, result.Report, airgap.ReceiptOptions{File: o.WriteReceipt, Sign: sign}); err != nil {
			return nil, err
		}
	}
	result.Charts, result.Files = mirroredCharts(t, p, result.Report), mirroredFiles(p, result.Report)
	if o.Prune && result.Report.Complete() {
		result.Pruned, err = removal.PruneMirrored(ctx, s, t.Registry(), result.ImageSet)
		return result, err
	}
	if !result.Report.Complete() {
		return result, admission.NewPartialError(result.Report, o.OnError).Of(have, result.RepairRequest)
	}
	return result, nil
}
