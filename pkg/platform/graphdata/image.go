package graphdata

import (
	"context"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// BaseImage is the base of the image of graph data if no release is mirrored. It has the bash and
// cp that the image runs, for all architectures.
const BaseImage = "registry.access.redhat.com/ubi9/ubi-minimal:latest"

// The folder of the data in the image, and the folder, empty and writable, that the update service
// operator mounts and into which the image copies the data. The operator runs the image as an init
// container, as any user, with the image's own command.
const (
	imageDir = "var/lib/cincinnati-graph-data"
	mountDir = "/var/lib/cincinnati/graph-data"
)

// The command is the one of OpenShift's documentation. The shell expands the asterisk: "cp -p
// dir/." would set the times of the mounted folder, which belongs to another user, and fail.
var command = []string{"/bin/bash", "-c", "exec cp -rp /" + imageDir + "/* " + mountDir}

// Build writes the image for the update service operator to store: base with the graph data on top,
// for each of its platforms. base is BaseImage or any image with bash and cp, such as the component
// "cli" of a release, whose layers are already in the mirror; the layers of the base are not read.
// If the base has one architecture, more are the bases for others. The same data and bases give the
// same image.
//
// The operator must refer to the image by digest; by tag, it starts another pod of it with a
// different command.
func Build(ctx context.Context, images image.Reader, d *Data, store image.Store, base string, more ...string) (*image.Built, error) {
	bases := make([]*image.Image, 1+len(more))
	for i, name := range append([]string{base}, more...) {
		desc, _, err := images.Manifest(ctx, name, "")
		if err != nil {
			return nil, fmt.Errorf("building the image of graph data on %s: %w", name, err)
		}
		if bases[i], err = image.Open(ctx, images, name, desc); err != nil {
			return nil, fmt.Errorf("building the image of graph data on %s: %w", name, err)
		}
	}
	tree := image.Tree{Dir: imageDir, Files: d.files, Cmd: command, By: "graph data in /" + imageDir}
	built, err := image.AddTree(ctx, store, tree, bases[0], bases[1:]...)
	if err != nil {
		return nil, fmt.Errorf("building the image of graph data on %s: %w", base, err)
	}
	return built, nil
}

// ReadImage reads the graph data from an image that was made by Build, or by another tool that
// follows OpenShift's documentation.
func ReadImage(ctx context.Context, images image.Reader, ref string) (*Data, error) {
	d, err := readImage(ctx, images, ref)
	if err != nil {
		return nil, fmt.Errorf("reading graph data from image %s: %w", ref, err)
	}
	return d, nil
}

func readImage(ctx context.Context, images image.Reader, ref string) (*Data, error) {
	desc, _, err := images.Manifest(ctx, ref, "")
	if err != nil {
		return nil, err
	}
	var c collector
	img, err := image.Open(ctx, images, ref, desc)
	if err != nil {
		return nil, err
	}
	err = image.ReadTree(ctx, img, imageDir, func(name string, r io.Reader) error {
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
