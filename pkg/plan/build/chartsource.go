package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// openLocal reads the chart in a folder, or in an archive with the provenance file beside it.
func openLocal(files Files, name string) (*chart.Chart, error) {
	chartFiles, err := files.Dir(name)
	if err != nil {
		return nil, err
	}
	if closer, ok := chartFiles.(io.Closer); ok {
		defer func() { _ = closer.Close() }() // only read from
	}
	entries, err := fs.ReadDir(chartFiles, ".")
	if err != nil {
		return nil, err
	}
	if _, err := fs.Stat(chartFiles, "Chart.yaml"); err == nil || len(entries) != 1 || entries[0].IsDir() {
		return chart.Pack(chartFiles)
	}
	f, err := chartFiles.Open(entries[0].Name())
	if err != nil {
		return nil, err
	}
	archive, err := io.ReadAll(io.LimitReader(f, chart.MaxArchive+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	c, err := chart.Read(archive)
	if err != nil {
		return nil, err
	}
	c.Provenance, err = files.ReadFile(name + ".prov")
	if errors.Is(err, fs.ErrNotExist) {
		c.Provenance, err = nil, nil
	}
	return c, err
}

// openArtifact reads a chart from a registry.
func openArtifact(ctx context.Context, images image.Reader, source string) (*chart.Chart, ocispec.Descriptor, error) {
	root, raw, err := images.Manifest(ctx, source, "")
	if err != nil {
		return nil, root, err
	}
	archive, provenance, err := chart.FromManifest(raw)
	if err != nil {
		return nil, root, err
	}
	text, err := readBlob(ctx, images, source, archive)
	if err != nil {
		return nil, root, err
	}
	c, err := chart.Read(text)
	if err == nil && provenance != nil {
		c.Provenance = []byte(provenance.Digest) // it is copied with the artifact
	}
	return c, root, err
}

// readBlob reads a blob, which must have its length and digest.
func readBlob(ctx context.Context, images image.Reader, source string, desc ocispec.Descriptor) ([]byte, error) {
	if err := checkDescriptor(desc); err != nil {
		return nil, err
	}
	r, err := images.Blob(ctx, source, desc, 0)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, desc.Size+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("reading blob %s: %w", desc.Digest, err)
	}
	if int64(len(text)) != desc.Size || desc.Digest.Algorithm().FromBytes(text) != desc.Digest {
		return nil, fmt.Errorf("blob %s has other content", desc.Digest)
	}
	return text, nil
}

// RebuildChart makes the artifact of a chart of a plan again from its source, and stores it. It is needed if
// a plan is mirrored without the workspace that it was made in.
func RebuildChart(ctx context.Context, c plan.Chart, sources Sources) error {
	var built *chart.Chart
	var err error
	if name, local := strings.CutPrefix(c.Source, plan.ChartScheme); local {
		built, err = openLocal(sources.Files, name)
	} else {
		built, err = sources.Repositories.Archive(ctx, c.Source, "")
	}
	if err != nil {
		return fmt.Errorf("reading chart %s: %w", c, err)
	}
	if !c.Provenance { // it may have been published since
		built.Provenance = nil
	}
	root, err := chart.Build(ctx, sources.Store, built)
	if err == nil && root.Digest != c.Digest {
		err = fmt.Errorf("chart %s: its artifact is %s, but the plan has %s: %w", c, root.Digest, c.Digest, errChanged)
	}
	return err
}
