package gantry

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/airgap/deltamaker"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan"
)

// In the cache, blobs above cacheSmall bytes (layers of catalogs) and parsed catalogs are removed
// after cacheAge. Manifests stay: with them, an image that is gone from its source can still be
// planned if the mirror has it.
const (
	cacheAge   = 30 * 24 * time.Hour
	cacheSmall = 256 << 10
	// graphAge is how long the update graphs of published catalogs are kept after they were last used: a disk may
	// be written once in a quarter.
	graphAge = 400 * 24 * time.Hour
	// downloadCache is the folder for parts of files in the cache.
	downloadCache = "downloads"
)

// A Session is a workspace that is open and locked for this run, with the client and the cache for
// its sources.
type Session struct {
	*state.Workspace
	env     *Env
	sources *Sources
	client  *remote.Client // for the sources
	// audited is this run in the audit log, and auditing guards its error.
	audited  auditedRun
	auditing sync.Mutex
	// graphs are the update graphs of catalogs that were published.
	graphs state.Snapshots
	// before is what the last run recorded of clusters, and recording what this run records; either may be nil.
	before    *clustersBefore
	recording *state.Clusters
}

// OpenSession opens and locks the workspace in a folder, and makes the client for the sources.
// Close releases it.
func (e *Env) OpenSession(dir string) (*Session, error) {
	client, err := e.Client(remote.Source)
	if err != nil {
		return nil, err
	}
	ws, err := state.Open(dir)
	if err != nil {
		return nil, adviseWorkspace(err)
	}
	ws.OnDamage = func(name string) {
		e.warn("%s in the workspace was altered or damaged since Gantry wrote it: it is not used, and is written again", name)
	}
	cacheDir := e.cacheDir(dir)
	cache, err := layout.Create(cacheDir, layout.Options{NoSync: true})
	graphs := state.OpenGraphs(cacheDir)
	if err == nil {
		now := time.Now()
		old := now.Add(-cacheAge)
		err = errors.Join(cache.Expire(old, cacheSmall), state.OpenSnapshots(cacheDir).Expire(old), graphs.Expire(now.Add(-graphAge)), deltamaker.Expire(filepath.Join(cacheDir, deltaCache), now.Add(-graphAge)),
			mirror.Downloads{Dir: filepath.Join(cacheDir, downloadCache)}.Expire(old))
	}
	if err != nil {
		return nil, errors.Join(e.adviseCache(err), ws.Close())
	}
	sources := &Sources{
		Origin: mirror.NewOrigin(client, cache), cache: cache, snapshots: state.OpenSnapshots(cacheDir), warn: func(text string) { e.warn("%s", text) },
	}
	sources.Origin.KeepDownloads(filepath.Join(cacheDir, downloadCache))
	return &Session{Workspace: ws, env: e, sources: sources, client: client, graphs: graphs}, nil
}

// cacheDir returns the folder of the cache for the workspace in dir.
func (e *Env) cacheDir(dir string) string {
	if e.CacheDir != "" {
		return filepath.Join(strings.TrimPrefix(e.CacheDir, ArchiveScheme), SharedCache)
	}
	return state.CacheDir(dir)
}

// adviseCache adds a hint to the error of a shared cache.
func (e *Env) adviseCache(err error) error {
	if e.CacheDir == "" {
		return err
	}
	return advice.Wrap(advice.Failure, err, "set Options.CacheDir to a folder that can be written to")
}

// adviseWorkspace adds a hint to the error of a workspace that cannot be written to.
func adviseWorkspace(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR) {
		return advice.Wrap(advice.Failure, err, "set Options.Workspace to a folder that can be written to")
	}
	return err
}

// during makes a plan while it finds out how the registry is reached and how it authenticates, and
// whether it accepts the credentials, for a push or for pulls alone. If it cannot be reached or refuses
// them, planning ends at once. path is a repository, or a prefix of repositories.
func (t *RegistryDestination) during(ctx context.Context, path string, push bool, plan func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var g sync.WaitGroup
	var refused error
	reached := make(chan struct{})
	t.reached = reached
	g.Go(func() {
		err := t.Client.CheckAccess(ctx, reference.Reference{Host: t.Host, Path: path}, push)
		if err != nil && ctx.Err() == nil {
			refused = err
			cancel(err)
			return
		}
		close(reached)
	})
	err := plan(ctx)
	if err != nil {
		cancel(err)
	}
	g.Wait()
	if refused != nil {
		return refused
	}
	return err
}

// isReached waits until the registry was reached. It returns false if this run does not connect to it.
func (t *RegistryDestination) isReached(ctx context.Context) (bool, error) {
	if t.reached == nil {
		return false, nil
	}
	select {
	case <-t.reached:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// planned calls makePlan, and meanwhile checks whether a destination that is a registry can be reached
// and accepts the credentials, for a push or for pulls alone. The destination may be nil.
func planned(ctx context.Context, t Destination, push bool, makePlan func(context.Context) (*plan.Plan, error)) (p *plan.Plan, err error) {
	if t == nil || t.Registry() == nil {
		return makePlan(ctx)
	}
	err = t.Registry().during(ctx, t.Registry().Prefix, push, func(ctx context.Context) (err error) {
		p, err = makePlan(ctx)
		return err
	})
	return p, err
}

// release unlocks the workspace. The lock also ends with the process.
func (s *Session) release() {
	if err := s.Close(); err != nil {
		s.env.logger().Warn("releasing the workspace", "error", err)
	}
}

// cached reports whether the content of an image that was built for the plan is in the cache, whole
// and undamaged. Damaged content is removed. If the image has layers of another one, these need not
// be there.
func (s *Session) cached(ctx context.Context, p *plan.Plan, d digest.Digest, layered bool) (bool, error) {
	contents, err := p.Contents()
	if err != nil {
		return false, err
	}
	complete := true
	check := func(desc ocispec.Descriptor, required bool) error {
		err := s.sources.cache.Check(ctx, desc, nil)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist) && !required:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		complete = false
		return s.sources.cache.Remove(desc)
	}
	err = contents.Walk(d,
		func(m *plan.Manifest) error { return check(ocispec.Descriptor{Digest: m.Digest, Size: m.Size}, true) },
		func(b plan.Blob) error { return check(ocispec.Descriptor{Digest: b.Digest, Size: b.Size}, !layered) })
	return complete, err
}
