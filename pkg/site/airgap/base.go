package airgap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Since selects what an archive may leave out. At most one of Full, Sequence, Date and Receipts is
// set. The zero value leaves out what the newest archive of the series and its bases contain.
type Since struct {
	// Full leaves out nothing.
	Full bool
	// Sequence is the archive that the site imported last. If it is 0 and Text is set, the last
	// archive written before Date is used.
	Sequence int
	Date     time.Time
	// Text is Sequence or Date as the user wrote it, empty if neither is set.
	Text string
	// Receipts are the files of receipts, one from each site that the archive is for: it omits what all of them have.
	// Policy is the policy for their signatures; nil accepts any receipt.
	Receipts []string
	Policy   *sshsig.Policy
}

// isSet reports whether the base was selected explicitly.
func (s Since) isSet() bool { return s.Text != "" || len(s.Receipts) > 0 }

// A BaseRange tells which earlier archives contain the omitted content.
type BaseRange struct {
	// First and Last are sequences. First is 0 if it is not known which archive of the series was
	// full.
	First, Last int
	// Receipts is the number of receipts that the range comes from. Last is the last sequence that all of their sites
	// imported.
	Receipts int
}

// A base is what the next archive builds on.
type base struct {
	set     state.SetRef
	plan    digest.Digest
	bases   BaseRange // with the omitted content
	receipt *state.Receipt
}

// chooseNewest builds on the newest archive, of the history or in the folder.
func (l *history) chooseNewest(ctx context.Context) error {
	if l.newest != nil && l.intact {
		if err := l.checkSigner(l.dir, l.newest.SetRef); err != nil {
			return err
		}
	}
	switch n := len(l.exports); {
	case l.newest != nil && l.newest.Sequence >= l.after && len(l.carried) > 0:
		return l.baseFromCarried(ctx)
	case l.newest != nil && l.newest.Sequence >= l.after && !l.intact:
		l.remark = fmt.Sprintf("%s in %s is damaged, so that all content is written again", l.newest.Manifest, l.dir)
		return nil
	case l.newest != nil && (n == 0 || l.newest.Sequence > l.exports[n-1].Sequence):
		return l.baseFromFolder(ctx)
	case n > 0:
		return l.baseFromExport(l.exports[n-1])
	}
	return nil
}

// baseFromCarried builds on the newest archive in the folder, whose volumes are elsewhere.
func (l *history) baseFromCarried(ctx context.Context) error {
	i := slices.IndexFunc(l.exports, func(c state.Export) bool { return c.SetRef == l.newest.SetRef })
	var err error
	if i >= 0 {
		err = l.baseFromExport(l.exports[i])
	} else if err = l.checkSigner(l.dir, l.newest.SetRef); err == nil {
		err = l.baseFromFolder(ctx)
	}
	if l.base != nil {
		l.remark = l.carriedRemark()
	}
	return err
}

// chooseSince builds on an earlier archive of the history.
func (l *history) chooseSince(s Since) error {
	for _, c := range slices.Backward(l.exports) {
		if s.Sequence == c.Sequence || s.Sequence == 0 && c.Date.Before(s.Date) {
			return l.baseFromExport(c)
		}
	}
	if s.Sequence == 0 {
		l.remark = fmt.Sprintf("no archive of %q was written before %s, so that all content is written", l.name, s.Text)
		return nil
	}
	if len(l.exports) == 0 {
		return advice.New(advice.Input, "leave out Options.Since, or set Options.Receipts to the receipt of the site", "this workspace wrote no archive of %q, and so no sequence %d", l.name, s.Sequence)
	}
	var have []string
	for _, c := range l.exports {
		have = append(have, fmt.Sprintf("%d (%s)", c.Sequence, c.Date.Local().Format(time.DateOnly)))
	}
	return advice.New(advice.Input, "set Options.Since to "+listed(have, "or"), "this workspace wrote no sequence %d of %q", s.Sequence, l.name)
}

// baseFromExport builds on an archive of the history.
func (l *history) baseFromExport(c state.Export) error {
	if err := l.checkSigner(c.Dir, c.SetRef); err != nil {
		return err
	}
	r, err := readAndClose(l.ws.OpenExportReceipt(l.name, c.Sequence))
	if err != nil {
		err = fmt.Errorf("reading what sequence %d of %q contains: %w", c.Sequence, l.name, err)
		return advice.Wrap(advice.Failure, err, "write all content with Options.Full, or set Options.Receipts to the receipt of the site")
	}
	l.base = &base{set: c.SetRef, plan: c.Plan, receipt: r, bases: l.basesUpTo(c.Sequence)}
	return nil
}

// baseFromFolder builds on the archive in the folder, which the history does not have yet, and adds
// it to the history.
func (l *history) baseFromFolder(ctx context.Context) error {
	have, err := archive.Inspect(l.dir)
	if err != nil {
		return err
	}
	p, err := ReadPlan(ctx, have)
	if err := errors.Join(err, have.Close()); err != nil {
		l.remark = fmt.Sprintf("what %s in %s contains cannot be read, so all content is written again: %v", l.newest.Manifest, l.dir, err)
		return nil
	}
	set := l.newest.SetRef
	r, err := predictReceipt(p, l.name, set)
	if err != nil {
		return err
	}
	file := filepath.Join(l.dir, l.newest.Manifest)
	if l.newest.Recovered != "" {
		file = l.newest.Volumes[0].Path
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(l.dir)
	if err != nil {
		return err
	}
	c := state.Export{SetRef: set, Date: info.ModTime().UTC(), Plan: l.newest.Plan, Full: len(l.newest.BuildsOn) == 0, Dir: abs, Found: l.signing == nil}
	l.exports = append(l.exports, c)
	l.base = &base{set: set, plan: l.newest.Plan, receipt: r, bases: l.basesUpTo(set.Sequence)}
	return l.ws.SaveExport(l.name, c, r.Write)
}

// predictReceipt returns the receipt of a site after a complete import of the sets.
func predictReceipt(p *plan.Plan, name string, sets ...state.SetRef) (*state.Receipt, error) {
	repositories, err := mirror.Inventory(p, nil)
	return &state.Receipt{Name: name, Sets: sets, Repositories: repositories}, err
}
