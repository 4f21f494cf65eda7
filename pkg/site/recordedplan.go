package site

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// ReadRecordedPlan reads the plan of a record.
func ReadRecordedPlan(ctx context.Context, sets *mirror.ImageSets, revision *setrecord.Revision) (p *plan.Plan, err error) {
	text, err := setrecord.OpenPlan(ctx, sets, revision)
	if err == nil {
		if p, err = plan.Read(text); err == nil {
			_, err = io.Copy(io.Discard, text) // its end verifies the digest
		}
		err = errors.Join(err, text.Close())
	}
	if err != nil {
		return nil, AdviseRecord(fmt.Errorf("reading the plan of image set %s in %s: %w", revision.Name, sets.Repository().Name(), err))
	}
	return p.WithDigestTags(), nil
}

// RecordedPlans reads the records of image sets in a mirror, and the plans of those that can be read, sorted by image set.
func (t *RegistryDestination) RecordedPlans(ctx context.Context) (plans []*plan.Plan, revisions []setrecord.Revision, err error) {
	revisions, err = setrecord.Current(ctx, t.ImageSets())
	for i := range revisions {
		p, failed := ReadRecordedPlan(ctx, t.ImageSets(), &revisions[i])
		if err = errors.Join(err, failed); failed == nil {
			plans = append(plans, p)
		}
	}
	return plans, revisions, err
}

// AdviseRecord adds a hint to the error of a record in a registry that was lost in part, or altered.
func AdviseRecord(err error) error {
	for _, other := range []error{remote.ErrUnauthorized, remote.ErrUnreachable, remote.ErrUntrusted, remote.ErrDenied, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, other) {
			return err
		}
	}
	return advice.Wrap(advice.Mismatch, err, "mirror the image set again to write its record again")
}
