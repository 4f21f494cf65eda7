package airgap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// ReadPlan reads the plan of an archive. The error wraps fs.ErrNotExist if none of the opened sets
// has it, and is an *archive.DamageError if the plan was altered.
func ReadPlan(ctx context.Context, have *archive.Archive) (*plan.Plan, error) {
	text, err := have.OpenPlan(ctx)
	if err != nil {
		return nil, err
	}
	defer text.Close() // only read
	p, err := plan.Read(text, have.Digests())
	if err == nil {
		return p, nil
	}
	// An altered plan may not parse. Its digest tells that it was altered.
	if _, damage := io.Copy(io.Discard, text); damage != nil {
		return nil, damage
	}
	return nil, err
}

// ImportedPlan returns the plan of an archive that leaves it out, because the mirror had it before.
// The workspace kept it at that import. reason is the error of reading the plan from the archive.
// If ws is nil or has another plan, the error names the archive that is needed too.
func ImportedPlan(ws *state.Workspace, mirror string, have *archive.Archive, reason error) (*plan.Plan, error) {
	if ws == nil {
		return nil, earlierPlanError(have, nil, reason)
	}
	series := have.Selected().Series
	missing := func() error {
		receipt, err := siteReceipt(ws, mirror, series)
		if err != nil {
			return err
		}
		return earlierPlanError(have, receipt, reason)
	}
	kept, err := ws.OpenImportedPlan(mirror, series)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the plan that was imported before: %w", err)
	}
	defer kept.Close() // only read
	sum := digest.SHA256.Digester()
	text := io.TeeReader(kept, sum.Hash())
	p, err := plan.Read(text)
	if err == nil {
		_, err = io.Copy(io.Discard, text)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the plan that was imported before: %w", err)
	}
	if sum.Digest() != have.PlanDigest() {
		return nil, missing()
	}
	return p, nil
}

// earlierPlanError names the archives that may have the plan, and the others that are needed too: all
// that are in no folder and that r, which may be nil, does not list as imported.
func earlierPlanError(have *archive.Archive, r *state.Receipt, reason error) error {
	newest, absent := have.Selected(), absentSets(have)
	if len(absent) == 0 {
		return advice.New(advice.Mismatch, "write it again with Options.Full", "%v", reason)
	}
	// An archive omits its plan if it is the plan of the newest one that it builds on.
	holder := absent[len(absent)-1]
	needed := withoutImported(absent, r)
	if !slices.Contains(needed, holder) {
		needed = append(needed, holder)
	}
	past := "has not imported that"
	if r != nil && r.Imported(holder) {
		past = "keeps only the plan that it imported last"
	}
	folders := map[string]bool{}
	for _, s := range have.Sets() {
		folders[s.Dir] = true
	}
	delete(folders, "")
	return advice.New(advice.Mismatch, bringHint(needed, newestBefore(needed[0].Sequence, r), len(folders))+", or write the archive again with Options.Full",
		"sequence %d in %s omits its plan, which is the plan of sequence %d, and this workspace %s",
		newest.Sequence, newest.Dir, holder.Sequence, past)
}
