package carry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/repair"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// ReadRequest reads a repair request. One that is about an encrypted archive is refused
// where its repair would not be.
func ReadRequest(file string, encrypt bool) (*repair.Request, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, requestf("", "--repair: %w", err)
	}
	r, err := repair.Read(in)
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, requestf("", "--repair: %s: %w", file, err)
	}
	if r.Encrypted && !encrypt {
		return nil, requestf("give --encrypt-to, with the recipients that are to read it", "the archive that %s is about is encrypted, and its repair would not be", file)
	}
	return r, nil
}

// RepairOptions say how a repair is written.
type RepairOptions struct {
	// Dir is the folder that it is written to, and Archive how.
	Dir     string
	Archive archive.Options
	// Streams is how much is fetched at a time.
	Streams int
	// Fatal says which errors of a source or of the folder end the run.
	Fatal func(error) bool
	// Watch, where it is not nil, is called when fetching begins, with how much of the
	// content is done; what it returns is called at the end.
	Watch func(done func() int64) (stop func())
}

// Repaired is a repair that was written, or that is there already.
type Repaired struct {
	Name     string `json:"name"`
	Sequence int    `json:"sequence"` // of the set that is mended
	Content  int    `json:"content"`  // manifests and blobs
	Bytes    int64  `json:"bytes"`
	// Nothing says that the folder had the repair already.
	Nothing bool `json:"nothing,omitempty"`
}

// A RepairError says that sources do not have what a request wants. What was fetched is
// kept for another run.
type RepairError struct {
	Missed []Missed // by digest
}

// Missed is content that no source gave, and why.
type Missed struct {
	Digest digest.Digest
	Err    error
}

func (e *RepairError) Error() string {
	what := "1 blob or manifest was"
	if n := len(e.Missed); n != 1 {
		what = fmt.Sprintf("%d blobs and manifests were", n)
	}
	return "the repair is not finished: " + what + " given by no source; " + e.Hint()
}

// Hint says what to do.
func (*RepairError) Hint() string { return "what was fetched is kept: run again when they can be had" }

func (e *RepairError) Unwrap() []error {
	var reasons []error
	for _, m := range e.Missed {
		reasons = append(reasons, m.Err)
	}
	return reasons
}

// Repair writes the archive that a request wants, and nothing else. Where the plan was
// lost, the workspace has to have it. What no source gives is a *RepairError, after all
// else was brought.
func Repair(ctx context.Context, ws *workspace.Workspace, r *repair.Request, source mirror.Source, opts RepairOptions) (*Repaired, error) {
	if err := encryptTo(ctx, ws, opts.Archive.Encrypt); err != nil {
		return nil, err
	}
	c := archive.Content{Name: r.Name}
	if r.PlanLost {
		var err error
		if c.Plan, err = lostPlan(ws, r); err != nil {
			return nil, err
		}
		if err := findSources(ws, r); err != nil {
			return nil, err
		}
	}
	done := &Repaired{Name: r.Name, Sequence: r.Sequence, Content: len(r.Content)}
	var content []ocispec.Descriptor
	for _, want := range r.Content {
		content = append(content, wanted(want))
		done.Bytes += want.Size
	}
	c.Entries = slices.Values(content)
	opts.Archive.Repair = &archive.Repair{BaseSet: archive.BaseSet{Sequence: r.Sequence, Set: r.Set}, Plan: r.Plan}
	w, err := archive.Create(ctx, opts.Dir, c, opts.Archive)
	if err != nil {
		return nil, err
	}
	done.Nothing = w.Complete()
	if err := fetchAll(ctx, source, w, r, opts); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return done, errors.Join(w.Finish(ctx), w.Close())
}

func wanted(c repair.Content) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: c.MediaType, Digest: c.Digest, Size: c.Size}
	if d.MediaType == "" {
		d.MediaType = "application/octet-stream"
	}
	return d
}

// lostPlan is the plan that a request wants, if the workspace has it.
func lostPlan(ws *workspace.Workspace, r *repair.Request) (archive.Text, error) {
	open := func() (io.ReadCloser, error) { return ws.OpenPlan(r.Name) }
	text, err := open()
	if err == nil {
		sum := digest.SHA256.Digester()
		_, err = io.Copy(sum.Hash(), text)
		if err = errors.Join(err, text.Close()); err == nil && sum.Digest() != r.Plan {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, requestf("write the archive again with gantry mirror --full", "the plan %s of sequence %d was lost, and this workspace has another one of %q", r.Plan, r.Sequence, r.Name)
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
func findSources(ws *workspace.Workspace, r *repair.Request) error {
	text, err := ws.OpenPlan(r.Name)
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
			return requestf("", "the repair request wants %s, which no image of the plan %q has", c.Digest, r.Name)
		}
	}
	return nil
}

// fetchAll brings what the request wants, each from the first of its sources that gives
// it.
func fetchAll(ctx context.Context, source mirror.Source, w *archive.Writer, r *repair.Request, opts RepairOptions) error {
	var done atomic.Int64
	if opts.Watch != nil {
		defer opts.Watch(done.Load)()
	}
	failed := make([]error, len(r.Content))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(opts.Streams, 1))
	for i, want := range r.Content {
		g.Go(func() error {
			err := fetch(ctx, source, w, want)
			done.Add(1)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil && opts.Fatal != nil && opts.Fatal(err) {
				return err
			}
			failed[i] = err
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	e := &RepairError{}
	for i, err := range failed {
		if err != nil {
			e.Missed = append(e.Missed, Missed{r.Content[i].Digest, err})
		}
	}
	if len(e.Missed) > 0 {
		return e
	}
	return nil
}

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
