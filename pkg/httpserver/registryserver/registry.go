// Package registryserver serves images as a read-only registry.
//
// A [Registry] is made from a list of images, which gives the repositories, the tags and the
// content of each, and from an [image.Reader], which reads the bytes: usually an archive, whose
// content is sent directly from its volumes. A Registry is an http.Handler that implements the pull
// and discovery parts of the OCI distribution specification: manifests by tag and digest, blobs and
// ranges of them, paged lists of tags and repositories, and referrers. Requests that would change
// something are refused with 405 and the code UNSUPPORTED.
//
// A request cannot name a file: repositories, tags and digests are looked up in the list of images,
// and content is read from the source by digest. Content that is read completely is compared with
// its digest before its last byte is sent. If it differs, the connection is closed, so that no
// client takes the content for complete.
//
// [Serve] listens, with or without TLS, until its context ends. [Users] checks passwords against an
// htpasswd file.
package registryserver

import (
	"cmp"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image"
)

// An Image is an image in one repository.
type Image struct {
	Repository string
	Tags       []string
	// Manifests are the image's own manifest, which the tags name, followed by those below it. Each
	// has a media type, digest and size.
	Manifests []ocispec.Descriptor
	// Blobs are configs and layers, with digest and size.
	Blobs []ocispec.Descriptor
}

// A Registry serves images. It is safe for concurrent use.
type Registry struct {
	source       image.Reader
	log          *slog.Logger
	content      []content
	numbers      map[digest.Digest]int // in content
	repositories map[string]*repository
	names        []string  // of repositories, sorted
	buffers      sync.Pool // of *[bufferSize]byte
}

// content is a manifest or a blob that repositories share. A digest may be both: a layer may have
// the same bytes as a manifest.
type content struct {
	digest    digest.Digest
	size      int64
	mediaType string // of a manifest, otherwise ""
	blob      bool
}

// A repository is the content of one repository name.
type repository struct {
	tags      []tag // by name
	has       []int // numbers of content, sorted
	referrers referrers
}

type tag struct {
	name     string
	manifest int
}

// New returns a registry that serves images. It fails if two images of a repository have the same
// tag, or if content is described in two different ways. Content that cannot be read later is
// logged to log.
func New(source image.Reader, log *slog.Logger, images iter.Seq[Image]) (*Registry, error) {
	r := &Registry{
		source: source, log: log,
		numbers: map[digest.Digest]int{}, repositories: map[string]*repository{},
		buffers: sync.Pool{New: func() any { return new([bufferSize]byte) }},
	}
	for img := range images {
		if err := r.add(img); err != nil {
			return nil, fmt.Errorf("repository %s: %w", img.Repository, err)
		}
	}
	for name, repo := range r.repositories {
		slices.Sort(repo.has)
		repo.has = slices.Clip(slices.Compact(repo.has))
		elements.Sort(repo.tags, func(a, b tag) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.manifest, b.manifest)) })
		repo.tags = slices.Clip(slices.Compact(repo.tags))
		for i := 1; i < len(repo.tags); i++ {
			if a, b := repo.tags[i-1], repo.tags[i]; a.name == b.name {
				return nil, fmt.Errorf("repository %s: the tag %s belongs to %s and to %s", name, a.name, r.content[a.manifest].digest, r.content[b.manifest].digest)
			}
		}
	}
	r.names = slices.Sorted(maps.Keys(r.repositories))
	return r, nil
}

// Repositories returns the names of all repositories, sorted.
func (r *Registry) Repositories() []string { return slices.Clone(r.names) }

func (r *Registry) add(img Image) error {
	repo := r.repositories[img.Repository]
	if repo == nil {
		repo = &repository{referrers: newReferrers()}
		r.repositories[img.Repository] = repo
	}
	for i, desc := range img.Manifests {
		n, err := r.number(desc)
		if err != nil {
			return err
		}
		if was := r.content[n].mediaType; was != "" && was != desc.MediaType {
			return fmt.Errorf("%s has the media types %s and %s", desc.Digest, was, desc.MediaType)
		}
		r.content[n].mediaType = desc.MediaType
		repo.has = append(repo.has, n)
		if i == 0 {
			for _, name := range img.Tags {
				repo.tags = append(repo.tags, tag{name, n})
			}
		}
	}
	for _, desc := range img.Blobs {
		n, err := r.number(desc)
		if err != nil {
			return err
		}
		r.content[n].blob = true
		repo.has = append(repo.has, n)
	}
	return nil
}

// number returns the number of content, and adds it if it is new.
func (r *Registry) number(desc ocispec.Descriptor) (int, error) {
	n, known := r.numbers[desc.Digest]
	if !known {
		n = len(r.content)
		r.numbers[desc.Digest] = n
		r.content = append(r.content, content{digest: desc.Digest, size: desc.Size})
	}
	if size := r.content[n].size; size != desc.Size {
		return 0, fmt.Errorf("%s has the sizes %d and %d", desc.Digest, size, desc.Size)
	}
	return n, nil
}

// contentOf returns the content of a repository with a digest; nil if it has none.
func (r *Registry) contentOf(repo *repository, d digest.Digest) *content {
	n, known := r.numbers[d]
	if !known {
		return nil
	}
	if _, has := slices.BinarySearch(repo.has, n); !has {
		return nil
	}
	return &r.content[n]
}

// tagged returns the manifest of a tag; nil if there is no such tag.
func (r *Registry) tagged(repo *repository, name string) *content {
	i, ok := slices.BinarySearchFunc(repo.tags, name, func(t tag, name string) int { return cmp.Compare(t.name, name) })
	if !ok {
		return nil
	}
	return &r.content[repo.tags[i].manifest]
}
