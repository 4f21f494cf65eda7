package setrecord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// pendingType is the artifact type of a [Pending].
const pendingType = "application/vnd.gantry.image-set.pending.v1"

// pendingEnding ends the tags of pending runs. They begin like tags that belong to no image set, so that versions which
// do not know them read the records all the same.
const pendingEnding = ".pending"

// A Pending is a run that may have pushed content of a plan, and that no revision has. A run that pushes something writes it
// first, so that the content is known whenever the run ends, and removes it after its own record. It is an artifact with the
// plan as its only layer. Its JSON is part of what gantry status docker://HOST -o json prints.
type Pending struct {
	// Name is the name of the image set, and Runs how many of its runs were recorded when this one began.
	Name string `json:"name"`
	Runs int    `json:"runs"`
	// Since is when the run began, in UTC and full seconds. Host, User and Version (of Gantry) are those of the run.
	Since   time.Time `json:"since"`
	Host    string    `json:"host,omitempty"`
	User    string    `json:"user,omitempty"`
	Version string    `json:"version,omitempty"`
	// Plan is the digest of the JSON of the plan, MaxNestedPaths the limit that repositories are named with.
	Plan           digest.Digest `json:"plan"`
	MaxNestedPaths int           `json:"maxNestedPaths,omitempty"`

	// Manifest is the digest of the manifest that it was read from, PlanLayer the compressed layer.
	Manifest  digest.Digest      `json:"manifest"`
	PlanLayer ocispec.Descriptor `json:"planLayer"`
}

// Tag returns the tag, the same for all runs that push the same.
func (p *Pending) Tag() string {
	d := digest.FromString(fmt.Sprintf("%s\n%s\n%d\n", p.Name, p.Plan, p.MaxNestedPaths))
	return "sha256-" + d.Encoded() + pendingEnding
}

// Revision returns what the run pushes in the form of a revision, for OpenPlan.
func (p *Pending) Revision() *Revision {
	return &Revision{Name: p.Name, Number: 1, Runs: p.Runs, Since: p.Since, LastRun: p.Since, Host: p.Host, User: p.User, Version: p.Version, Plan: p.Plan, MaxNestedPaths: p.MaxNestedPaths, Manifest: p.Manifest, PlanLayer: p.PlanLayer}
}

// fields are the annotations.
func (p *Pending) fields() []field {
	return []field{
		{"name", p.Name, parseText(&p.Name, true)},
		{"runs", optional(p.Runs), parseNumber(&p.Runs, 0)},
		{"since", formatTime(p.Since), parseTime(&p.Since)},
		{"host", p.Host, parseText(&p.Host, false)},
		{"user", p.User, parseText(&p.User, false)},
		{"version", p.Version, parseText(&p.Version, false)},
		{"plan", string(p.Plan), parseDigest(&p.Plan, true)},
		{"max-nested-paths", optional(p.MaxNestedPaths), parseNumber(&p.MaxNestedPaths, 0)},
	}
}

// Announce writes that a run is going to push the content of a plan. p has the name of the image set and what describes the
// run; Announce returns it with the rest. It writes nothing and returns nil if the current revision, which may be nil, has
// the same plan.
func Announce(ctx context.Context, w Writer, store Store, p Pending, current *Revision, plan func(io.Writer) error) (*Pending, error) {
	var err error
	if p.Plan, err = digestOf(plan); err != nil {
		return nil, err
	}
	if current != nil && current.Plan == p.Plan && current.MaxNestedPaths == p.MaxNestedPaths {
		return nil, nil
	}
	layers := []layer{{&p.PlanLayer, PlanType, plan}}
	if err := putLayers(ctx, w, store, layers); err != nil {
		return nil, err
	}
	raw, err := p.manifest()
	if err != nil {
		return nil, fmt.Errorf("making the manifest of a run of image set %q: %w", p.Name, err)
	}
	if p.Manifest, err = w.PutManifest(ctx, p.Tag(), ocispec.MediaTypeImageManifest, raw); err != nil {
		return nil, fmt.Errorf("writing to the mirror what the run pushes: %w", err)
	}
	return &p, nil
}

// manifest returns the manifest of the run. The layer must be set.
func (p *Pending) manifest() ([]byte, error) {
	raw, err := artifact(pendingType, p.Since, p.fields(), p.PlanLayer)
	if err == nil {
		_, err = parsePending(raw) // what is written can be read
	}
	return raw, err
}

// parsePending returns what the manifest of a pending run says.
func parsePending(raw []byte) (*Pending, error) {
	p := &Pending{Manifest: digest.FromBytes(raw)}
	return p, parseArtifact(raw, pendingType, p.fields(), &p.PlanLayer)
}

// AllPending returns the runs that did not end with a record, or not yet, the oldest first. It makes one request, and one for
// each of them.
func AllPending(ctx context.Context, r Reader) ([]Pending, error) {
	tags, err := r.Tags(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the runs of the mirror that did not end: %w", err)
	}
	var all []Pending
	slices.Sort(tags)
	for _, tag := range tags {
		if !isOther(tag) || !strings.HasSuffix(tag, pendingEnding) {
			continue
		}
		_, raw, err := r.Manifest(ctx, tag)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended meanwhile
		}
		var p *Pending
		if err == nil {
			p, err = parsePending(raw)
		}
		if err == nil && p.Tag() != tag {
			err = fmt.Errorf("its content is the one of %s", p.Tag())
		}
		if err != nil {
			host, prefix := r.Mirror()
			return nil, fmt.Errorf("reading the run %s of the mirror %s: %w", tag, join(host, prefix), err)
		}
		all = append(all, *p)
	}
	elements.Sort(all, func(a, b Pending) int { return a.Since.Compare(b.Since) })
	return all, nil
}
