package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A LayoutDestination is an OCI image layout.
type LayoutDestination struct {
	Dir string
	// Keep keeps images that the layout lists under other names.
	Keep bool
	// CheckBlobs reads the blobs that the layout has, and replaces damaged ones.
	CheckBlobs bool
}

// Registry returns nil.
func (t *LayoutDestination) Registry() *RegistryDestination { return nil }

// Compare implements Destination.
func (t *LayoutDestination) Compare(ctx context.Context, p *plan.Plan) (*mirror.ToCopy, error) {
	l, err := layout.Open(t.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return &mirror.ToCopy{Images: len(p.Images), Bytes: p.Totals.Bytes}, nil
	}
	if err != nil {
		return nil, err
	}
	return mirror.Compare(ctx, p, mirror.NewLayoutDestination(l), mirror.Options{CheckBlobs: t.CheckBlobs})
}

// Copy implements Destination.
func (t *LayoutDestination) Copy(ctx context.Context, p *plan.Plan, source image.Reader, opts mirror.Options) (report *mirror.Report, err error) {
	report = &mirror.Report{}
	if _, err := os.Stat(t.Dir); errors.Is(err, os.ErrNotExist) {
		if err := CheckLayoutSpace(source, p, t.Dir); err != nil {
			return report, err // and the folder is not created
		}
	}
	l, err := layout.Create(t.Dir, layout.Options{})
	if err != nil {
		return report, err
	}
	lock, err := l.Lock() // it also removes what a killed run left
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := CheckLayoutSpace(source, p, t.Dir); err != nil {
		return report, err
	}
	to := mirror.NewLayoutDestination(l)
	opts.CheckBlobs = t.CheckBlobs
	report, err = mirror.Run(ctx, p, source, to, opts)
	report.Unfinished = len(report.Failed) > len(p.Missing)
	finish := to.Finish
	if t.Keep {
		finish = to.Add
	}
	if err == nil && !report.Unfinished {
		err = finish(ctx, p)
	}
	if err != nil {
		err = fmt.Errorf("writing %s%s: %w", env.LayoutScheme, t.Dir, layoutFull(err, source, p, t.Dir))
	}
	return report, err
}

// block is the allocation unit of most file systems, in bytes.
const block = 4 << 10

// CheckLayoutSpace returns a *space.Error if the disk of a layout is too small for the content of a
// plan that the layout does not have yet and that the source has.
func CheckLayoutSpace(source image.Reader, p *plan.Plan, dir string) error {
	present, err := layout.Open(dir)
	if err != nil {
		present = nil // it does not exist yet; another error is returned when it is written
	}
	partial, _ := source.(interface {
		Lacks(desc ocispec.Descriptor) error
	})
	var needed int64
	for desc := range mirror.Content(p) {
		if present != nil && present.Has(desc) || partial != nil && partial.Lacks(desc) != nil {
			continue
		}
		needed += blocks(desc.Size)
	}
	if needed == 0 {
		return nil
	}
	names, err := mirror.IndexManifests(p)
	if err != nil {
		return err
	}
	var index bytes.Buffer
	if err := layout.WriteIndex(&index, names); err != nil {
		return err
	}
	return space.Check(dir, needed+blocks(int64(index.Len()))+block) // oci-layout
}

// blocks returns the disk space of a file with this size.
func blocks(size int64) int64 { return (size + block - 1) / block * block }

// layoutFull returns err, or, if the disk is full, a *space.Error that also says how much space is
// missing.
func layoutFull(err error, source image.Reader, p *plan.Plan, dir string) error {
	var full *space.Error
	if space.IsFull(err) && errors.As(CheckLayoutSpace(source, p, dir), &full) {
		full.Err = err
		return full
	}
	return err // there is enough space by now, or another disk is full
}
