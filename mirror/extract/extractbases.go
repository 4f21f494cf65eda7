package extract

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// A basePlace has content of earlier archives: a layout or a mirror. What it does not have is an error that wraps
// fs.ErrNotExist.
type basePlace interface {
	// blob opens a blob that a plan has in a repository.
	blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
	// manifest reads a manifest that a plan has in a repository.
	manifest(ctx context.Context, repository string, d digest.Digest) (ocispec.Descriptor, []byte, error)
}

// extractBases are where content is read that an archive does not have.
type extractBases struct {
	mirrors []*site.RegistryDestination
	places  []basePlace // the mirrors among them
}

// openBases opens Bases. Folders of archives are added to Folders.
func (o *Options) openBases(e *env.Env) (*extractBases, error) {
	b := &extractBases{}
	for _, text := range o.Bases {
		switch {
		case strings.HasPrefix(text, env.ArchiveScheme):
			o.Folders = append(o.Folders, text)
		case strings.HasPrefix(text, env.LayoutScheme):
			l, err := layout.Open(text[len(env.LayoutScheme):])
			if err != nil {
				return nil, env.Inputf("Options.Bases %s: %w", text, err)
			}
			b.places = append(b.places, layoutBase{l})
		case strings.HasPrefix(text, env.RegistryScheme):
			t, err := site.OpenDestination(e, text, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
			if err != nil {
				return nil, err
			}
			b.mirrors = append(b.mirrors, t.Registry())
			b.places = append(b.places, mirrorBase{t.Registry(), site.NewMirrorImages(t.Registry().Client)})
		default:
			return nil, env.InputHint("write docker://HOST[:PORT][/PREFIX], oci://DIR or file://DIR", "Options.Bases %q", text)
		}
	}
	if o.MaxNestedPaths != 0 && len(b.mirrors) == 0 {
		return nil, env.Inputf("Options.MaxNestedPaths is for docker:// in Options.Bases")
	}
	return b, nil
}

// source returns a reader of the content of a plan: from its archive, and what the archive omits, or has as a delta
// of something else, from the bases.
func (b *extractBases) source(have *archive.Archive, p *plan.Plan) (image.Reader, error) {
	if len(b.places) == 0 {
		return have, nil
	}
	for _, t := range b.mirrors {
		t.Site.BaseReader(have, p) // so that repositories of earlier plans are named, too
		if err := t.NameAll(p); err != nil {
			return nil, err
		}
	}
	have.UseBases(func(ctx context.Context, base archive.DeltaBase) (io.ReadCloser, error) {
		return b.blob(ctx, base.Repository, base.Descriptor(), 0)
	})
	c := &completedArchive{Archive: have, bases: b, repositories: map[string]string{}}
	for i := range p.Images {
		c.repositories[p.Images[i].Source] = p.Images[i].Repository
	}
	return c, nil
}

// blob opens a blob in the first place that has it.
func (b *extractBases) blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (body io.ReadCloser, err error) {
	for _, place := range b.places {
		if body, err = place.blob(ctx, repository, desc, offset); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return body, err
}

// A completedArchive is an archive with what it omits. Only the images of one plan can be read.
type completedArchive struct {
	*archive.Archive
	bases        *extractBases
	repositories map[string]string // by the sources of images
}

// Blob implements image.Reader.
func (c *completedArchive) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := c.Archive.Blob(ctx, from, desc, offset)
	if !errors.Is(err, fs.ErrNotExist) || c.Archive.Has(desc) {
		return body, err
	}
	for _, repository := range []string{c.repositories[from], c.RepositoryOf(desc.Digest)} {
		if repository == "" {
			continue
		}
		if there, absent := c.bases.blob(ctx, repository, desc, offset); !errors.Is(absent, fs.ErrNotExist) {
			return there, absent
		}
	}
	return nil, err
}

// UnhashedBlob is Blob: what comes from the bases is compared with its digest.
func (c *completedArchive) UnhashedBlob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return c.Blob(ctx, from, desc, offset)
}

// Manifest implements image.Reader.
func (c *completedArchive) Manifest(ctx context.Context, from string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	desc, raw, err := c.Archive.Manifest(ctx, from, d)
	for _, place := range c.bases.places {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		desc, raw, err = place.manifest(ctx, c.repositories[from], d)
	}
	return desc, raw, err
}

// A layoutBase is an OCI image layout.
type layoutBase struct{ *layout.Layout }

func (l layoutBase) blob(ctx context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return l.Blob(ctx, desc, offset)
}

func (l layoutBase) manifest(ctx context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	size, ok := l.Size(d)
	if !ok {
		return ocispec.Descriptor{}, nil, fs.ErrNotExist
	}
	desc := ocispec.Descriptor{Digest: d, Size: size}
	raw, err := l.Read(ctx, desc, manifest.MaxSize)
	desc.MediaType = manifest.TypeOf(raw)
	return desc, raw, err
}

// A mirrorBase is a mirror whose repositories have names.
type mirrorBase struct {
	mirror *site.RegistryDestination
	images *site.MirrorImages
}

func (m mirrorBase) blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return m.mirror.Client.Blob(ctx, m.mirror.Names[repository], desc, offset)
}

func (m mirrorBase) manifest(ctx context.Context, repository string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	return m.images.Manifest(ctx, m.mirror.Names[repository].String(), d)
}
