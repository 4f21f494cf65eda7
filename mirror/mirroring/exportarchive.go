package mirroring

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// prepareArchive decides what the archive omits, according to the options.
func prepareArchive(ctx context.Context, e *env.Env, s *workspace.Session, t *site.ArchiveDestination, o *Options, p *plan.Plan) error {
	opts := airgap.ExportOptions{Repeatable: o.OnError == selection.OnErrorPackage || len(p.Files) > 0}
	var err error
	if opts.Since, err = o.since(); err != nil {
		return err
	}
	opts.Deltas = o.deltas(e, o.Workspace)
	if len(o.Receipts) > 0 {
		if opts.Since.Policy, err = o.policy(); err != nil {
			return err
		}
	}
	if o.SigningKey != nil {
		opts.Signing = &airgap.SigningPolicy{Key: o.SigningKey.Signer().Key, Policy: o.policy}
	}
	if err := site.PrepareExport(ctx, e, s, t, opts, p); err != nil {
		return err
	}
	if t.Export.DropsEncryption() {
		e.Warnf("the previous archive is encrypted and this one will not be; set Options.EncryptTo to encrypt it")
	}
	return nil
}
