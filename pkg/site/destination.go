package site

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// A Destination is what a plan is copied to.
type Destination interface {
	// Compare returns what the destination lacks of a plan.
	Compare(ctx context.Context, p *plan.Plan) (*mirror.ToCopy, error)
	// Copy copies what the destination lacks of a plan.
	Copy(ctx context.Context, p *plan.Plan, source image.Reader, opts mirror.Options) (*mirror.Report, error)
	// Registry returns the destination as a registry that clusters pull from, or nil.
	Registry() *RegistryDestination
}

// DestinationOptions are options for single kinds of destinations.
type DestinationOptions struct {
	// MaxNestedPaths is how many path components a registry allows; 0 is no limit.
	MaxNestedPaths int
	Volumes
	// KeepLayout keeps what a layout lists under other names.
	KeepLayout bool
	// CheckBlobs asks a registry for every blob, and reads those of a layout. ReadBlobs reads those
	// of a registry, too, and its manifests.
	CheckBlobs, ReadBlobs bool
	// RenameCatalogs forgets the names of the catalogs' objects.
	RenameCatalogs bool
	// Sign returns the signature of an archive's set manifest. Nil signs nothing.
	Sign func(ctx context.Context, manifest io.Reader) (signature []byte, err error)
}

// Volumes say how the volumes of an archive are written.
type Volumes struct {
	// StrictArchive refuses a blob larger than a volume instead of splitting it.
	StrictArchive bool
	// VolumeSize is the maximum size of an archive's volumes in bytes. The default is the one of
	// the configuration.
	VolumeSize int64
	// Redundancy is the percentage of an archive's volumes for which parity files are added, 1 to 100. Lost or
	// damaged volumes can be rebuilt from them, see rebuild.Archive. 0 adds none.
	Redundancy int
	// EncryptTo has the recipients that an archive is encrypted to. Nil does not encrypt it.
	EncryptTo *archive.Encryption
}

// OpenDestination returns the destination that a text such as "docker://mirror.example.com/ocp"
// names. Nothing is connected or written.
func OpenDestination(e *env.Env, destination string, opts DestinationOptions) (Destination, error) {
	streams, err := env.Streams(&e.Registries)
	if err != nil {
		return nil, err
	}
	if dir, ok := strings.CutPrefix(destination, env.ArchiveScheme); ok || strings.HasPrefix(destination, env.LayoutScheme) {
		dir = strings.TrimPrefix(dir, env.LayoutScheme)
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, env.InputHint("name a folder", "%s is no folder", redact.Address(destination))
		}
	}
	switch {
	case strings.HasPrefix(destination, env.RegistryScheme):
		d, err := mirror.ParseRegistryPath(destination, opts.MaxNestedPaths)
		if err != nil {
			return nil, advice.Wrap(advice.Input, err, "")
		}
		client, err := e.Client(remote.Destination)
		if err != nil {
			return nil, err
		}
		t := &RegistryDestination{RegistryPath: d, Client: client, Streams: streams, CheckBlobs: opts.CheckBlobs || opts.ReadBlobs, ReadBlobs: opts.ReadBlobs, RenameCatalogs: opts.RenameCatalogs}
		t.Site = airgap.Site{Name: t.Key(), Registry: t.Push, Streams: streams, CheckBlobs: t.CheckBlobs}
		return t, nil
	case opts.MaxNestedPaths != 0:
		return nil, env.InputHint("set it when the content is pushed to a registry", "Options.MaxNestedPaths is for docker:// destinations, and %s keeps the paths", destination)
	case strings.HasPrefix(destination, env.ArchiveScheme) && len(destination) > len(env.ArchiveScheme):
		return &ArchiveDestination{dir: destination[len(env.ArchiveScheme):], Opts: archive.Options{
			VolumeSize: opts.VolumeSize, Redundancy: opts.Redundancy, Strict: opts.StrictArchive, Replace: true, Sign: opts.Sign, Encrypt: opts.EncryptTo, Log: e.Logger(),
			WatchParity: func(total int64, done func() int64) func() {
				return env.Show(e.Observer, "computing parity", func() progress.Reading {
					return progress.Reading{Total: total, Done: done(), Moved: done()}
				})
			},
		}}, nil
	case strings.HasPrefix(destination, env.LayoutScheme) && len(destination) > len(env.LayoutScheme):
		return &LayoutDestination{Dir: destination[len(env.LayoutScheme):], Keep: opts.KeepLayout, CheckBlobs: opts.CheckBlobs || opts.ReadBlobs}, nil
	}
	return nil, env.InputHint("write docker://HOST[:PORT][/PREFIX], file://DIR or oci://DIR", "unknown destination %q", redact.Address(destination))
}

