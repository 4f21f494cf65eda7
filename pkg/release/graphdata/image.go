package graphdata

import (
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
)

// BaseImage is what the image of graph data is built on where no release is
// mirrored. It has the bash and the cp that the image runs, for all architectures.
const BaseImage = "registry.access.redhat.com/ubi9/ubi-minimal:latest"

// Where the image has the data, and where the update service operator mounts the
// directory, empty and writable, into which the image puts it. The operator
// runs the image as an init container, as any user, and by its own command.
const (
	imageDir = "var/lib/cincinnati-graph-data"
	mountDir = "/var/lib/cincinnati/graph-data"
)

// The command is that of OpenShift's documentation. The shell is for the
// asterisk: "cp -p dir/." would set the times of the mounted directory, which is
// another user's, and fail.
var command = []string{"/bin/bash", "-c", "exec cp -rp /" + imageDir + "/* " + mountDir}

// Images gives the manifests and blobs of images, verified. d is empty for the
// manifest that source itself names.
type Images interface {
	Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error)
	Blob(ctx context.Context, source string, desc ocispec.Descriptor) (io.ReadCloser, error)
}

// Build writes the image for the update service operator to store: base with the
// graph data on top, on each of its platforms. base is BaseImage or any image with
// bash and cp, such as the component "cli" of a release, whose layers are in the
// mirror already; none is read here. Where the base is for one architecture, more
// are those for others. The same data and bases give the same image.
//
// The operator must be given the image by digest; by tag, it starts another pod
// of it, with a command of its own.
func Build(ctx context.Context, images Images, d *Data, store image.Store, base string, more ...string) (*image.Built, error) {
	bases := make([]image.Base, 1+len(more))
	for i, name := range append([]string{base}, more...) {
		desc, _, err := images.Manifest(ctx, name, "")
		if err != nil {
			return nil, fmt.Errorf("building the image of graph data on %s: %w", name, err)
		}
		bases[i] = image.Base{Content: source.Content(images, name), Root: desc}
	}
	tree := image.Tree{Dir: imageDir, Files: d.files, Cmd: command, By: "graph data in /" + imageDir}
	built, err := image.Put(ctx, store, tree, bases[0], bases[1:]...)
	if err != nil {
		return nil, fmt.Errorf("building the image of graph data on %s: %w", base, err)
	}
	return built, nil
}

// ReadImage reads the graph data out of an image that Build made, or another
// tool by OpenShift's documentation.
func ReadImage(ctx context.Context, images Images, ref string) (*Data, error) {
	d, err := readImage(ctx, images, ref)
	if err != nil {
		return nil, fmt.Errorf("reading graph data from image %s: %w", ref, err)
	}
	return d, nil
}

func readImage(ctx context.Context, images Images, ref string) (*Data, error) {
	desc, _, err := images.Manifest(ctx, ref, "")
	if err != nil {
		return nil, err
	}
	var c collector
	err = image.Files(ctx, source.Content(images, ref), desc, imageDir, func(name string, r io.Reader) error {
		if !wanted(name) {
			return nil
		}
		return c.file("", name, r)
	})
	if err != nil {
		return nil, err
	}
	files, err := c.root()
	if err != nil {
		return nil, err
	}
	return parse(files)
}
