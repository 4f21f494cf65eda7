package airgap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// missingBases returns the error for a blob that an archive carries as a delta, if what that is based on is in
// none of the opened sets. Otherwise it returns nil.
func missingBases(have *archive.Archive, desc ocispec.Descriptor) error {
	missing := have.MissingBases(desc)
	if len(missing) == 0 {
		return nil
	}
	for _, b := range missing {
		if why := have.CheckContent(b.Descriptor()); !errors.Is(why, fs.ErrNotExist) { // it is in these, and damaged
			return why
		}
	}
	return fmt.Errorf("%s is carried as a delta of %s, which is in an earlier archive and not in these: %w", desc.Digest, missing[0].Digest, fs.ErrNotExist)
}

// BaseReader returns a reader of what the deltas of an archive are based on, from the mirror.
func (s *Site) BaseReader(have *archive.Archive, p *plan.Plan) archive.BaseReader {
	for d := range have.Deltas() {
		for _, b := range d.Bases {
			if !slices.Contains(s.OtherRepositories, b.Repository) {
				s.OtherRepositories = append(s.OtherRepositories, b.Repository)
			}
		}
	}
	return func(ctx context.Context, base archive.DeltaBase) (io.ReadCloser, error) {
		registry, err := s.Registry(p)
		if err != nil {
			return nil, err
		}
		site, ok := registry.(blobReader)
		if !ok {
			return nil, fmt.Errorf("%s: %w", base.Digest, fs.ErrNotExist)
		}
		return site.Blob(ctx, base.Repository, base.Descriptor(), 0)
	}
}

// A blobReader is a mirror that blobs can be read from.
type blobReader interface {
	Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
}

// SaveRequest saves a repair request for the blobs that could not be rebuilt from deltas during the import, and
// returns its file. It returns "" if there are none.
func (c *Import) SaveRequest(ctx context.Context) (string, error) {
	var lost []archive.EntryInfo
	for _, f := range c.Archive.DeltaFailures() {
		lost = append(lost, archive.EntryInfo{Digest: f.Blob, ContentSize: f.Size, IsContent: true})
	}
	if len(lost) == 0 {
		return "", nil
	}
	r, err := newRequest(ctx, c.Archive, lost)
	if err != nil || len(r.Content) == 0 { // no image needs it
		return "", err
	}
	return c.ws.SaveRepairRequest(r.Name, r.Sequence, r.Write)
}
