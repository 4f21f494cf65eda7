// Package registryserver serves images as a registry that can only be pulled
// from.
//
// A [Registry] is made of a list of images, which says what repositories and tags
// there are and what belongs to each, and of a [Source], which has the bytes: an
// archive, out of whose volumes content is sent as it lies there. It is an
// http.Handler that speaks the pull and the discovery part of the OCI
// distribution specification: manifests by tag and digest, blobs whole or by
// range, lists of tags and of repositories by the page, and referrers. Whatever
// would change something is refused with 405 and the code UNSUPPORTED.
//
// A request cannot name a file: repositories, tags and digests are looked up in
// what the list of images has, and content is asked of the source by digest. What
// is read whole is compared with its digest before its last byte leaves; where it
// differs the connection breaks off, so that no client takes it for complete.
//
// [Serve] listens, with or without TLS, until its context ends, and [Users] asks
// for passwords, out of a htpasswd file.
package registryserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A Source has the content of all images.
type Source interface {
	Manifest(ctx context.Context, repository string, d digest.Digest) (ocispec.Descriptor, []byte, error)
	// Blob opens a blob at an offset. Read from offset 0 on, content that is not
	// what its digest says ends in an error in place of io.EOF.
	Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
}

// An Image is an image in one repository.
type Image struct {
	Repository string
	Tags       []string
	// Manifests are its own first, which the tags name, and then those below it.
	// Each has media type, digest and size.
	Manifests []ocispec.Descriptor
	// Blobs are configs and layers, with digest and size.
	Blobs []ocispec.Descriptor
}

// A Registry serves images. It is safe for concurrent use.
type Registry struct {
	source       Source
	log          *slog.Logger
	content      []content
	numbers      map[digest.Digest]int // in content
	repositories map[string]*repository
	names        []string  // of repositories, sorted
	buffers      sync.Pool // of *[bufferSize]byte
}

// content is a manifest or a blob, which repositories share. A digest may be
// both: nothing forbids a layer that is the text of a manifest.
type content struct {
	digest    digest.Digest
	size      int64
	mediaType string // of a manifest, otherwise ""
	blob      bool
}

// A repository is what stands below one name.
type repository struct {
	tags      []tag // by name
	has       []int // numbers of content, sorted
	referrers referrers
}

type tag struct {
	name     string
	manifest int
}

// New makes a registry of images. A tag that two images of a repository claim, and
// content that is described in two ways, are errors. log is told of what could not
// be read.
func New(source Source, log *slog.Logger, images iter.Seq[Image]) (*Registry, error) {
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
		slices.SortFunc(repo.tags, func(a, b tag) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.manifest, b.manifest)) })
		repo.tags = slices.Clip(slices.Compact(repo.tags))
		for i := 1; i < len(repo.tags); i++ {
			if a, b := repo.tags[i-1], repo.tags[i]; a.name == b.name {
				return nil, fmt.Errorf("repository %s: the tag %s is claimed by %s and by %s", name, a.name, r.content[a.manifest].digest, r.content[b.manifest].digest)
			}
		}
	}
	r.names = slices.Sorted(maps.Keys(r.repositories))
	return r, nil
}

// Repositories are the names of all repositories, sorted.
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
			return fmt.Errorf("%s is of the type %s and of the type %s", desc.Digest, was, desc.MediaType)
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

// number finds or gives the number of content.
func (r *Registry) number(desc ocispec.Descriptor) (int, error) {
	n, known := r.numbers[desc.Digest]
	if !known {
		n = len(r.content)
		r.numbers[desc.Digest] = n
		r.content = append(r.content, content{digest: desc.Digest, size: desc.Size})
	}
	if size := r.content[n].size; size != desc.Size {
		return 0, fmt.Errorf("%s has %d bytes and %d bytes", desc.Digest, size, desc.Size)
	}
	return n, nil
}

// contentOf looks for content of a repository; nil where it has none such.
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

// tagged looks for the manifest that a tag names.
func (r *Registry) tagged(repo *repository, name string) *content {
	i, ok := slices.BinarySearchFunc(repo.tags, name, func(t tag, name string) int { return cmp.Compare(t.name, name) })
	if !ok {
		return nil
	}
	return &r.content[repo.tags[i].manifest]
}
