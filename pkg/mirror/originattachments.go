package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TagPages calls see with the tags of source's repository, as remote.Client does; see
// build.Attachments. The tags of a layout are the names in its index that have the same repository. A registry that
// does not know the repository has no tags in it: CNCF distribution says this of repositories whose manifests have
// no tags.
func (o *Origin) TagPages(ctx context.Context, source, after string, see func(page []string) (more bool)) (all bool, err error) {
	if strings.HasPrefix(source, ociScheme) {
		l, name, err := o.layout(source)
		if err != nil {
			return false, err
		}
		index, err := l.Index()
		if err != nil {
			return false, err
		}
		repository := ""
		if at := strings.LastIndexByte(name, ':'); at >= 0 && !strings.HasPrefix(name, "sha256:") {
			repository = name[:at+1]
		}
		var tags []string
		for _, m := range index.Manifests {
			tag, ok := strings.CutPrefix(m.Annotations[ocispec.AnnotationRefName], repository)
			if ok && tag > after && !strings.ContainsAny(tag, ":/") {
				tags = append(tags, tag)
			}
		}
		slices.Sort(tags)
		see(tags)
		return true, nil
	}
	repo, err := o.repository(source)
	if err != nil {
		return false, err
	}
	all, err = o.client.TagPages(ctx, repo, after, see)
	if e, ok := errors.AsType[*remote.Error](err); ok && e.Status == http.StatusNotFound && e.Code == "NAME_UNKNOWN" {
		see(nil)
		return true, nil
	}
	return all, notOffered(err)
}

// notOffered makes the error of a request that the registry refuses, in any way, match
// errors.ErrUnsupported.
func notOffered(err error) error {
	if e, ok := errors.AsType[*remote.Error](err); ok && e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError && e.Status != http.StatusTooManyRequests {
		return fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	return err
}

// Referrers returns the manifests that refer to a subject in source's repository, if the registry has
// the referrers API. In a layout, it is those that the index lists.
func (o *Origin) Referrers(ctx context.Context, source string, subject digest.Digest) (list []ocispec.Descriptor, supported bool, err error) {
	if strings.HasPrefix(source, ociScheme) {
		l, _, err := o.layout(source)
		if err != nil {
			return nil, false, err
		}
		all, err := o.layoutReferrers(ctx, source, l)
		return all[subject], true, err
	}
	repo, err := o.repository(source)
	if err != nil {
		return nil, false, err
	}
	list, err = o.client.Referrers(ctx, repo.WithDigest(subject))
	switch {
	case errors.Is(err, remote.ErrNoReferrersAPI), errors.Is(notOffered(err), errors.ErrUnsupported):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return list, true, nil
}

// ParseReferrers reads a list of referrers that a tag names.
func (o *Origin) ParseReferrers(raw []byte) ([]ocispec.Descriptor, error) {
	return remote.ParseReferrers(raw)
}

// layoutReferrers returns the manifests of a layout's index that refer to others, by their subjects. They
// are read once.
func (o *Origin) layoutReferrers(ctx context.Context, source string, l *layout.Layout) (map[digest.Digest][]ocispec.Descriptor, error) {
	dir, _ := plan.SplitLayout(source)
	once, _ := o.referrers.LoadOrStore(dir, sync.OnceValues(func() (map[digest.Digest][]ocispec.Descriptor, error) {
		return referrersIn(ctx, l)
	}))
	return once.(func() (map[digest.Digest][]ocispec.Descriptor, error))()
}

func referrersIn(ctx context.Context, l *layout.Layout) (map[digest.Digest][]ocispec.Descriptor, error) {
	index, err := l.Index()
	if err != nil {
		return nil, err
	}
	all, seen := map[digest.Digest][]ocispec.Descriptor{}, map[digest.Digest]bool{}
	for _, desc := range index.Manifests {
		if seen[desc.Digest] || desc.Size > manifest.MaxSize {
			continue
		}
		seen[desc.Digest] = true
		raw, err := l.Read(ctx, desc, manifest.MaxSize)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var m struct {
			Subject *ocispec.Descriptor `json:"subject"`
		}
		if err != nil || json.Unmarshal(raw, &m) != nil || m.Subject == nil {
			continue // damage matters only if the image is mirrored, which reads it again
		}
		if desc.MediaType == "" {
			desc.MediaType = manifest.TypeOf(raw)
		}
		desc.Annotations = nil
		all[m.Subject.Digest] = append(all[m.Subject.Digest], desc)
	}
	return all, nil
}
