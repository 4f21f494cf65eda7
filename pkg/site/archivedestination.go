package site

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// An ArchiveDestination is an archive in a folder.
type ArchiveDestination struct {
	dir    string
	Opts   archive.Options
	Export *airgap.Export // set by PrepareExport
}

// Registry returns nil: the destination is not a registry.
func (t *ArchiveDestination) Registry() *RegistryDestination { return nil }

// Compare returns what a run would write to the archive.
func (t *ArchiveDestination) Compare(ctx context.Context, p *plan.Plan) (*mirror.ToCopy, error) {
	return t.Export.Preview(ctx, p)
}

// Copy writes the archive.
func (t *ArchiveDestination) Copy(ctx context.Context, p *plan.Plan, source image.Reader, run mirror.Options) (*mirror.Report, error) {
	return t.Export.Run(ctx, p, source, run)
}

// PrepareExport decides what the archive of a plan omits. If the archive is a full one for a reason
// that the user may not expect, a notice says why.
func PrepareExport(ctx context.Context, e *env.Env, s *workspace.Session, t *ArchiveDestination, opts airgap.ExportOptions, p *plan.Plan) (err error) {
	opts.Dir, opts.Archive = t.dir, t.Opts
	if t.Export, err = airgap.PrepareExport(ctx, s.Workspace, p, opts); err != nil {
		return err
	}
	if reason := t.Export.Remark(); reason != "" {
		e.Noticef("%s", reason)
	}
	return nil
}
