package setrecord

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/state"
)

// A Writer writes to the repository with the records of one mirror.
type Writer interface {
	// Mirror returns the registry and the prefix of the mirror.
	Mirror() (host, prefix string)
	// PutBlob writes a blob unless the repository has it.
	PutBlob(ctx context.Context, desc ocispec.Descriptor, open Open) error
	// PutManifest writes a manifest under a tag, and returns its digest. It may write it in the form of
	// manifest.DockerArtifact.
	PutManifest(ctx context.Context, tag, mediaType string, raw []byte) (digest.Digest, error)
}

// Open opens a blob at an offset.
type Open = func(ctx context.Context, offset int64) (io.ReadCloser, error)

// A Store stores layers until they are sent.
type Store interface {
	Write(ctx context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error)
	Blob(ctx context.Context, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
}

// ErrIncomplete means that the repository no longer has the layers of an earlier revision.
var ErrIncomplete = errors.New("the mirror does not have the content of the record")

// Write records a run. t has the name of the image set, LastRun, and what describes the run; Write returns
// it with the rest. If t has Runs, no run is counted: the last one is recorded again, without what was deleted. before is the current revision of the image set, nil if there is none. If record and plan are
// those of before, only the manifest of the last run is written. plan writes the JSON of the plan and may be
// called twice.
func Write(ctx context.Context, w Writer, store Store, t Revision, before *Revision, record *state.Record, plan func(io.Writer) error) (*Revision, error) {
	host, prefix := w.Mirror()
	r, err := neutral(record, host, prefix)
	if err != nil {
		return nil, err
	}
	if t.Record, err = digestOf(r.Write); err == nil {
		t.Plan, err = digestOf(plan)
	}
	if err != nil {
		return nil, err
	}
	again := t.Runs > 0
	t.Number, t.Since, t.Previous = 1, t.LastRun, ""
	if !again {
		t.Runs = 1
	}
	if before != nil {
		if t.Previous = before.Manifest; !again {
			t.Runs = before.Runs + 1
		}
		t.Number = before.Number + 1
		if t.SameContent(before) {
			t.Number, t.Since, t.RecordLayer, t.PlanLayer = before.Number, before.Since, before.RecordLayer, before.PlanLayer
			switch err := putManifest(ctx, w, &t, Tag(t.Name)); {
			case err == nil:
				return &t, nil
			case !errors.Is(err, ErrIncomplete):
				return nil, err
			}
		}
	}
	if err := putLayers(ctx, w, store, []layer{{&t.RecordLayer, RecordType, r.Write}, {&t.PlanLayer, PlanType, plan}}); err != nil {
		return nil, err
	}
	// A run that ends between the two has begun the revision: see CurrentOf.
	if err := putManifest(ctx, w, &t, t.Tag()); err != nil {
		return nil, err
	}
	return &t, putManifest(ctx, w, &t, Tag(t.Name))
}

// A layer is one of an artifact, with what it contains.
type layer struct {
	to        *ocispec.Descriptor
	mediaType string
	write     func(io.Writer) error
}

// putLayers writes layers and the empty config, and sets the descriptors of the layers.
func putLayers(ctx context.Context, w Writer, store Store, layers []layer) (err error) {
	config := ocispec.DescriptorEmptyJSON
	blobs := []ocispec.Descriptor{{MediaType: config.MediaType, Digest: config.Digest, Size: config.Size}}
	if _, err := store.Write(ctx, config.MediaType, func(w io.Writer) error {
		_, err := w.Write(config.Data)
		return err //nolint:wrapcheck // Write wraps it
	}); err != nil {
		return fmt.Errorf("storing the record: %w", err)
	}
	for _, l := range layers {
		if *l.to, err = store.Write(ctx, l.mediaType, compress(l.write)); err != nil {
			return fmt.Errorf("storing the record: %w", err)
		}
		blobs = append(blobs, *l.to)
	}
	for _, b := range blobs {
		err := w.PutBlob(ctx, b, func(ctx context.Context, offset int64) (io.ReadCloser, error) { return store.Blob(ctx, b, offset) })
		if err != nil {
			return fmt.Errorf("writing the record to the mirror: %w", err)
		}
	}
	return nil
}

func putManifest(ctx context.Context, w Writer, t *Revision, tag string) error {
	t.Turn = t.Number
	raw, err := t.manifest()
	if err != nil {
		return err
	}
	if t.Manifest, err = w.PutManifest(ctx, tag, ocispec.MediaTypeImageManifest, raw); err != nil {
		return fmt.Errorf("writing the record to the mirror: %w", err)
	}
	return nil
}
