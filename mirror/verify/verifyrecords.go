package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// A VerifiedImageSet is an image set whose record in the mirror was verified.
type VerifiedImageSet struct {
	Name string `json:"name"`
	// Revision is the number of its current revision.
	Revision int `json:"revision"`
	// Deprecated: Turn is Revision under the key of earlier versions.
	Turn    int       `json:"turn"`
	LastRun time.Time `json:"lastRun"`
	// Images is how many images its plan has, Missing how many of them are missing.
	Images  int `json:"images"`
	Missing int `json:"missing"`
}

// fromRecords reports whether the records in a mirror say what should be there.
func (o *Options) fromRecords() bool {
	return o.plans() == 0 && strings.HasPrefix(o.Locations[0], env.RegistryScheme)
}

// verifyRecords verifies a mirror with the plans of its records.
func verifyRecords(ctx context.Context, e *env.Env, o *Options, t *site.RegistryDestination, trust *trust.SignaturePolicy) (*Result, error) {
	sets := mirror.NewImageSets(t.Client, t.RegistryPath)
	current, err := setrecord.Current(ctx, sets)
	if err != nil {
		return nil, site.AdviseRecord(fmt.Errorf("reading the records in %s: %w", sets.Repository().Name(), err))
	}
	known := len(current)
	if o.Name != "" {
		current = slices.DeleteFunc(current, func(s setrecord.Revision) bool { return s.Name != o.Name })
	}
	switch {
	case known == 0:
		return nil, env.InputHint("set one of Options.Config, Options.Plan and Options.From", "it is unknown what should be in %s: it has no record of an image set", t)
	case len(current) == 0:
		return nil, env.InputHint("gantry status lists them", "%s has no record of the image set %s", t, o.Name)
	}
	var all *VerifiedRegistry
	for i := range current {
		revision := &current[i]
		p, err := site.ReadRecordedPlan(ctx, sets, revision)
		if err != nil {
			return nil, err
		}
		opened, err := site.OpenMirror(e, o.Locations[0], site.DestinationOptions{MaxNestedPaths: revision.MaxNestedPaths, CheckBlobs: o.Blobs, ReadBlobs: o.ReadBlobs})
		if err != nil {
			return nil, err
		}
		result, err := verifyRegistry(ctx, e, o, opened, trust, p)
		if result == nil {
			return nil, err
		}
		one := result.Registry
		if err := verifyPublished(ctx, e, o, opened, sets, revision, p, one); err != nil {
			return nil, err
		}
		one.ImageSets = []VerifiedImageSet{{Name: revision.Name, Revision: revision.Number, Turn: revision.Number, LastRun: revision.LastRun, Images: one.Images, Missing: len(one.Missing)}}
		if all = all.join(one); trust != nil && len(current) > 1 {
			all.Verified = nil // the numbers of one image set say nothing about the others
		}
	}
	return &Result{Registry: all}, all.mismatch(o.ReadBlobs)
}

// join returns the results of two image sets as one. r may be nil.
func (r *VerifiedRegistry) join(other *VerifiedRegistry) *VerifiedRegistry {
	if r == nil {
		return other
	}
	r.ImageSets = append(r.ImageSets, other.ImageSets...)
	r.Images += other.Images
	for _, m := range other.Missing {
		same := func(have mirror.MissingImage) bool {
			return have.Source == m.Source && have.Repository == m.Repository && have.Digest == m.Digest && slices.Equal(have.Tags, m.Tags)
		}
		if i := slices.IndexFunc(r.Missing, same); i < 0 {
			r.Missing = append(r.Missing, m)
		} else {
			r.Missing[i].Reasons = append(slices.Clip(r.Missing[i].Reasons), m.Reasons...)
		}
	}
	for _, refused := range other.Refused {
		if !slices.Contains(r.Refused, refused) {
			r.Refused = append(r.Refused, refused)
		}
	}
	maps.Copy(r.Names, other.Names)
	if r.Resources != nil && other.Resources != nil {
		r.Resources.Problems = joinProblems(r.Resources.Problems, other.Resources.Problems)
		r.Resources.Unchecked = joinProblems(r.Resources.Unchecked, other.Resources.Unchecked)
	}
	return r
}

// joinProblems appends the problems that all does not have.
func joinProblems(all, more []ResourceProblem) []ResourceProblem {
	for _, p := range more {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}
