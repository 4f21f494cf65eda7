package workspace

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

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive/deltamaker"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/state"
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
	Env     *env.Env
	Sources *Sources
	Client  *remote.Client // for the sources
	// audited is this run in the audit log, and auditing guards its error.
	audited  auditedRun
	auditing sync.Mutex
	// Graphs are the update graphs of catalogs that were published.
	Graphs state.Snapshots
	// Before is what the last run recorded of clusters, and recording what this run records; either may be nil.
	Before    *ClustersBefore
	Recording *state.Clusters
}

// OpenSession opens and locks the workspace in a folder, and makes the client for the sources.
// Close releases it.
func OpenSession(e *env.Env, dir string) (*Session, error) {
	client, err := e.Client(remote.Source)
	if err != nil {
		return nil, err
	}
	ws, err := state.Open(dir)
	if err != nil {
		return nil, AdviseWorkspace(err)
	}
	ws.OnDamage = func(name string) {
		e.Warnf("%s in the workspace was altered or damaged since Gantry wrote it: it is not used, and is written again", name)
	}
	cacheDir := CacheDir(e, dir)
	cache, err := layout.Create(cacheDir, layout.Options{NoSync: true})
	graphs := state.OpenGraphs(cacheDir)
	if err == nil {
		now := time.Now()
		old := now.Add(-cacheAge)
		err = errors.Join(cache.Expire(old, cacheSmall), state.OpenSnapshots(cacheDir).Expire(old), graphs.Expire(now.Add(-graphAge)), deltamaker.Expire(filepath.Join(cacheDir, DeltaCache), now.Add(-graphAge)),
			mirror.Downloads{Dir: filepath.Join(cacheDir, downloadCache)}.Expire(old))
	}
	if err != nil {
		return nil, errors.Join(adviseCache(e, err), ws.Close())
	}
	sources := &Sources{
		Origin: mirror.NewOrigin(client, cache), Cache: cache, snapshots: state.OpenSnapshots(cacheDir), warn: func(text string) { e.Warnf("%s", text) },
	}
	sources.Origin.KeepDownloads(filepath.Join(cacheDir, downloadCache))
	return &Session{Workspace: ws, Env: e, Sources: sources, Client: client, Graphs: graphs}, nil
}

// CacheDir returns the folder of the cache for the workspace in dir.
func CacheDir(e *env.Env, dir string) string {
	if e.CacheDir != "" {
		return filepath.Join(strings.TrimPrefix(e.CacheDir, env.ArchiveScheme), env.SharedCache)
	}
	return state.CacheDir(dir)
}

// adviseCache adds a hint to the error of a shared cache.
func adviseCache(e *env.Env, err error) error {
	if e.CacheDir == "" {
		return err
	}
	return advice.Wrap(advice.Failure, err, "set Options.CacheDir to a folder that can be written to")
}

// AdviseWorkspace adds a hint to the error of a workspace that cannot be written to.
func AdviseWorkspace(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR) {
		return advice.Wrap(advice.Failure, err, "set Options.Workspace to a folder that can be written to")
	}
	return err
}

// Release unlocks the workspace. The lock also ends with the process.
func (s *Session) Release() {
	if err := s.Close(); err != nil {
		s.Env.Logger().Warn("releasing the workspace", "error", err)
	}
}

// Cached reports whether the content of an image that was built for the plan is in the cache, whole
// and undamaged. Damaged content is removed. If the image has layers of another one, these need not
// be there.
func (s *Session) Cached(ctx context.Context, p *plan.Plan, d digest.Digest, layered bool) (bool, error) {
	contents, err := p.Contents()
	if err != nil {
		return false, err
	}
	complete := true
	check := func(desc ocispec.Descriptor, required bool) error {
		err := s.Sources.Cache.Check(ctx, desc, nil)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist) && !required:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		complete = false
		return s.Sources.Cache.Remove(desc)
	}
	err = contents.Walk(d,
		func(m *plan.Manifest) error { return check(ocispec.Descriptor{Digest: m.Digest, Size: m.Size}, true) },
		func(b plan.Blob) error { return check(ocispec.Descriptor{Digest: b.Digest, Size: b.Size}, !layered) })
	return complete, err
}

// DeltaCache is the folder for deltas in the cache.
const DeltaCache = "deltas"
