// Package payload reads release images: which images a release consists of, and its metadata.
//
// A release image is the image of the cluster version operator with one more layer. That layer has
// the directory release-manifests with image-references (the images of all components),
// release-metadata (what update services read) and the manifests that the operator applies. The
// label io.openshift.release is the version. For several architectures there is an index of such
// images, called shards, which differ only in the operator's own programs: their references point
// to indexes. One shard is read; of the others, only the label is checked.
//
// Layers are streamed from the top down to the one with the references. Nothing is unpacked to
// disk, and files are limited in size. The versions in images, labels, names and metadata have to
// agree. All functions are safe for concurrent use if their image.Reader is.
package payload

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// ErrNoRelease is matched by the errors of Read and Metadata for an image that is not a release
// image.
var ErrNoRelease = errors.New("not a release image")

// A Release is what update services know about a release image.
type Release struct {
	// Digest is the digest of the image or index.
	Digest digest.Digest
	// Version is the version of the release, "4.20.5".
	Version string
	// Arch follows the rule of update services: an index of several images is Multi; an index of
	// one image, or an image, has that image's architecture.
	Arch release.Arch
	// Shard is true for a single image of a multi-architecture release. Update services ignore
	// shards.
	Shard bool
	// Previous and Next are the versions with updates to and from this release, as of its build.
	// Both may name versions that were never released.
	Previous, Next []string
	// Metadata is the rest of the release's metadata: "url" and keys of the update graph. Values
	// that are not strings are kept as JSON.
	Metadata map[string]string
	// URL is the erratum; empty if there is none.
	URL string
}

// A Payload is a release: the content of its image.
type Payload struct {
	Release
	// Children are the shards of an index, in its order; nil if the release is one image.
	Children []ocispec.Descriptor
	// Components are the images of the release except the release image, sorted by their first
	// names.
	Components []Component
	// Versions are the versions of software in the components, sorted by name.
	Versions []SoftwareVersion
	// BootImages is the manifest of the ConfigMap coreos-bootimages; nil if there is none. See
	// KubeVirt.
	BootImages []byte
	// Policies are the manifests of the ClusterImagePolicies, in the order in which the operator
	// applies them.
	Policies [][]byte
	// SignatureConfig is the manifest of the ConfigMap with the keys and stores that verify the
	// next release; nil if there is none.
	SignatureConfig []byte

	source string
	lower  []layer // below the layer with the references, lowest first
}

// A Component is one image of a release. An image with several names is one component. An image
// whose content is in several repositories is several.
type Component struct {
	// Names are sorted. Each is part of a tag, "4.20.5-x86_64-etcd".
	Names []string
	// Ref is the repository with the digest.
	Ref    string
	Digest digest.Digest
}

// Read reads the release image d of the source's repository or, if d is empty, the one that source
// names. Of an index, it reads the first shard that exists. Shards that do not exist are not
// checked.
//
// An image that is not a release image is an error that matches ErrNoRelease.
func Read(ctx context.Context, src image.Reader, source string, d digest.Digest) (*Payload, error) {
	p, _, err := reader{src, source}.payload(ctx, d, needed)
	if err != nil {
		return nil, fmt.Errorf("reading release image %s: %w", named(source, d), err)
	}
	return p, nil
}

// Metadata reads only what update services read of a release image: the manifest (for an index also
// the manifest of one shard), the config and the top layer. It returns the errors of Read.
func Metadata(ctx context.Context, src image.Reader, source string, d digest.Digest) (*Release, error) {
	r, err := reader{src, source}.metadata(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of release image %s: %w", named(source, d), err)
	}
	return r, nil
}

// named returns the name of an image for messages.
func named(source string, d digest.Digest) string {
	if r, err := reference.Parse(source); d != "" && err == nil {
		return r.WithDigest(d).String()
	}
	return source
}

// metadata reads only the metadata.
func (r reader) metadata(ctx context.Context, d digest.Digest) (*Release, error) {
	root, err := r.open(ctx, d)
	if err != nil {
		return nil, err
	}
	found, _, err := r.manifests(ctx, root.image, onlyMetadata)
	if err != nil {
		return nil, err
	}
	return root.release(found.metadata)
}

func (r reader) payload(ctx context.Context, d digest.Digest, keep extent) (*Payload, *releaseFiles, error) {
	root, err := r.open(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	if err := r.checkChildren(ctx, root); err != nil {
		return nil, nil, err
	}
	found, at, err := r.manifests(ctx, root.image, keep)
	if err != nil {
		return nil, nil, err
	}
	about, err := root.release(found.metadata)
	if err != nil {
		return nil, nil, err
	}
	p := &Payload{Release: *about, Children: root.children, BootImages: found.boot, source: r.source, lower: root.image.layers[:at]}
	name, components, versions, err := parseReferences(found.references)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("reading /%s: %w", referencesFile, err)
	case name != p.Version:
		return nil, nil, fmt.Errorf("/%s has version %q, but /%s has %q", referencesFile, name, metadataFile, p.Version)
	}
	p.Components, p.Versions = components, versions
	if err := p.checkNames(); err != nil {
		return nil, nil, err
	}
	return p, found, p.addManifests(found.manifests)
}

// checkNames refuses component names that cannot be part of a tag.
func (p *Payload) checkNames() error {
	for _, c := range p.Components {
		for _, name := range c.Names {
			if tag := release.Name(p.Version, p.Arch) + "-" + name; !reference.IsTag(tag) {
				return fmt.Errorf("/%s has a component %.200q, which cannot be part of a tag (%.300q)", referencesFile, name, tag)
			}
		}
	}
	return nil
}
