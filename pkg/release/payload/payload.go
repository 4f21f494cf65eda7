// Package payload reads release images: what a release consists of and what it
// says about itself.
//
// A release image is the image of the cluster-version operator with one more
// layer. That has the folder release-manifests with image-references (the images
// of all components), release-metadata (what update services read) and the
// manifests that the operator applies. The label io.openshift.release has the
// version. For several architectures there is a list of such images, shards, which
// differ in nothing but the operator's own programs: their references are to
// lists. One of them is read, the others are asked for their label.
//
// Layers are read from the top down to the one with the references, as streams;
// nothing is unpacked, and files are of limited size. What images, labels, names
// and metadata say of the version has to agree. Functions of this package may run
// at the same time as far as their Source allows it.
package payload

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// ErrNoRelease is what Read and Metadata say, by errors.Is, of an image that
// holds no release.
var ErrNoRelease = errors.New("it is no release image")

// Source reads images where they are. source is an image reference in full. What
// is returned has been compared with its digest; a blob's reader returns an error
// in place of io.EOF where the bytes were wrong. What is not there is an
// fs.ErrNotExist.
type Source interface {
	// Manifest returns the manifest d of the source's repository, or, where d is
	// empty, the one that source itself names.
	Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error)
	Blob(ctx context.Context, source string, desc ocispec.Descriptor) (io.ReadCloser, error)
}

// A Release is what update services know of a release image.
type Release struct {
	// Digest is that of the image or list.
	Digest digest.Digest
	// Version is the release's, "4.20.5".
	Version string
	// Arch is found as update services do: a list of several images is Multi, one
	// of a single image has that image's architecture; so has an image.
	Arch release.Arch
	// Shard says that this is one image of a multi-architecture release and not
	// its list. Update services pass over it.
	Shard bool
	// Previous and Next are the versions from which and to which there are
	// updates, as the release was built; both may name versions that never came.
	Previous, Next []string
	// Metadata is what else the release says of itself: "url" and keys of the
	// update graph. Values that are no strings are here as JSON.
	Metadata map[string]string
	// URL is the erratum, "" where there is none.
	URL string
}

// A Payload is a release: what is in its image.
type Payload struct {
	Release
	// Children are the shards of a list, in its order; none where the release is
	// one image.
	Children []ocispec.Descriptor
	// Components are the images of the release but itself, by their first names.
	Components []Component
	// BootImages is the manifest of the ConfigMap coreos-bootimages; nil where
	// there is none. See KubeVirt.
	BootImages []byte
	// Policies are the ClusterImagePolicies, the manifest of each, in the order
	// of the operator.
	Policies [][]byte
	// SignatureConfig is the manifest of the ConfigMap that says by which keys and
	// stores the next release is verified; nil where there is none.
	SignatureConfig []byte

	source string
	lower  []layer // below the one that was read, lowest first
}

// A Component is one image of a release. An image of several names is one
// component; it is several where its content stands in several repositories.
type Component struct {
	// Names are sorted. Each makes a tag, "4.20.5-x86_64-etcd".
	Names []string
	// Ref is repository and digest.
	Ref    string
	Digest digest.Digest
}

// Read reads the release image d of the source's repository or, where d is empty,
// the one that source itself names. Of a list one shard is read, the first that
// is there; shards that are not are not looked into.
//
// The error is ErrNoRelease (by errors.Is) for an image that is none.
func Read(ctx context.Context, src Source, source string, d digest.Digest) (*Payload, error) {
	p, err := reader{src, source}.payload(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("reading release image %s: %w", named(source, d), err)
	}
	return p, nil
}

// Metadata reads what update services read of a release image, and no more than
// that: its manifest, of a list that of one shard, too, the config, and the
// uppermost layer. Errors are as for Read.
func Metadata(ctx context.Context, src Source, source string, d digest.Digest) (*Release, error) {
	r, err := reader{src, source}.metadata(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of release image %s: %w", named(source, d), err)
	}
	return r, nil
}

// named is what messages call an image.
func named(source string, d digest.Digest) string {
	if r, err := reference.Parse(source); d != "" && err == nil {
		return r.WithDigest(d).String()
	}
	return source
}

// metadata reads the metadata alone.
func (r reader) metadata(ctx context.Context, d digest.Digest) (*Release, error) {
	root, err := r.open(ctx, d)
	if err != nil {
		return nil, err
	}
	found, _, err := r.manifests(ctx, root.image, true)
	if err != nil {
		return nil, err
	}
	return root.release(found.metadata)
}

func (r reader) payload(ctx context.Context, d digest.Digest) (*Payload, error) {
	root, err := r.open(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := r.checkChildren(ctx, root); err != nil {
		return nil, err
	}
	found, at, err := r.manifests(ctx, root.image, false)
	if err != nil {
		return nil, err
	}
	about, err := root.release(found.metadata)
	if err != nil {
		return nil, err
	}
	p := &Payload{Release: *about, Children: root.children, BootImages: found.boot, source: r.source, lower: root.image.layers[:at]}
	name, components, err := parseReferences(found.references)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading /%s: %w", referencesFile, err)
	case name != p.Version:
		return nil, fmt.Errorf("/%s calls itself %q, but /%s is about %q", referencesFile, name, metadataFile, p.Version)
	}
	p.Components = components
	if err := p.checkNames(); err != nil {
		return nil, err
	}
	return p, p.addManifests(found.manifests)
}

// checkNames refuses names of components that make no tags.
func (p *Payload) checkNames() error {
	for _, c := range p.Components {
		for _, name := range c.Names {
			if tag := release.Name(p.Version, p.Arch) + "-" + name; !reference.IsTag(tag) {
				return fmt.Errorf("/%s names a component %.200q, of which no tag can be made (%.300q)", referencesFile, name, tag)
			}
		}
	}
	return nil
}
