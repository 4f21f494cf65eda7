package carry

import (
	"context"
	"errors"
	"io"
	"io/fs"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/plan"
)

// A Site is the mirror that an archive is brought to.
type Site struct {
	// Name is what the workspace calls it.
	Name string
	// Registry is the mirror for a plan, with the repositories of Others.
	Registry func(*plan.Plan) (mirror.Registry, error)
	// Streams is how much is asked for at a time; 0 is the default of mirror.
	Streams int
	// CheckBlobs says that the run asks for every blob.
	CheckBlobs bool

	// Others are repositories of earlier plans that have what an archive leaves out,
	// and Elsewhere tells which of them has a blob; nil where nothing is left out. Fit
	// finds them.
	Others    []string
	Elsewhere func(ocispec.Descriptor) (repository string)
}

// leftOut finds where what an archive leaves out stands.
func (s *Site) leftOut(have *archive.Archive, p *plan.Plan) {
	s.Others, s.Elsewhere = nil, nil
	seen := map[string]bool{}
	for _, b := range p.Blobs {
		if repository := have.Where(b.Digest); repository != "" && !seen[repository] {
			seen[repository] = true
			s.Others = append(s.Others, repository)
		}
	}
	if len(seen) == 0 {
		return
	}
	s.Elsewhere = func(desc ocispec.Descriptor) string {
		repository := have.Where(desc.Digest)
		if repository == "" || have.Lacks(desc) == nil {
			return ""
		}
		return repository
	}
}

// ReadBack is an archive with the blobs that it leaves out read from the site that has
// them: catalogs that are built again are read whole.
func ReadBack(have mirror.Source, site *Site, p *plan.Plan) mirror.Source {
	return &readBack{Source: have, site: site, plan: p}
}

type readBack struct {
	mirror.Source
	site *Site
	plan *plan.Plan
}

// Blob implements mirror.Source. Where the mirror does not have it either, the error is
// that of the archive, which names the one that is needed.
func (r *readBack) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := r.Source.Blob(ctx, from, desc, offset)
	if !errors.Is(err, fs.ErrNotExist) {
		return body, err
	}
	registry, unnamed := r.site.Registry(r.plan)
	if unnamed != nil {
		return nil, unnamed
	}
	site, ok := registry.(interface {
		Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
	})
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

// repositories are those of the mirror where a blob of an image may stand.
func (r *readBack) repositories(from string, desc ocispec.Descriptor) []string {
	var all []string
	for _, img := range r.plan.Images {
		if img.Source == from {
			all = append(all, img.Repository)
			break
		}
	}
	if r.site.Elsewhere != nil {
		if repository := r.site.Elsewhere(desc); repository != "" {
			all = append(all, repository)
		}
	}
	return all
}
