package build

import (
	"context"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// Files reads files that the configuration names.
type Files interface {
	// Dir opens the folder of a dir:// catalog.
	Dir(path string) (fs.FS, error)
	ReadFile(path string) ([]byte, error)
}

// TagLists lists tags.
type TagLists interface {
	// AllTags returns all tags of a repository ("quay.io/org/name"). If the repository does not exist,
	// the error matches fs.ErrNotExist.
	AllTags(ctx context.Context, repository string) ([]string, error)
}

// Store stores the manifests and blobs of images that are built, and returns their descriptors.
// Mirroring reads them from there.
type Store interface {
	Write(ctx context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error)
}

// A ReleaseSource provides update graphs, graph data and signatures of platform releases.
type ReleaseSource interface {
	// Graph returns the update graph of a channel for one architecture, and its source. It is an
	// error if the channel does not exist.
	Graph(ctx context.Context, product release.Product, channel string, arch release.Arch) (*graph.Graph, plan.UpdateGraph, error)
	// GraphData returns the published graph data, a tar.gz, and its source without credentials.
	GraphData(ctx context.Context) (source string, tarball []byte, err error)
	// Signatures returns the verified signatures of a payload. It is an error if none is valid;
	// the error matches release.ErrUnsigned if there are none.
	Signatures(ctx context.Context, product release.Product, payload digest.Digest) ([][]byte, error)
}

// ChartRepositories reads chart repositories over http and https.
type ChartRepositories interface {
	// Index reads the index of the repository at an address.
	Index(ctx context.Context, address string) (*chart.Index, error)
	// Archive reads an archive and the provenance file beside it. sha256 is its digest in hexadecimal
	// as in the index, or "".
	Archive(ctx context.Context, address, sha256 string) (*chart.Chart, error)
}
