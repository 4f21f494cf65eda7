package carry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// ReadPlan reads the plan of an archive. One that none of its sets has that are here is
// an error that wraps fs.ErrNotExist, one that was altered an *archive.DamageError.
func ReadPlan(ctx context.Context, have *archive.Archive) (*plan.Plan, error) {
	text, err := have.OpenPlan(ctx)
	if err != nil {
		return nil, err
	}
	defer text.Close() // only read from
	p, err := plan.Read(text, have.Digests())
	if err == nil {
		return p, nil
	}
	// What was altered may be no plan any more; its digest says why.
	if _, damage := io.Copy(io.Discard, text); damage != nil {
		return nil, damage
	}
	return nil, err
}

// ImportedPlan is the plan of an archive that leaves it out, since the mirror had it
// before: as the workspace kept it when the mirror got it. lacks says that it is left
// out. Where there is no workspace, or it has another plan, the error names the archive
// that is needed too.
func ImportedPlan(ws *workspace.Workspace, mirror string, have *archive.Archive, lacks error) (*plan.Plan, error) {
	if ws == nil {
		return nil, carryBefore(have, lacks)
	}
	kept, err := ws.OpenImported(mirror, have.Newest().Series)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, carryBefore(have, lacks)
	}
	if err != nil {
		return nil, err
	}
	defer kept.Close() // only read from
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
		return nil, carryBefore(have, lacks)
	}
	return p, nil
}

// carryBefore says which archive is needed for the plan that is left out.
func carryBefore(have *archive.Archive, lacks error) error {
	newest := have.Newest()
	n := len(newest.BuildsOn)
	if n == 0 {
		return mismatchf("write it again with --full", "%v", lacks)
	}
	before := newest.BuildsOn[n-1].Sequence
	hint := fmt.Sprintf("carry gantry-%06d too and name its folder with a second --from, or write the archive again with --full", before)
	return mismatchf(hint, "sequence %d in %s leaves its plan out, since sequence %d has the same, which this workspace does not know to be at the mirror",
		newest.Sequence, newest.Dir, before)
}
