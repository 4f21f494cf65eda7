package main

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/sqlite"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// defaultWorkspace is where a run keeps its state unless told otherwise.
const defaultWorkspace = "gantry-workspace"

// Blobs in the cache above cacheSmall bytes, which are layers of catalogs, and
// parsed catalogs are removed at this age. Manifests stay: with them an image that has gone from its
// source can still be planned where the mirror has it.
const (
	cacheAge   = 30 * 24 * time.Hour
	cacheSmall = 256 << 10
)

// inputs are the flags that say what is mirrored.
type inputs struct {
	selectFlags
	releaseFlags
	plan      string
	name      string // of the plan, where it is not to be that of the file
	workspace string
}

func (in *inputs) addFlags(f *pflag.FlagSet) {
	in.selectFlags.addFlags(f, wayKept)
	in.releaseFlags.addFlags(f)
	f.StringVar(&in.name, "name", "", "name of the configuration in the workspace, and of its plan (default: that of its file)")
	f.StringVar(&in.workspace, "workspace", defaultWorkspace, "folder for plans, cache and cluster-resources")
}

// session is a run's hold on its workspace and its view of the sources.
type session struct {
	*workspace.Workspace
	cache  *layout.Layout
	origin *mirror.Origin
	client *remote.Client // for the sources
}

// open takes the workspace and makes the client for the sources.
func (a *app) open(in inputs, s *sides) (*session, error) {
	if err := in.releaseFlags.check(); err != nil {
		return nil, err
	}
	client, err := a.client(s, remote.Source)
	if err != nil {
		return nil, err
	}
	dir := strings.TrimPrefix(in.workspace, fileScheme)
	if dir == "" {
		return nil, usagef("--workspace names no folder")
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		return nil, adviseWorkspace(err)
	}
	cache, err := layout.Create(ws.CacheDir(), layout.Options{NoSync: true})
	if err == nil {
		old := time.Now().Add(-cacheAge)
		err = errors.Join(cache.Expire(old, cacheSmall), workspace.OpenSnapshots(ws.CacheDir()).Expire(old))
	}
	if err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	return &session{Workspace: ws, cache: cache, origin: mirror.NewOrigin(client, cache), client: client}, nil
}

// meet begins to speak to the registry; what it returns ends that.
func (t *registryTarget) meet(ctx context.Context) (leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	var g sync.WaitGroup
	g.Go(func() { t.client.Meet(ctx, reference.Reference{Host: t.Host, Path: t.Prefix}) })
	return func() {
		cancel()
		g.Wait()
	}
}

// leave lets go of the workspace. The lock ends with the process, too.
func (a *app) leave(s *session) {
	if err := s.Close(); err != nil {
		a.log.Warn("leaving the workspace", "error", err)
	}
}

// from is where plans are made from in this session.
func (s *session) from() plan.From {
	return plan.From{
		Images: s.origin.Planning(), Files: files{}, Store: s.cache,
		Database: sqlite.Stream, Snapshots: workspace.OpenSnapshots(s.CacheDir()),
	}
}

// makePlan makes the plan of the configuration that was loaded, and keeps it.
func (a *app) makePlan(ctx context.Context, in inputs, s *session, sides *sides) (*plan.Plan, error) {
	streams, err := sides.streams()
	if err != nil {
		return nil, err
	}
	name := in.planName()
	if err := s.claim(in, name); err != nil {
		return nil, err
	}
	tells := a.updates(s.client, in.loaded.Mirror.Platform, in.releaseFlags)
	if wantsReleases(in.loaded.Mirror.Platform) && !in.releaseFlags.ignore {
		if err := tells.check(); err != nil {
			return nil, err
		}
	}
	a.say("planning %s", in.config)
	var done, images atomic.Int64
	stop := a.show("planning", func() progress.Reading {
		return progress.Reading{Images: images.Load(), ImagesDone: done.Load()}
	})
	from := s.from()
	from.Updates = tells
	a.sayTrust(in.releaseFlags, wantsReleases(in.loaded.Mirror.Platform))
	p, err := plan.Make(ctx, in.loaded, name, from, plan.Options{
		Jobs: streams, Log: a.log, Warn: func(text string) { a.warn("%s", text) }, Installed: in.operators, Clusters: in.running(), IgnoreReleaseSignatures: in.releaseFlags.ignore,
		Progress: func(n, of int) { done.Store(max(done.Load(), int64(n))); images.Store(int64(of)) },
	})
	stop()
	if err != nil {
		return nil, err
	}
	if err := s.SavePlan(p.Name, p.Write); err != nil {
		return nil, err
	}
	return p, s.keepClaim(in, name)
}

// load reads the configuration and what belongs to it.
func (in *inputs) load() error {
	if err := in.checkName(); err != nil {
		return err
	}
	if err := in.selectFlags.load(); err != nil {
		return err
	}
	return in.leads()
}

// readPlan reads a plan that was written with -o.
func readPlan(path string) (*plan.Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("--plan: %w", err)
	}
	p, err := plan.Read(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	return p, nil
}

// loadPlan reads a plan and builds those of its catalogs again that this
// workspace does not have.
func (a *app) loadPlan(ctx context.Context, path string, s *session, f releaseFlags) (*plan.Plan, error) {
	p, err := readPlan(path)
	if err != nil {
		return nil, err
	}
	if err := a.verifyReleases(s.client, p, f); err != nil {
		return nil, err
	}
	if g := p.GraphData; g != nil {
		if _, there := s.cache.Size(g.Digest); !there {
			if err := a.rebuildGraph(ctx, g, s); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range p.Catalogs {
		if there, err := s.cached(p, c.Digest); err != nil {
			return nil, err
		} else if there || !c.Built {
			continue
		}
		a.say("building catalog %s again", c.Source)
		if err := plan.Rebuild(ctx, c, s.from()); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// cached reports whether all of an image that was built for the plan is in the
// cache.
func (s *session) cached(p *plan.Plan, d digest.Digest) (bool, error) {
	contents, err := p.Contents()
	if err != nil {
		return false, err
	}
	there := true
	look := func(d digest.Digest) {
		if _, ok := s.cache.Size(d); !ok {
			there = false
		}
	}
	err = contents.Walk(d,
		func(m *plan.Manifest) error { look(m.Digest); return nil },
		func(b plan.Blob) error { look(b.Digest); return nil })
	return there, err
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func safeName(s string) string {
	s = strings.TrimLeft(notInName.ReplaceAllString(s, "-"), ".-")
	if s == "" {
		return "imageset"
	}
	return s
}
