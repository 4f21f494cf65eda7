package gantry

import (
	"context"
	"time"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/plan"
)

// An archiveDestination is an archive in a folder.
type archiveDestination struct {
	dir    string
	opts   archive.Options
	export *airgap.Export // set by prepareExport
}

func (t *archiveDestination) Registry() *RegistryDestination { return nil }

func (t *archiveDestination) Compare(ctx context.Context, p *plan.Plan) (*mirror.ToCopy, error) {
	return t.export.Preview(ctx, p)
}

func (t *archiveDestination) Copy(ctx context.Context, p *plan.Plan, source image.Reader, run mirror.Options) (*mirror.Report, error) {
	return t.export.Run(ctx, p, source, run)
}

// prepareArchive decides what the archive omits, according to the options.
func (e *Env) prepareArchive(ctx context.Context, s *Session, t *archiveDestination, o *MirrorOptions, p *plan.Plan) error {
	opts := airgap.ExportOptions{Repeatable: o.OnError == OnErrorPackage || len(p.Files) > 0}
	var err error
	if opts.Since, err = o.since(); err != nil {
		return err
	}
	opts.Deltas = e.deltaOptions(o)
	if len(o.Receipts) > 0 {
		if opts.Since.Policy, err = o.policy(); err != nil {
			return err
		}
	}
	if o.SigningKey != nil {
		opts.Signing = &airgap.SigningPolicy{Key: o.SigningKey.Signer().Key, Policy: o.policy}
	}
	if err := e.prepareExport(ctx, s, t, opts, p); err != nil {
		return err
	}
	if t.export.DropsEncryption() {
		e.warn("the previous archive is encrypted and this one will not be; set Options.EncryptTo to encrypt it")
	}
	return nil
}

// policy returns the policy for signatures of earlier archives and receipts.
func (o *MirrorOptions) policy() (*sshsig.Policy, error) {
	if o.Trust == nil {
		return &sshsig.Policy{Now: time.Now()}, nil
	}
	return o.Trust()
}

// prepareExport decides what the archive of a plan omits. If the archive is a full one for a reason
// that the user may not expect, a notice says why.
func (e *Env) prepareExport(ctx context.Context, s *Session, t *archiveDestination, opts airgap.ExportOptions, p *plan.Plan) (err error) {
	opts.Dir, opts.Archive = t.dir, t.opts
	if t.export, err = airgap.PrepareExport(ctx, s.Workspace, p, opts); err != nil {
		return err
	}
	if reason := t.export.Remark(); reason != "" {
		e.say("%s", reason)
	}
	return nil
}
