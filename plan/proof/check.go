package proof

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/platform/graphdata"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// A Registry reads the mirror as it is now. It must not serve content from a cache of an earlier
// run.
type Registry interface {
	image.Reader
	// Resolve returns the descriptor of a reference. The error matches fs.ErrNotExist if it does
	// not exist.
	Resolve(ctx context.Context, ref string) (ocispec.Descriptor, error)
	// Tags lists the tags of a repository. The error matches fs.ErrNotExist if it does not exist.
	Tags(ctx context.Context, repository string) ([]string, error)
}

// Options configure a Check.
type Options struct {
	// Mirror is the name of the mirror in messages: "docker://mirror.example.com/ocp".
	Mirror string
	// Releases, Components and GraphData are the repositories of release images, of all other
	// images that releases name, and of the graph data image: "mirror.example.com/a/b".
	Releases, Components, GraphData string
	// Jobs is the number of images that are read at a time, at least 1.
	Jobs int
	// Now is the time at which signatures must be valid.
	Now time.Time
	// IgnoreReleaseSignature skips the check that clusters accept the signatures of releases, for
	// clusters that are updated by force.
	IgnoreReleaseSignature bool
	// Workspace is the name of the workspace in messages.
	Workspace string
	// ConfigMap reads the manifest with the signatures of an image and returns the name of its
	// file, also if the file does not exist; the error then matches fs.ErrNotExist. It returns
	// ErrNoConfigMaps if the workspace has no cluster resources for the mirror.
	ConfigMap func(image digest.Digest) (file string, text []byte, err error)
	// Keyrings returns the keyrings that releases of a product were verified with when they were
	// mirrored.
	Keyrings func(release.Product) ([]gpg.Keyring, error)
	// Blobs says how the blobs of images are checked, for the report. BlobProblem checks those of an
	// image without children and returns what is wrong, "" if nothing is. It is nil if blobs are not
	// checked. Plan does not call it: Plan.Missing has the results.
	Blobs       string
	BlobProblem func(ctx context.Context, image string) (problem string, err error)
}

// ErrNoConfigMaps is returned by Options.ConfigMap if it is unknown which signatures clusters have.
var ErrNoConfigMaps = errors.New("there are no ConfigMaps of signatures here")

// A Check checks updates with the content of one mirror and collects the results in one report.
type Check struct {
	Options
	registry Registry
	mirror   Mirror
	report   Report
	// signatures are those that clusters will find, by the digest of the release image. A release
	// whose signatures are missing or wrong has no entry. keys have the same index.
	signatures map[digest.Digest][][]byte
	keys       map[digest.Digest]Keys
}

// Open reads which releases a mirror has, and its graph data.
func Open(ctx context.Context, registry Registry, o Options) (*Check, error) {
	c := &Check{
		Options: o, registry: registry,
		report:     Report{Version: 1, Mirror: o.Mirror, Blobs: o.Blobs, Updates: []UpdateReport{}, Releases: []ReleaseReport{}},
		signatures: map[digest.Digest][][]byte{}, keys: map[digest.Digest]Keys{},
	}
	tags, err := registry.Tags(ctx, o.Releases)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if c.mirror.Releases, err = Read(ctx, registry, o.Releases, tags, o.Jobs); err != nil {
		return nil, err
	}
	desc, err := registry.Resolve(ctx, c.graphDataTag())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, err
	}
	c.report.GraphData = o.GraphData + "@" + desc.Digest.String()
	c.mirror.Data, err = graphdata.ReadImage(ctx, registry, c.report.GraphData)
	if errors.Is(err, fs.ErrNotExist) {
		c.report.addProblem(Problem{Problem: err.Error(), At: c.report.GraphData, Hint: mirrorAgain})
		return c, nil
	}
	return c, err
}

// graphDataTag is the reference of the graph data image that was mirrored last.
func (c *Check) graphDataTag() string { return c.GraphData + ":latest" }

// Report returns the results so far.
func (c *Check) Report() *Report {
	c.report.setPossible()
	return &c.report
}
