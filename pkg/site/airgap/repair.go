package airgap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// ReadRequest reads a repair request. A request for an encrypted archive is refused if encrypt is
// false, since the repair would not be encrypted.
func ReadRequest(file string, encrypt bool) (*state.RepairRequest, error) {
	in, err := regular.OpenInput(file)
	if err != nil {
		return nil, advice.New(advice.Input, "", "reading the repair request: %w", err)
	}
	r, err := state.ReadRepairRequest(in)
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, advice.New(advice.Input, "", "%s: %w", file, err)
	}
	if r.Encrypted && !encrypt {
		return nil, advice.New(advice.Input, "set Options.EncryptTo to the recipients that may read it", "the archive that %s is about is encrypted, and its repair would not be", file)
	}
	return r, nil
}

// RepairOptions are the options of Repair.
type RepairOptions struct {
	// Dir is the folder that the repair is written to, and Archive how it is written.
	Dir     string
	Archive archive.Options
	// Streams is the number of blobs and manifests fetched at a time.
	Streams int
	// Fatal reports whether an error of a source or of the folder ends the run.
	Fatal func(error) bool
	// Wait, if not nil, is called before each manifest or blob is fetched. It may delay that.
	Wait func(context.Context) error
	// Watch, if not nil, is called when fetching begins. done returns how many manifests and blobs
	// are done. The returned stop function is called at the end.
	Watch func(done func() int64) (stop func())
}

// Repaired is a repair that was written or was already present.
type Repaired struct {
	Name     string `json:"name"`
	Sequence int    `json:"sequence"` // of the repaired set
	Content  int    `json:"content"`  // manifests and blobs
	Bytes    int64  `json:"bytes"`
	// AlreadyPresent reports whether the folder already had the repair.
	AlreadyPresent bool `json:"nothing,omitempty"`
}

// A RepairError reports that the sources do not have all requested content. What was fetched is
// kept for another run.
type RepairError struct {
	Failed []FailedContent // by digest
}

// FailedContent is content that no source has, and why.
type FailedContent struct {
	Digest digest.Digest
	Err    error
}

func (e *RepairError) Error() string {
	what := "1 blob or manifest"
	if n := len(e.Failed); n != 1 {
		what = fmt.Sprintf("%d blobs and manifests", n)
	}
	return "the repair is not finished: no source has " + what
}

// Advice implements advice.Adviser.
func (*RepairError) Advice() (advice.Kind, string) {
	return advice.Partial, "run it again when a source has them; what was fetched is kept"
}

func (e *RepairError) Unwrap() []error {
	return elements.Map(e.Failed, func(m FailedContent) error { return m.Err })
}

// Repair writes the archive that a request asks for, and nothing else. If the plan was lost, the
// workspace must have it. If no source has some content, Repair fetches everything else first and
// then returns a *RepairError.
func Repair(ctx context.Context, ws *state.Workspace, r *state.RepairRequest, source image.Reader, opts RepairOptions) (*Repaired, error) {
	if err := setSecret(ctx, ws, opts.Archive.Encrypt); err != nil {
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
		content = append(content, descriptorOf(want))
		done.Bytes += want.Size
	}
	c.Entries = slices.Values(content)
	opts.Archive.Repair = &archive.Repair{SetRef: r.SetRef, Plan: r.Plan}
	w, err := archive.Create(ctx, opts.Dir, c, opts.Archive)
	if err != nil {
		return nil, err
	}
	done.AlreadyPresent = w.Complete()
	if err := fetchAll(ctx, source, w, r, opts); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return done, errors.Join(w.Finish(ctx), w.Close())
}

func descriptorOf(c state.LostContent) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: cmp.Or(c.MediaType, "application/octet-stream"), Digest: c.Digest, Size: c.Size}
}

// lostPlan returns the plan of a request from the workspace.
func lostPlan(ws *state.Workspace, r *state.RepairRequest) (archive.WriteFunc, error) {
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
		return nil, advice.New(advice.Input, "write the archive again with Options.Full", "the plan %s of sequence %d was lost, and this workspace has another plan of %q", r.Plan, r.Sequence, r.Name)
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

// findSources fills in the images that contain the requested content if the plan was lost. It reads
// the plan of the workspace, whose digest lostPlan compared.
func findSources(ws *state.Workspace, r *state.RepairRequest) error {
	text, err := ws.OpenPlan(r.Name)
	if err != nil {
		return err
	}
	p, err := plan.Read(text)
	if err := errors.Join(err, text.Close()); err != nil {
		return err
	}
	lost := elements.Map(r.Content, func(c state.LostContent) digest.Digest { return c.Digest })
	holders, err := mirror.ImagesByContent(p, lost)
	if err != nil {
		return err
	}
	for i := range r.Content {
		c := &r.Content[i]
		for _, img := range holders[c.Digest] {
			c.Sources = append(c.Sources, img.Source)
		}
		if len(c.Sources) == 0 {
			return advice.New(advice.Input, "", "the repair request lists %s, which no image of the plan %q has", c.Digest, r.Name)
		}
	}
	return nil
}

// fetchAll fetches the requested content, each from the first source that has it.
func fetchAll(ctx context.Context, source image.Reader, w *archive.Writer, r *state.RepairRequest, opts RepairOptions) error {
	var done atomic.Int64
	if opts.Watch != nil {
		defer opts.Watch(done.Load)()
	}
	failed := make([]error, len(r.Content))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(opts.Streams, 1))
	for i, want := range r.Content {
		g.Go(func() error {
			if opts.Wait != nil {
				if err := opts.Wait(ctx); err != nil {
					return err
				}
			}
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
			e.Failed = append(e.Failed, FailedContent{r.Content[i].Digest, err})
		}
	}
	if len(e.Failed) > 0 {
		return e
	}
	return nil
}

// fetch fetches one manifest or blob.
func fetch(ctx context.Context, from image.Reader, w *archive.Writer, want state.LostContent) error {
	desc := descriptorOf(want)
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
