package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/repair"
	"github.com/gantry-mirror/gantry/plan"
)

// checkRepair refuses what says something else than a repair request.
func (f *mirrorFlags) checkRepair(destination string) error {
	switch {
	case !strings.HasPrefix(destination, fileScheme) || len(destination) == len(fileScheme):
		return usageHint("write file://DIR", "--repair writes an archive, and the destination is %q", destination)
	case f.config != "" || f.plan != "" || len(f.from) > 0 || f.given():
		return usageHint("leave -c, --plan and --from out", "--repair says all that is written")
	case f.since != "" || f.full || f.receipt != "":
		return usageHint("leave --since, --full and --receipt out", "--repair says all that is written")
	case f.name != "":
		return usageHint("leave it out", "--name is for a configuration, and the request has a name")
	case f.dryRun:
		return usageHint("leave it out: the request lists all that is written", "--dry-run does not go with --repair")
	}
	f.sign.what = "the repair"
	return errors.Join(f.sign.check(true), f.trust.check(false))
}

// repairResult is what gantry mirror --repair --output json prints.
type repairResult struct {
	Version     int    `json:"version"`
	Destination string `json:"destination"`
	Name        string `json:"name"`
	Sequence    int    `json:"sequence"` // of the set that is mended
	Content     int    `json:"content"`  // manifests and blobs
	Bytes       int64  `json:"bytes"`
	// Nothing says that the folder had the repair already.
	Nothing bool `json:"nothing,omitempty"`
}

// repair writes the archive that a repair request wants.
func (a *app) repair(ctx context.Context, f mirrorFlags, destination string) error {
	if f.volumeSize != "" {
		if _, err := archive.ParseVolumeSize(f.volumeSize); err != nil {
			return usagef("--volume-size: %w", err)
		}
	}
	in, err := os.Open(f.repair)
	if err != nil {
		return usagef("--repair: %w", err)
	}
	r, err := repair.Read(in)
	if err := errors.Join(err, in.Close()); err != nil {
		return usagef("--repair: %s: %w", f.repair, err)
	}
	if r.Encrypted && len(f.to) == 0 {
		return usageHint("give --encrypt-to, with the recipients that are to read it", "the archive that %s is about is encrypted, and its repair would not be", f.repair)
	}
	encryption, err := a.encryption(&f.encryptFlags)
	if err != nil {
		return err
	}
	key, err := a.signKey(ctx, f.sign)
	if err != nil {
		return err
	}
	s, err := a.open(f.inputs, &f.sides)
	if err != nil {
		return err
	}
	defer a.leave(s)
	if err := s.encryptTo(ctx, encryption); err != nil {
		return err
	}
	c := archive.Content{Name: r.Name}
	if r.PlanLost {
		if c.Plan, err = s.lostPlan(r); err != nil {
			return err
		}
		if err := s.findSources(r); err != nil {
			return err
		}
	}
	var content []ocispec.Descriptor
	result := repairResult{Version: 1, Destination: destination, Name: r.Name, Sequence: r.Sequence, Content: len(r.Content)}
	for _, want := range r.Content {
		content = append(content, wanted(want))
		result.Bytes += want.Size
	}
	c.Entries = slices.Values(content)
	opts := archive.Options{
		Strict: f.strictArchive, Sign: signWith(key), Encrypt: encryption, Log: a.log,
		Repair: &archive.Repair{BaseSet: archive.BaseSet{Sequence: r.Sequence, Set: r.Set}, Plan: r.Plan},
	}
	if f.volumeSize != "" {
		opts.VolumeSize, _ = archive.ParseVolumeSize(f.volumeSize) // it was read before
	}
	w, err := archive.Create(ctx, strings.TrimPrefix(destination, fileScheme), c, opts)
	if err != nil {
		return err
	}
	result.Nothing = w.Complete()
	if err := a.fetchAll(ctx, &f.sides, s, w, r); err != nil {
		return errors.Join(err, w.Close())
	}
	if err := errors.Join(w.Finish(ctx), w.Close()); err != nil {
		return err
	}
	return a.showRepair(result)
}

func wanted(c repair.Content) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: c.MediaType, Digest: c.Digest, Size: c.Size}
	if d.MediaType == "" {
		d.MediaType = "application/octet-stream"
	}
	return d
}