// Fatal reports whether an error of a destination ends a run because it concerns every image. A
// request that a registry denies in one repository does not.
func Fatal(err error) bool {
	return errors.Is(err, remote.ErrUnauthorized) && !errors.Is(err, remote.ErrDenied) || errors.Is(err, remote.ErrUnreachable) || errors.Is(err, remote.ErrUntrusted) ||
		errors.Is(err, remote.ErrReadOnly) ||
		space.IsFull(err) || errors.Is(err, syscall.EROFS)
}

// A RegistryDestination is a mirror registry.
type RegistryDestination struct {
	mirror.RegistryPath
	Client  *remote.Client
	Streams int // blobs that are copied at the same time

	CheckBlobs bool
	ReadBlobs  bool
	Names      map[string]reference.Reference // in the mirror, by those of the plan
	Site       airgap.Site                    // as an archive that is imported sees it
	// AliasOf is the Key of a mirror of the workspace if this is another name of it, else "".
	AliasOf string
	// Offline means that this run does not connect to the registry.
	Offline bool
	// reached is closed when the registry was reached and accepted the credentials; nil if this run does not connect to it.
	reached chan struct{}
	// RenameCatalogs forgets the names that catalogs have in cluster resources.
	RenameCatalogs bool
	// Suffix is the one of the names of mirror sets, and SuffixNote why it is used; see cluster.NameObjects.
	Suffix, SuffixNote string
	// Format is the one of the record of the image set that is mirrored.
	Format manifest.Format
	// WarnedTags are the tags of other image sets that were warned about.
	WarnedTags map[string]bool
	// Recorded are the records that the mirror itself has, by image set, and unreadable the tags of those
	// that cannot be read. RecordProblem is why no record can be read; see SyncRecords.
	Recorded      map[string]RecordedSet
	unreadable    []string
	RecordProblem error
	// announced are the plans that this run recorded in the mirror before it pushed.
	announced []setrecord.Pending
}

// Registry returns t.
func (t *RegistryDestination) Registry() *RegistryDestination { return t }

// NameAll sets the names of the plan's repositories in the mirror. A part of a plan has the same
// names as the whole plan.
func (t *RegistryDestination) NameAll(p *plan.Plan) (err error) {
	unnamed := func(repository string) bool { return t.Names[repository].Path == "" }
	if t.Names != nil && !slices.ContainsFunc(p.Images, func(img plan.Image) bool { return unnamed(img.Repository) }) && !slices.ContainsFunc(t.Site.OtherRepositories, unnamed) {
		return nil
	}
	if t.Names, err = t.Repositories(p); err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	for _, repository := range t.Site.OtherRepositories {
		if _, ok := t.Names[repository]; !ok {
			t.Names[repository] = t.Repository(repository)
		}
	}
	return nil
}

// Push returns the registry as package mirror writes to it.
func (t *RegistryDestination) Push(p *plan.Plan) (mirror.Registry, error) {
	if err := t.NameAll(p); err != nil {
		return nil, err
	}
	return mirror.NewRegistryDestination(t.Client, t.Names), nil
}

// Compare implements Destination.
func (t *RegistryDestination) Compare(ctx context.Context, p *plan.Plan) (*mirror.ToCopy, error) {
	to, err := t.Push(p)
	if err != nil {
		return nil, err
	}
	return mirror.Compare(ctx, p, to, mirror.Options{Streams: t.Streams, CheckBlobs: t.CheckBlobs, ReadBlobs: t.ReadBlobs, MountFrom: t.Site.MountFrom})
}

// Copy implements Destination.
func (t *RegistryDestination) Copy(ctx context.Context, p *plan.Plan, source image.Reader, opts mirror.Options) (*mirror.Report, error) {
	to, err := t.Push(p)
	if err != nil {
		return &mirror.Report{}, err
	}
	opts.SampleBlobs, opts.CheckBlobs, opts.ReadBlobs, opts.MountFrom = true, t.CheckBlobs, t.ReadBlobs, t.Site.MountFrom
	return mirror.Run(ctx, p, source, to, opts)
}

// InMirror returns the repository of the mirror for a repository of the plan. It is valid after
// Push was called for the plan.
func (t *RegistryDestination) InMirror(repository string) reference.Reference {
	return t.Names[repository]
}

// String returns docker://HOST[/PREFIX].
func (t *RegistryDestination) String() string {
	return env.RegistryScheme + strings.TrimSuffix(t.Host+"/"+t.Prefix, "/")
}
