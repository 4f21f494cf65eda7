package site

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
	"github.com/gantry-mirror/gantry/pkg/state/lease"
)

// LeaseRepository is the name of the repository of leases in a mirror (mirror.RegistryPath.OwnRepository).
const LeaseRepository = "lease"

// Lease acquires the lease of a registry, so that no other run changes it from whatever host. The
// context that it returns ends if another run takes the lease over. release must be called, also after
// that. If another run has the lease, the error is a *lease.HeldError. If the registry refuses the
// repository of leases, the run continues without one, after a warning.
func Lease(ctx context.Context, s *workspace.Session, t *RegistryDestination) (_ context.Context, release func(), err error) {
	return LeaseFor(ctx, s, t, plan.Shard{}, "")
}

// LeaseFor is lease for a shard of the plan with a digest. Runs of other shards of this plan share the registry.
func LeaseFor(ctx context.Context, s *workspace.Session, t *RegistryDestination, of plan.Shard, group digest.Digest) (_ context.Context, release func(), err error) {
	e := s.Env
	store := &LeaseStore{Client: t.Client, Repository: t.OwnRepository(LeaseRepository)}
	previous := s.Workspace.Lease(t.Key())
	o := lease.Options{
		Host: lockfile.Host(), User: env.UserName(e.Variable), Machine: lockfile.Machine(), Process: os.Getpid(),
		Ended: func(r lease.Record) bool { return r.ID == previous || hasEnded(r) },
		Began: func(id string) error { return s.SaveLease(t.Key(), id) },
		TookOver: func(from lease.Record) {
			s.Audit(audit.Entry{Event: audit.LeaseTakenOver, Subject: store.Repository.Name(), By: from.Owner()})
			e.Noticef("the last run to %s did not end properly (%s); continuing in its place", t, from.Owner())
		},
		Say:  func(text string) { e.Noticef("%s", text) },
		Warn: func(err error) { e.Warnf("the lease of %s cannot be renewed, so other runs may begin: %v", t, err) },
	}
	if (of != plan.Shard{}) {
		o.Shard, o.Group = of.String(), group.String()
	}
	l, err := lease.Acquire(ctx, store, o)
	var held *lease.HeldError
	switch {
	case errors.As(err, &held):
		held.Where = t.String()
		return ctx, nil, held
	case ctx.Err() != nil:
		return ctx, nil, context.Cause(ctx)
	case err != nil && store.failed && (errors.Is(err, remote.ErrUnreachable) || errors.Is(err, remote.ErrUntrusted)), err != nil && !store.failed:
		return ctx, nil, err
	case err != nil:
		hint := "; permit pushes to the repository " + store.Repository.Name()
		if errors.Is(err, remote.ErrReadOnly) {
			hint = ""
		}
		e.Warnf("%s has no lease, so that runs on other hosts can change it at the same time: %v%s", t, err, hint)
		return ctx, func() {}, nil
	}
	leased, end := l.Hold(ctx)
	return leased, func() {
		if err := end(); err != nil {
			e.Logger().Warn("releasing the lease", "repository", store.Repository.Name(), "error", err)
		}
	}, nil
}

// hasEnded reports whether the run of a lease was on this machine and is not running.
func hasEnded(r lease.Record) bool {
	return r.Machine != "" && r.Machine == lockfile.Machine() && r.Process != os.Getpid() && !lockfile.IsRunning(r.Process)
}

// HeldByOther returns the repository of leases of a mirror, and a *lease.HeldError if a run has a lease of it.
// It does not acquire one.
func (t *RegistryDestination) HeldByOther(ctx context.Context) (reference.Reference, error) {
	store := &LeaseStore{Client: t.Client, Repository: t.OwnRepository(LeaseRepository)}
	err := lease.Check(ctx, store, hasEnded)
	if held, ok := errors.AsType[*lease.HeldError](err); ok {
		held.Where = t.String()
	}
	return store.Repository, err
}

// Lost returns the error of a run that ended because another one took its lease over, or err.
func Lost(ctx context.Context, t Destination, err error) error {
	var l *lease.LostError
	if err == nil || !errors.As(context.Cause(ctx), &l) {
		return err
	}
	l.Where = t.Registry().String()
	return l
}

// A LeaseStore keeps leases in a repository of a registry.
type LeaseStore struct {
	Client     *remote.Client
	Repository reference.Reference
	failed     bool // a request failed
	docker     bool // the registry refused the media types of OCI
}

// Tags implements lease.Registry.
func (s *LeaseStore) Tags(ctx context.Context) ([]string, error) {
	tags, err := s.Client.Tags(ctx, s.Repository, 0)
	if errors.Is(err, remote.ErrNotFound) {
		return nil, nil
	}
	s.failed = s.failed || err != nil
	return tags, err
}

// Read implements lease.Registry.
func (s *LeaseStore) Read(ctx context.Context, tag string) ([]byte, error) {
	_, raw, err := s.Client.Manifest(ctx, s.Repository.WithTag(tag))
	if errors.Is(err, remote.ErrNotFound) {
		return nil, nil
	}
	s.failed = s.failed || err != nil
	return raw, err
}

// Write implements lease.Registry. A registry that refuses the media types of OCI gets an image of Docker.
func (s *LeaseStore) Write(ctx context.Context, tag string, raw []byte) error {
	var err error
	if !s.docker {
		err = s.write(ctx, tag, raw)
	}
	if s.docker || remote.MayRefuseType(err) {
		if _, again := s.Client.PushDockerArtifact(ctx, s.Repository.WithTag(tag), raw); again == nil || s.docker {
			s.docker, err = true, again
		}
	}
	s.failed = s.failed || err != nil
	return err
}

// write writes the manifest as it is. The first time, the registry does not have the empty blob that the
// manifest names, and refuses it.
func (s *LeaseStore) write(ctx context.Context, tag string, raw []byte) error {
	put := func() error {
		return s.Client.PushManifest(ctx, s.Repository.WithTag(tag), ocispec.MediaTypeImageManifest, raw)
	}
	err := put()
	var refused *remote.Error
	if errors.Is(err, remote.ErrBlobUnknown) || errors.As(err, &refused) && (refused.Status == 400 || refused.Status == 404) {
		empty := ocispec.DescriptorEmptyJSON
		_, pushErr := s.Client.PushBlob(ctx, s.Repository, empty, nil, func(_ context.Context, offset int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(empty.Data[offset:])), nil
		})
		if err = pushErr; err == nil {
			err = put()
		}
	}
	return err
}

// Now implements lease.Registry.
func (s *LeaseStore) Now() time.Time { return s.Client.ServerTime(s.Repository) }
