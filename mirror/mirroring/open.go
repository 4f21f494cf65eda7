package mirroring

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// The inputs are what a run reads before it opens anything.
type inputs struct {
	selected      *selection.Selected // nil without a configuration
	configuration digest.Digest       // of its file
	accepting     *trust.SignaturePolicy
	gates         *gates.Programs
	approved      *signing.ApprovedPlan // nil without Options.Plan
}

// readInputs waits until the run may begin, and reads the files that its options name.
func readInputs(ctx context.Context, e *env.Env, o *Options) (in inputs, err error) {
	if _, err = copying.WaitForWindow(ctx, e, o.windows()); err != nil {
		return in, err
	}
	if o.Config != "" {
		if in.selected, err = o.Selection.LoadConfig(e); err != nil {
			return in, err
		}
		in.configuration = o.Selection.Digest()
	}
	if in.accepting, err = trust.ReadPolicy(e, o.ImageTrust); err != nil {
		return in, err
	}
	if in.gates, err = gates.FindGates(e, o.Gates); err != nil {
		return in, err
	}
	in.approved, err = signing.ApprovePlan(e, o.approval())
	return in, err
}

// An openedRun is a run whose destination, archive and workspace are open.
type openedRun struct {
	o *Options
	inputs
	again    *cluster.ResourcesOptions // of Resources; nil in a run of Mirror
	session  *workspace.Session
	to       site.Destination
	have     *archive.Archive // that is read; nil without Options.From
	part     bool             // of the archive is mirrored
	recorded *recordedRun
}

// openRun opens what a run works with, and records that it began. The caller closes it.
func openRun(e *env.Env, o *Options, in inputs, again *cluster.ResourcesOptions) (_ *openedRun, err error) {
	r := &openedRun{o: o, inputs: in, again: again}
	r.to, err = site.OpenDestination(e, o.Destination, site.DestinationOptions{
		MaxNestedPaths: o.MaxNestedPaths, RenameCatalogs: o.RenameCatalogs, Volumes: o.Volumes, Sign: keys.SignWith(o.SigningKey),
		CheckBlobs: o.CheckBlobs || o.RepairMissing, ReadBlobs: o.ReadBlobs,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if o.reads() {
		o.From = slices.Clone(o.From) // folders that the user names are added
		if r.have, err = o.openArchive(o.workspace(), 0); err != nil {
			return nil, err
		}
		open.Observe(e.Observer, r.have)
	}
	o.Workspace = o.workspace()
	if r.session, err = workspace.OpenSession(e, o.Workspace); err != nil {
		return nil, err
	}
	if err = useLayout(r.session, o); err != nil {
		return nil, err
	}
	if to, ok := r.to.(*site.ArchiveDestination); ok && r.session.UsesLayout() == state.OCMirrorLayout {
		to.Opts.OCMirrorNames, to.Opts.Replace = true, false // that tool's scripts find all volumes in the folder
	}
	r.recorded = beginRun(r.session, o, r.to, r.have)
	r.recorded.gates = in.gates
	return r, nil
}

// close releases the workspace and the archive.
func (r *openedRun) close() {
	if r.session != nil {
		r.session.Release()
	}
	if r.have != nil {
		_ = r.have.Close() // only read from
	}
}
