package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/space"
	"github.com/gantry-mirror/gantry/plan"
)

// The schemes of destinations; each is a workflow.
const (
	dockerScheme = "docker://"
	fileScheme   = "file://"
	ociScheme    = "oci://"
)

// A target is a destination as the workflow that its scheme asks for.
type target interface {
	// look says what the destination lacks.
	look(ctx context.Context, p *plan.Plan) (*mirror.Missing, error)
	// mirror brings the plan there.
	mirror(ctx context.Context, p *plan.Plan, source mirror.Source, opts mirror.Options) (*mirror.Report, error)
	// registry is the target as a mirror that clusters pull from; nil for one
	// that is only carried.
	registry() *registryTarget
}

// targetOptions are the flags that destinations differ by.
type targetOptions struct {
	sides          *sides
	maxNestedPaths int
	strictArchive  bool
	volumeSize     int64 // of an archive, in bytes; 0 is what the plan says
	addToLayout    bool  // what a layout lists under other names stays
	checkBlobs     bool  // a registry is asked for every blob, a layout read
	sign           func(ctx context.Context, manifest io.Reader) (signature []byte, err error)
	encrypt        *archive.Encryption // nil where archives are not encrypted
}

func (a *app) target(destination string, opts targetOptions) (target, error) {
	streams, err := opts.sides.streams()
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(destination, dockerScheme):
		d, err := mirror.ParseDestination(destination, opts.maxNestedPaths)
		if err != nil {
			return nil, &usageError{err}
		}
		client, err := a.client(opts.sides, remote.Destination)
		if err != nil {
			return nil, err
		}
		t := &registryTarget{Destination: d, client: client, streams: streams, checkBlobs: opts.checkBlobs}
		t.site = carry.Site{Name: t.key(), Registry: t.sink, Streams: streams, CheckBlobs: opts.checkBlobs}
		return t, nil
	case opts.maxNestedPaths != 0:
		return nil, usageHint("give it when the content is pushed", "--max-nested-paths is for docker:// destinations and %s keeps the paths", destination)
	case strings.HasPrefix(destination, fileScheme) && len(destination) > len(fileScheme):
		return &archiveTarget{dir: destination[len(fileScheme):], opts: archive.Options{
			VolumeSize: opts.volumeSize, Strict: opts.strictArchive, Replace: true, Sign: opts.sign, Encrypt: opts.encrypt, Log: a.log,
		}}, nil
	case strings.HasPrefix(destination, ociScheme) && len(destination) > len(ociScheme):
		return &layoutTarget{dir: destination[len(ociScheme):], add: opts.addToLayout, checkBlobs: opts.checkBlobs}, nil
	}
	return nil, usageHint("write docker://HOST[:PORT][/PREFIX], file://DIR or oci://DIR", "destination %q", destination)
}

// fatal says which errors of a destination end a run: they would meet every
// image. What a registry denies in one repository does not.
func fatal(err error) bool {
	return errors.Is(err, remote.ErrUnauthorized) && !errors.Is(err, remote.ErrDenied) || errors.Is(err, remote.ErrUnreachable) || errors.Is(err, remote.ErrUntrusted) ||
		errors.Is(err, remote.ErrReadOnly) ||
		space.IsFull(err) || errors.Is(err, syscall.EROFS)
}

// registryTarget is a mirror registry.
type registryTarget struct {
	mirror.Destination
	client     *remote.Client
	streams    int
	checkBlobs bool
	names      map[string]reference.Reference
	site       carry.Site // what it is to an archive that is brought there
}

func (t *registryTarget) registry() *registryTarget { return t }

// nameAll finds the names that the plan's repositories have there. A part of a
// plan keeps the names of the whole.
func (t *registryTarget) nameAll(p *plan.Plan) (err error) {
	unnamed := func(repository string) bool { return t.names[repository].Path == "" }
	if t.names != nil && !slices.ContainsFunc(p.Images, func(img plan.Image) bool { return unnamed(img.Repository) }) && !slices.ContainsFunc(t.site.Others, unnamed) {
		return nil
	}
	if t.names, err = t.Names(p); err != nil {
		return &usageError{err}
	}
	for _, repository := range t.site.Others {
		if _, ok := t.names[repository]; !ok {
			t.names[repository] = t.Name(repository)
		}
	}
	return nil
}

func (t *registryTarget) sink(p *plan.Plan) (mirror.Registry, error) {
	if err := t.nameAll(p); err != nil {
		return nil, err
	}
	return mirror.ToRegistry(t.client, t.names), nil
}

func (t *registryTarget) look(ctx context.Context, p *plan.Plan) (*mirror.Missing, error) {
	sink, err := t.sink(p)
	if err != nil {
		return nil, err
	}
	return mirror.Look(ctx, p, sink, mirror.Options{Streams: t.streams, CheckBlobs: t.checkBlobs, Elsewhere: t.site.Elsewhere})
}

func (t *registryTarget) mirror(ctx context.Context, p *plan.Plan, source mirror.Source, opts mirror.Options) (*mirror.Report, error) {
	sink, err := t.sink(p)
	if err != nil {
		return &mirror.Report{}, err
	}
	opts.CheckBlobs, opts.Elsewhere = t.checkBlobs, t.site.Elsewhere
	return mirror.Run(ctx, p, source, sink, opts)
}
