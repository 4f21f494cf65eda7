package airgap

import (
	"context"
	"errors"
	"io"
	"io/fs"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A Site is the mirror that an archive is imported into.
type Site struct {
	// Name is the name of the mirror in the workspace.
	Name string
	// Registry returns the mirror for a plan, including OtherRepositories.
	Registry func(*plan.Plan) (mirror.Registry, error)
	// Streams is the number of concurrent requests. 0 is the default of package mirror.
	Streams int
	// CheckBlobs requests every blob from the mirror.
	CheckBlobs bool

	// OtherRepositories are repositories of earlier plans with content that an archive leaves out.
	// MountFrom returns the one with a blob; it is nil if nothing is left out. CheckImport sets
	// both.
	OtherRepositories []string
	MountFrom         func(ocispec.Descriptor) (repository string)
}

// SetOmitted finds the repositories with the content that an archive leaves out.
func (s *Site) SetOmitted(have *archive.Archive, p *plan.Plan) {
	s.OtherRepositories, s.MountFrom = nil, nil
	seen := map[string]bool{}
	for _, b := range p.Blobs {
		if repository := have.RepositoryOf(b.Digest); repository != "" && !seen[repository] {
			seen[repository] = true
			s.OtherRepositories = append(s.OtherRepositories, repository)
		}
	}
	have.UseBases(s.BaseReader(have, p))
	if len(seen) == 0 {
		return
	}
	s.MountFrom = func(desc ocispec.Descriptor) string {
		repository := have.RepositoryOf(desc.Digest)
		if repository == "" || have.CheckContent(desc) == nil {
			return ""
		}
		return repository
	}
}

// SourceWithSite returns a reader of an archive that reads the blobs that it leaves out from the
// site. Catalogs that are built again are read completely.
func SourceWithSite(have image.Reader, site *Site, p *plan.Plan) image.Reader {
	return &siteSource{Reader: have, site: site, plan: p}
}

type siteSource struct {
	image.Reader
	site *Site
	plan *plan.Plan
}

// Blob implements image.Reader. If the mirror does not have the blob either, it returns the error
// of the archive, which names the archive that is needed.
func (r *siteSource) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := r.Reader.Blob(ctx, from, desc, offset)
	if !errors.Is(err, fs.ErrNotExist) {
		return body, err
	}
	registry, unnamed := r.site.Registry(r.plan)
	if unnamed != nil {
		return nil, unnamed
	}
	site, ok := registry.(blobReader)
	if !ok {
		return nil, err
	}
	for _, repository := range r.repositories(from, desc) {
		there, absent := site.Blob(ctx, repository, desc, offset)
		if absent == nil {
			return there, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, err
}

// repositories returns the repositories of the mirror that may have a blob of an image.
func (r *siteSource) repositories(from string, desc ocispec.Descriptor) []string {
	var all []string
	for _, img := range r.plan.Images {
		if img.Source == from {
			all = append(all, img.Repository)
			break
		}
	}
	if r.site.MountFrom != nil {
		if repository := r.site.MountFrom(desc); repository != "" {
			all = append(all, repository)
		}
	}
	return all
}
