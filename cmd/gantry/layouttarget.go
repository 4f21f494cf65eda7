package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/space"
	"github.com/gantry-mirror/gantry/plan"
)

// layoutTarget is a plain OCI layout.
type layoutTarget struct {
	dir        string
	add        bool // to what the layout lists under other names
	checkBlobs bool // what the layout has is read
}

func (t *layoutTarget) registry() *registryTarget { return nil }

func (t *layoutTarget) look(ctx context.Context, p *plan.Plan) (*mirror.Missing, error) {
	l, err := layout.Open(t.dir)
	if errors.Is(err, os.ErrNotExist) {
		return &mirror.Missing{Images: len(p.Images), Bytes: p.Totals.Bytes}, nil
	}
	if err != nil {
		return nil, err
	}
	return mirror.Look(ctx, p, mirror.ToLayout(l), mirror.Options{CheckBlobs: t.checkBlobs})
}

func (t *layoutTarget) mirror(ctx context.Context, p *plan.Plan, source mirror.Source, opts mirror.Options) (report *mirror.Report, err error) {
	report = &mirror.Report{}
	if _, err := os.Stat(t.dir); errors.Is(err, os.ErrNotExist) {
		if err := layoutRoom(source, p, t.dir); err != nil {
			return report, err // without making the folder
		}
	}
	l, err := layout.Create(t.dir, layout.Options{})
	if err != nil {
		return report, err
	}
	lock, err := l.Lock() // which makes room where a run died
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := layoutRoom(source, p, t.dir); err != nil {
		return report, err
	}
	sink := mirror.ToLayout(l)
	opts.CheckBlobs = t.checkBlobs
	report, err = mirror.Run(ctx, p, source, sink, opts)
	report.Unfinished = len(report.Failed) > len(p.Missing)
	finish := sink.Finish
	if t.add {
		finish = sink.Add
	}
	if err == nil && !report.Unfinished {
		err = finish(ctx, p)
	}
	if err != nil {
		err = fmt.Errorf("writing %s%s: %w", ociScheme, t.dir, layoutFull(err, source, p, t.dir))
	}
	return report, err
}

// block is what file systems mostly give to files in multiples of, in bytes.
const block = 4 << 10

// layoutRoom is a *space.Error where there is no room for what a layout in a folder
// lacks of a plan, as far as the source has it.
func layoutRoom(source mirror.Source, p *plan.Plan, dir string) error {
	there, err := layout.Open(dir)
	if err != nil {
		there = nil // it will be made, or refused
	}
	partly, _ := source.(interface {
		Lacks(desc ocispec.Descriptor) error
	})
	var needed int64
	for desc := range mirror.Content(p) {
		if there != nil && there.Has(desc) || partly != nil && partly.Lacks(desc) != nil {
			continue
		}
		needed += blocks(desc.Size)
	}
	if needed == 0 {
		return nil
	}
	names, err := mirror.Names(p)
	if err != nil {
		return err
	}
	var index counter
	if err := layout.WriteIndex(&index, names); err != nil {
		return err
	}
	return space.Check(dir, needed+blocks(int64(index))+block) // oci-layout
}

// blocks is what a file of so many bytes takes up.
func blocks(size int64) int64 { return (size + block - 1) / block * block }

// layoutFull says of a write that there was no room for how much is lacking, where
// the layout in dir has no room.
func layoutFull(err error, source mirror.Source, p *plan.Plan, dir string) error {
	var lacking *space.Error
	if space.IsFull(err) && errors.As(layoutRoom(source, p, dir), &lacking) {
		lacking.Err = err
		return lacking
	}
	return err // there is room by now, or somewhere else there is none
}

// A counter counts the bytes that are written to it.
type counter int64

var _ io.Writer = (*counter)(nil)

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
