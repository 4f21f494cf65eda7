package mirroring

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// openArchive opens the archive of a sequence, 0 for the newest, in the folders of From, and checks
// its signature according to Read. It asks for the folders of missing volumes. folder is the one of the workspace.
func (o *ImportOptions) openArchive(folder string, sequence int) (*archive.Archive, error) {
	opts := o.Read
	opts.Sequence = sequence
	opts.TempDir = filepath.Join(state.CacheDir(folder), workspace.DeltaCache)
	if o.AskFolder != nil {
		opts.Ask = func(missing []string) (string, error) {
			return o.askFolder("missing:\n  " + strings.Join(missing, "\n  "))
		}
	}
	dirs := make([]string, 0, len(o.From))
	for _, from := range o.From {
		dirs = append(dirs, strings.TrimPrefix(from, env.ArchiveScheme))
	}
	have, err := archive.OpenWith(opts, dirs...)
	if errors.Is(err, os.ErrNotExist) {
		return nil, env.Inputf("Options.From: %w", err)
	}
	if err == nil && have.CheckReadable() != nil {
		return nil, errors.Join(have.CheckReadable(), have.Close())
	}
	return have, err
}

// askFolder asks for another folder and adds it to From. It returns "" if the user has none.
func (o *ImportOptions) askFolder(missing string) (string, error) {
	dir, err := o.AskFolder(missing)
	if err != nil {
		return "", err
	}
	dir = strings.TrimPrefix(strings.TrimSpace(dir), env.ArchiveScheme)
	if dir != "" {
		o.From = append(o.From, env.ArchiveScheme+dir)
	}
	return dir, nil
}

// checkImport makes sure, before anything is copied, that the content that the archive omits is at
// the mirror or in the other archives that it builds on. It asks for the folders of other archives.
// The Archive of the result includes them.
func (r *openedRun) checkImport(ctx context.Context, p *plan.Plan) (*airgap.Import, error) {
	s, o, have := r.session, r.o, r.have
	var site *airgap.Site
	if to := r.to.Registry(); to != nil {
		site = &to.Site
	}
	opts := airgap.ImportOptions{
		From: o.From, AllowOlder: o.AllowOlder,
		Info: func(text string) { s.Env.Noticef("%s", text) },
		Warn: func(text string) { s.Env.Warnf("%s", text) },
	}
	if r.part {
		opts.Part = r.hasMade
	}
	if o.AskFolder != nil {
		opts.AskFolder = func(problem error, sequence int) (*archive.Archive, []string, error) {
			dir, err := o.askFolder(problem.Error())
			if err != nil || dir == "" {
				return nil, nil, err
			}
			more, err := o.openArchive(o.Workspace, sequence)
			return more, o.From, err
		}
	}
	if err := have.CheckTempDir(mirror.Content(p)); err != nil {
		return nil, err
	}
	return airgap.CheckImport(ctx, s.Workspace, have, p, site, opts)
}
