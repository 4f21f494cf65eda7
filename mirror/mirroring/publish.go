package mirroring

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/planning"
)

// publish writes what clusters apply, and records the image set in the registry.
func (r *openedRun) publish(ctx context.Context, a *admittedRun) error {
	p, result := a.plan, a.result
	result.NotesKnown = r.recorded.again
	result.Plan, result.Notes, result.Blocked, result.Withheld = p, p.Notes, len(p.Blocked), site.NamesMissing(p)
	result.SmallerIndexes, result.Converted = planning.SmallerIndexes(p), planning.ConvertedImages(p)
	if err := planning.FindClusters(ctx, r.session, r.to, p, a.made); err != nil {
		return err
	}
	to := r.to.Registry()
	if to == nil {
		return nil
	}
	sayOtherFiles(ctx, r.session.Env, to, p, result.Report)
	var err error
	result.Resources, result.ImageSet, err = cluster.SaveResources(ctx, r.session, to, p, result.Report, a.format, r.describe(a))
	return err
}

// describe returns the record of a run without its content: who, when by the clock of the registry, which is the
// same for all hosts, and from what.
func (r *openedRun) describe(a *admittedRun) setrecord.Revision {
	to, report := r.to.Registry(), a.result.Report
	run := setrecord.Revision{
		Name: a.plan.Name, LastRun: to.Now().UTC().Truncate(time.Second), Version: strings.TrimPrefix(r.session.Env.UserAgent, "gantry/"),
		From: setrecord.FromConfiguration, Configuration: r.configuration, MaxNestedPaths: to.MaxNestedPaths, Content: site.ContentOf(a.plan),
	}
	run.User, run.Host = setrecord.Visible(env.UserName(r.session.Env.Variable)), setrecord.Visible(lockfile.Host())
	switch {
	case r.o.reads():
		run.From, run.Configuration = setrecord.FromArchive, ""
	case r.o.Plan != "":
		run.From = setrecord.FromPlan
	}
	run.Content.Missing, run.Content.Withheld = len(report.Failed), len(report.Withheld)
	return run
}

// record keeps what the run did in the workspace, and writes the receipt of an archive that was read.
func (r *openedRun) record(ctx context.Context, a *admittedRun) (err error) {
	s, result := r.session, a.result
	if to, ok := r.to.(*site.ArchiveDestination); ok {
		result.setArchive(to.Export.Result())
	}
	if err := errors.Join(s.SaveClusters(a.plan.Name, s.Recording), saveErrors(s, a.plan, result.Report, time.Now())); err != nil {
		return err
	}
	if err := r.savePinned(a.plan, time.Now()); err != nil { // such as a disk that permits no colon in a name
		s.Env.Warnf("%v", err)
	}
	if r.have != nil {
		result.Signature = keys.SignatureOf(r.have)
		result.ArchiveRead = sayRead(s.Env, r.have)
		if result.RepairRequest, err = a.imported.SaveRequest(ctx); err != nil {
			return err
		}
		if result.Receipt, err = a.imported.WriteReceipt(ctx, a.plan, result.Report, airgap.ReceiptOptions{File: r.o.WriteReceipt, Sign: keys.SignWith(r.o.SigningKey)}); err != nil {
			return err
		}
	}
	result.Charts, result.Files = mirroredCharts(r.to, a.plan, result.Report), mirroredFiles(a.plan, result.Report)
	return nil
}

// finish deletes what no image set needs, if the options say so. It returns an error if the run is not complete.
func (r *openedRun) finish(ctx context.Context, a *admittedRun) (err error) {
	switch result := a.result; {
	case !result.Report.Complete():
		return admission.NewPartialError(result.Report, r.o.OnError).Of(r.have, result.RepairRequest)
	case r.o.Prune:
		result.Pruned, err = removal.PruneMirrored(ctx, r.session, r.to.Registry(), result.ImageSet)
	}
	return err
}