// lostPlan is the plan that a request wants, if the workspace has it.
func (s *session) lostPlan(r *repair.Request) (archive.Text, error) {
	open := func() (io.ReadCloser, error) { return s.OpenPlan(r.Name) }
	text, err := open()
	if err == nil {
		sum := digest.SHA256.Digester()
		_, err = io.Copy(sum.Hash(), text)
		if err = errors.Join(err, text.Close()); err == nil && sum.Digest() != r.Plan {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageHint("write the archive again with gantry mirror --full", "the plan %s of sequence %d was lost, and this workspace has another one of %q", r.Plan, r.Sequence, r.Name)
	}
	if err != nil {
		return nil, err
	}
	return func(out io.Writer) error {
		text, err := open()
		if err != nil {
			return err
		}
		_, err = io.Copy(out, text)
		return errors.Join(err, text.Close())
	}, nil
}

// findSources fills in the images that have the content of a request whose plan was
// lost, out of the plan in the workspace, which lostPlan has compared.
func (s *session) findSources(r *repair.Request) error {
	text, err := s.OpenPlan(r.Name)
	if err != nil {
		return err
	}
	p, err := plan.Read(text)
	if err := errors.Join(err, text.Close()); err != nil {
		return err
	}
	var lost []digest.Digest
	for _, c := range r.Content {
		lost = append(lost, c.Digest)
	}
	holders, err := mirror.Holders(p, lost)
	if err != nil {
		return err
	}
	for i := range r.Content {
		c := &r.Content[i]
		for _, img := range holders[c.Digest] {
			c.Sources = append(c.Sources, img.Source)
		}
		if len(c.Sources) == 0 {
			return usagef("the repair request wants %s, which no image of the plan %q has", c.Digest, r.Name)
		}
	}
	return nil
}

// fetchAll brings what the request wants, each from the first of its sources that gives
// it. What no source gives is named, after all else was brought.
func (a *app) fetchAll(ctx context.Context, sides *sides, s *session, w *archive.Writer, r *repair.Request) error {
	streams, err := sides.streams()
	if err != nil {
		return err
	}
	var done atomic.Int64
	stop := a.show("repairing", func() progress.Reading {
		return progress.Reading{Images: int64(len(r.Content)), ImagesDone: done.Load()}
	})
	defer stop()
	failed := make([]error, len(r.Content))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(streams)
	for i, want := range r.Content {
		g.Go(func() error {
			err := fetch(ctx, s.origin, w, want)
			done.Add(1)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil && fatal(err) {
				return err
			}
			failed[i] = err
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	e := &repairError{}
	for i, err := range failed {
		if err != nil {
			a.warn("not written: %s\n    %v", r.Content[i].Digest, err)
			e.failed++
			e.reasons = append(e.reasons, err)
		}
	}
	if e.failed > 0 {
		return &hintError{e, "; ", "what was fetched is kept: run again when they can be had"}
	}
	return nil
}

// A repairError says that sources do not have what a request wants.
type repairError struct {
	failed  int
	reasons []error
}

func (e *repairError) Error() string {
	return "the repair is not finished: " + number(e.failed, "blob or manifest was", "blobs and manifests were") + " given by no source"
}

func (e *repairError) Unwrap() []error { return e.reasons }

// fetch brings one manifest or blob.
func fetch(ctx context.Context, from mirror.Source, w *archive.Writer, want repair.Content) error {
	desc := wanted(want)
	if w.Has(desc) {
		return nil
	}
	if want.MediaType == "" {
		return w.PutBlob(ctx, "", desc, func(ctx context.Context, offset int64) (io.ReadCloser, error) {
			var errs []error
			for _, source := range want.Sources {
				body, err := from.Blob(ctx, source, desc, offset)
				if err == nil {
					return body, nil
				}
				errs = append(errs, err)
			}
			return nil, errors.Join(errs...)
		})
	}
	var errs []error
	for _, source := range want.Sources {
		_, raw, err := from.Manifest(ctx, source, desc.Digest)
		if err == nil {
			return w.PutManifest(ctx, "", desc, raw, nil)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (a *app) showRepair(r repairResult) error {
	if a.output == outputJSON {
		return a.encode(r)
	}
	text := fmt.Sprintf("Repair of sequence %d at %s: %s, %s.\nBring it and name its folder beside that of the archive: --from file://DIR --from file://REPAIR.\n",
		r.Sequence, r.Destination, number(r.Content, "manifest or blob", "manifests and blobs"), progress.Bytes(r.Bytes))
	if r.Nothing {
		text = fmt.Sprintf("Nothing to write: the repair of sequence %d is at %s.\n", r.Sequence, r.Destination)
	}
	return a.text(text)
}
