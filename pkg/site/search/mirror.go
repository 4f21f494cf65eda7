package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/draft"
	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// The repositories of platform releases in a mirror, as oc mirror names them.
const (
	payloadsRepository   = "openshift/release-images"
	componentsRepository = "openshift/release"
	graphRepository      = "openshift/graph-image"
)

// searchStreams is how many repositories are read at the same time.
const searchStreams = 8

// usualCatalogs are searched if the registry does not list its repositories.
func usualCatalogs() []string {
	return []string{"redhat/redhat-operator-index", "redhat/certified-operator-index", "redhat/community-operator-index", "redhat/redhat-marketplace-index"}
}

// Mirror finds the catalogs and releases of a registry. more are paths of catalogs that the user
// named.
func Mirror(ctx context.Context, e *env.Env, t *site.RegistryDestination, folder string, more []string) (*draft.Mirror, error) {
	s, err := search(ctx, e, t, folder, more, true)
	if err != nil {
		return nil, err
	}
	if s.listed {
		for _, path := range slices.Sorted(maps.Keys(s.others)) {
			if !s.named[path] {
				s.found.Others = append(s.found.Others, path)
			}
		}
	}
	return &s.found, nil
}

// A Listing is what the registry of a mirror lists.
type Listing struct {
	// Catalogs are without their packages.
	Catalogs []draft.MirroredCatalog
	// Releases are the tags of payloads: "4.20.5-x86_64".
	Releases []string
	// Tags are those of all repositories, by their path without the mirror's prefix.
	Tags map[string][]string
	// Complete says that the registry lists its repositories. Otherwise, the usual paths were read.
	Complete bool
}

// List is Mirror without reading the catalogs, and with all tags.
func List(ctx context.Context, e *env.Env, t *site.RegistryDestination, folder string) (*Listing, error) {
	s, err := search(ctx, e, t, folder, nil, false)
	if err != nil {
		return nil, err
	}
	tags, err := t.Client.Tags(ctx, t.Repository(componentsRepository), 0)
	if err != nil && !errors.Is(err, remote.ErrNotFound) {
		return nil, err
	}
	s.keepTags(componentsRepository, tags)
	return &Listing{Catalogs: s.found.Catalogs, Releases: s.found.Releases, Tags: s.tags, Complete: s.listed}, nil
}

// KindOf returns what the images of a repository are if its path says it: releases, their components or graph data.
func KindOf(path string) plan.ImageKind {
	return map[string]plan.ImageKind{payloadsRepository: plan.ReleaseImage, componentsRepository: plan.ComponentImage, graphRepository: plan.GraphImage}[path]
}

