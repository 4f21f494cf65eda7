package proof

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graphdata"
	"github.com/gantry-mirror/gantry/pkg/release/payload"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// A Registry has the mirror, as it is there now: nothing is to come out of a cache of
// an earlier run.
type Registry interface {
	payload.Source
	// Resolve returns what a reference names. What is not there is an fs.ErrNotExist.
	Resolve(ctx context.Context, ref string) (ocispec.Descriptor, error)
	// Tags lists those of a repository. One that is not there is an fs.ErrNotExist.
	Tags(ctx context.Context, repository string) ([]string, error)
}

// Options say what is looked at.
type Options struct {
	// Mirror is what messages call the mirror: "docker://mirror.example.com/ocp".
	Mirror string
	// Releases, Components and GraphData are the repositories of release images, of all
	// else that releases name, and of the image of graph data: "mirror.example.com/a/b".
	Releases, Components, GraphData string
	// Jobs is how many images are asked for at a time, at least 1.
	Jobs int
	// Now is when signatures have to be valid.
	Now time.Time
	// IgnoreSignatures leaves unsaid whether clusters accept the releases, for those
	// that are updated by force.
	IgnoreSignatures bool
	// Workspace is what messages call the place of the ConfigMaps.
	Workspace string
	// ConfigMap reads the manifest with the signatures of an image, and returns its
	// file, also where it is not there, which is an fs.ErrNotExist. Where there are no
	// manifests for the mirror at all, the error is ErrNoConfigMaps.
	ConfigMap func(image digest.Digest) (file string, text []byte, err error)
	// Keyrings are those by which releases of a product are mirrored.
	Keyrings func(release.Product) ([]gpg.Keyring, error)
}

// ErrNoConfigMaps says that nobody knows here what clusters have of signatures.
var ErrNoConfigMaps = errors.New("there are no ConfigMaps of signatures here")

// A Check proves updates with what one mirror has, and enters what it finds into one
// report.
type Check struct {
	Options
	registry Registry
	mirror   Mirror
	report   Report
	// signatures are those that clusters will find, by release image; one whose
	// signatures are missing, or wrong, is not there. keys are by release image, too.
	signatures map[digest.Digest][][]byte
	keys       map[digest.Digest]Keys
}

// Open reads what a mirror has of releases, and its graph data.
func Open(ctx context.Context, registry Registry, o Options) (*Check, error) {
	c := &Check{
		Options: o, registry: registry,
		report:     Report{Version: 1, Mirror: o.Mirror, Updates: []UpdateReport{}, Releases: []ReleaseReport{}},
		signatures: map[digest.Digest][][]byte{}, keys: map[digest.Digest]Keys{},
	}
	tags, err := registry.Tags(ctx, o.Releases)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if c.mirror.Releases, err = Read(ctx, registry, o.Releases, tags, o.Jobs); err != nil {
		return nil, err
	}
	desc, err := registry.Resolve(ctx, c.newestData())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, err
	}
	c.report.GraphData = o.GraphData + "@" + desc.Digest.String()
	c.mirror.Data, err = graphdata.ReadImage(ctx, registry, c.report.GraphData)
	if errors.Is(err, fs.ErrNotExist) {
		c.report.addProblem(Problem{Problem: err.Error(), At: c.report.GraphData, Hint: bringIt})
		return c, nil
	}
	return c, err
}

// newestData is the image of graph data that was mirrored last, by its tag.
func (c *Check) newestData() string { return c.GraphData + ":latest" }

// Report is what was found so far.
func (c *Check) Report() *Report {
	c.report.judge()
	return &c.report
}
