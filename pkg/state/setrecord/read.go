package setrecord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A Reader reads the repository with the records of one mirror. Errors for a repository or content that does
// not exist match fs.ErrNotExist.
type Reader interface {
	// Mirror returns the registry and the prefix of the mirror.
	Mirror() (host, prefix string)
	// Tags returns all tags of the repository.
	Tags(ctx context.Context) ([]string, error)
	// Manifest returns the manifest with a tag.
	Manifest(ctx context.Context, tag string) (ocispec.Descriptor, []byte, error)
	// Blob opens a blob and verifies its length and digest.
	Blob(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error)
}

// List returns the image sets that a mirror has records of, sorted by tag. It makes one request. A mirror
// without records has none.
func List(ctx context.Context, r Reader) ([]Listed, error) {
	tags, err := r.Tags(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the image sets of the mirror: %w", err)
	}
	return listTags(tags), nil
}

// Current returns the current revision of each image set, sorted by name. A record that cannot be read does not
// prevent reading the others: Current then returns these and an error.
func Current(ctx context.Context, r Reader) ([]Revision, error) {
	sets, err := List(ctx, r)
	if err != nil {
		return nil, err
	}
	var all []Revision
	var failed []error
	for i := range sets {
		switch t, err := CurrentOf(ctx, r, &sets[i]); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			failed = append(failed, err)
		default:
			all = append(all, *t)
		}
	}
	elements.Sort(all, compareRevisions)
	return all, errors.Join(failed...)
}

// Last returns the last run of an image set, by its tag.
func Last(ctx context.Context, r Reader, name string) (*Revision, error) {
	return readRevision(ctx, r, Tag(name), Tag(name))
}

// CurrentOf returns the current revision of an image set: the one of its tag, or a newer one, whose run ended
// before it could move that tag.
func CurrentOf(ctx context.Context, r Reader, set *Listed) (*Revision, error) {
	number, _ := set.Newest()
	if set.Current {
		t, err := readRevision(ctx, r, set.Tag, set.Tag)
		if err == nil && t.Number >= number || number == 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
	}
	return readRevision(ctx, r, set.revisions[len(set.revisions)-1].String(), set.Tag)
}

// History returns all revisions of an image set, the oldest first. The last one is the current revision.
func History(ctx context.Context, r Reader, set *Listed) ([]Revision, error) {
	current, err := CurrentOf(ctx, r, set)
	if err != nil {
		return nil, err
	}
	all := []Revision{*current}
	for _, tag := range set.revisions {
		if tag.String() == current.Tag() {
			continue
		}
		t, err := readRevision(ctx, r, tag.String(), set.Tag)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the list was read
		}
		if err != nil {
			return nil, err
		}
		all = append(all, *t)
	}
	elements.Sort(all, compareRevisions)
	return all, nil
}

// readRevision reads the manifest with a tag, which must be one of the image set with the tag set.
func readRevision(ctx context.Context, r Reader, tag, set string) (*Revision, error) {
	_, raw, err := r.Manifest(ctx, tag)
	if err != nil {
		return nil, fmt.Errorf("reading the record %s: %w", tag, err)
	}
	t, err := parseManifest(raw)
	if err == nil && Tag(t.Name) != set {
		err = fmt.Errorf("it belongs to the image set %q", t.Name)
	}
	if err == nil && tag != set && t.Tag() != tag {
		err = fmt.Errorf("its content is the one of %s", t.Tag())
	}
	if err != nil {
		host, prefix := r.Mirror()
		return nil, fmt.Errorf("the record %s of the mirror %s: %w", tag, join(host, prefix), err)
	}
	return t, nil
}

// ReadRecord reads what arrived in a revision. Its references have the name of the mirror. Runs is the one of the
// revision.
func ReadRecord(ctx context.Context, r Reader, t *Revision) (*state.Record, error) {
	text, err := open(ctx, r, t.RecordLayer, t)
	if err != nil {
		return nil, err
	}
	host, prefix := r.Mirror()
	record, err := readRecord(text, host, prefix)
	if err = errors.Join(err, text.Close()); err != nil {
		return nil, fmt.Errorf("the record of image set %q: %w", t.Name, err)
	}
	record.Runs = t.Runs
	return record, nil
}

// OpenPlan opens the JSON of the plan of a revision. Its length and digest are verified when it is read to its
// end.
func OpenPlan(ctx context.Context, r Reader, t *Revision) (io.ReadCloser, error) {
	return open(ctx, r, t.PlanLayer, t)
}

func open(ctx context.Context, r Reader, layer ocispec.Descriptor, t *Revision) (io.ReadCloser, error) {
	want := t.Plan
	if layer.MediaType == RecordType {
		want = t.Record
	}
	body, err := r.Blob(ctx, layer)
	var text io.ReadCloser
	if err == nil {
		text, err = readText(body, want)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the record %s of the image set %q: %w", t.Tag(), t.Name, err)
	}
	return text, nil
}

func join(host, prefix string) string {
	if prefix == "" {
		return host
	}
	return host + "/" + prefix
}