// search reads the repositories of a registry. read says that catalogs are read.
func search(ctx context.Context, e *env.Env, t *site.RegistryDestination, folder string, more []string, read bool) (*mirrorSearch, error) {
	paths, listed, err := mirrorRepositories(ctx, e, t, more)
	if err != nil {
		return nil, err
	}
	r, err := workspace.OpenSources(e, env.WorkspaceDir(folder))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
	s := &mirrorSearch{target: t, sources: r, read: read, listed: listed, warn: e.Warnf, named: map[string]bool{}, tags: map[string][]string{}, found: draft.Mirror{Host: t.Host}}
	if err := s.releases(ctx); err != nil {
		return nil, err
	}
	total := int64(len(paths))
	stop := env.Show(e.Observer, "searching the mirror", func() progress.Reading {
		s.mu.Lock()
		defer s.mu.Unlock()
		return progress.Reading{Total: total, Done: s.done, Moved: s.done}
	})
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(searchStreams)
	for _, path := range paths {
		g.Go(func() error { return s.repository(ctx, path) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	elements.Sort(s.found.Catalogs, func(a, b draft.MirroredCatalog) int { return strings.Compare(a.Image, b.Image) })
	return s, nil
}

// mirrorRepositories returns the paths below the mirror's prefix that may be catalogs, and whether the
// registry listed them.
func mirrorRepositories(ctx context.Context, e *env.Env, t *site.RegistryDestination, more []string) (paths []string, listed bool, err error) {
	all, err := t.Client.AllRepositories(ctx, t.Host)
	switch {
	case ctx.Err() != nil, errors.Is(err, remote.ErrUnreachable), errors.Is(err, remote.ErrUntrusted):
		return nil, false, err
	case err != nil:
		e.Logger().Info("the registry does not list its repositories", "error", err)
		e.Warnf("%s does not list its repositories: only the usual paths of catalogs and releases are read", t.Host)
		return slices.Concat(usualCatalogs(), more), false, nil
	}
	for _, name := range all {
		path, ok := strings.CutPrefix(name, strings.TrimPrefix(t.Prefix+"/", "/"))
		if ok && !site.IsOwn(name) && path != payloadsRepository && path != componentsRepository && path != graphRepository {
			paths = append(paths, path)
		}
	}
	return paths, true, nil
}

// A mirrorSearch reads the repositories of a mirror.
type mirrorSearch struct {
	target  *site.RegistryDestination
	sources *workspace.Sources
	read    bool // the content of catalogs
	listed  bool // the registry lists its repositories
	warn    func(format string, args ...any)

	mu     sync.Mutex
	done   int64
	found  draft.Mirror
	named  map[string]bool // the repositories of images that catalogs name
	others map[string]bool // repositories that are no catalogs
	tags   map[string][]string
}

// keepTags keeps the tags of a repository, if there are any.
func (s *mirrorSearch) keepTags(path string, tags []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(tags) > 0 {
		s.tags[path] = slices.Clone(tags)
	}
}

// releases finds the payloads and the graph data.
func (s *mirrorSearch) releases(ctx context.Context) error {
	tags, err := s.target.Client.Tags(ctx, s.target.Repository(payloadsRepository), 0)
	if err != nil && !errors.Is(err, remote.ErrNotFound) {
		return err
	}
	s.found.Releases = tags
	s.keepTags(payloadsRepository, tags)
	tags, err = s.target.Client.Tags(ctx, s.target.Repository(graphRepository), 1)
	if err != nil && !errors.Is(err, remote.ErrNotFound) {
		return err
	}
	s.found.Graph = len(tags) > 0
	s.keepTags(graphRepository, tags)
	return nil
}

// NotCatalog matches the tags of signatures and of images that were mirrored by digest.
var NotCatalog = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256-[0-9a-f]{64}`) })

// repository reads the catalogs of a repository. Every tag of a catalog's repository is one.
func (s *mirrorSearch) repository(ctx context.Context, path string) error {
	defer func() {
		s.mu.Lock()
		s.done++
		s.mu.Unlock()
	}()
	repo := s.target.Repository(path)
	tags, err := s.target.Client.Tags(ctx, repo, 0)
	if errors.Is(err, remote.ErrNotFound) {
		return nil // deleted, or a usual path that this mirror does not have
	}
	if !s.read && (errors.Is(err, remote.ErrDenied) || errors.Is(err, remote.ErrUnauthorized)) {
		s.warn("%s is left out: %s", repo, env.ErrorText(err))
		return nil
	}
	if err != nil {
		return err
	}
	s.keepTags(path, tags)
	tags = slices.DeleteFunc(tags, NotCatalog().MatchString)
	for _, tag := range tags {
		ref := repo.WithTag(tag)
		src, err := s.sources.Open(ctx, env.RegistryScheme+ref.String())
		if errors.Is(err, image.ErrNoCatalog) || errors.Is(err, remote.ErrNotFound) || err == nil && src.Kind == source.Bundle {
			break
		}
		c := &catalog.Catalog{}
		if err == nil && s.read {
			c, err = src.Read(ctx, catalog.Options{})
		}
		if err != nil {
			return fmt.Errorf("reading catalog %s: %w", ref, err)
		}
		s.catalog(path, ref, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.found.Catalogs, func(c draft.MirroredCatalog) bool { return c.Path == path }) {
		if s.others == nil {
			s.others = map[string]bool{}
		}
		s.others[path] = true
	}
	return nil
}

// catalog adds a catalog and the images that it names.
func (s *mirrorSearch) catalog(path string, ref reference.Reference, c *catalog.Catalog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.Catalogs = append(s.found.Catalogs, draft.MirroredCatalog{Path: path, Image: ref.String(), Packages: c.Packages})
	for _, p := range c.Packages {
		for _, b := range p.Bundles {
			names := []string{b.Image}
			for _, related := range b.RelatedImages {
				names = append(names, related.Image)
			}
			for _, name := range names {
				if at, err := reference.Parse(name); err == nil {
					s.named[at.Path] = true
				}
			}
		}
	}
}
