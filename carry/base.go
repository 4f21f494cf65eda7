package carry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// Since says what an archive may leave out. At most one of Full, Sequence, Date and
// Receipt is given; the zero value is what the newest archive of the series has.
type Since struct {
	// Full leaves nothing out.
	Full bool
	// Sequence is the archive that the site imported last, and where it is 0, Date stands
	// for the last that was written before it.
	Sequence int
	Date     time.Time
	// Text is Sequence or Date as it was asked for; "" where neither was.
	Text string
	// Receipt is the file of a receipt that the site wrote, and Policy says whose
	// signature it needs.
	Receipt string
	Policy  *sshsig.Policy
}

// chosen reports whether somebody said what to build on.
func (s Since) chosen() bool { return s.Text != "" || s.Receipt != "" }

// Where says in which archives the content is that another leaves out.
type Where struct {
	// First and Last are sequences; First is 0 where it is not known which archive of
	// the series was whole in itself.
	First, Last int
	// Receipt says that the site has it by its receipt, which goes up to Last.
	Receipt bool
}

// A base is what the next archive builds on.
type base struct {
	set     receipt.Set
	plan    digest.Digest
	where   Where // what is left out is
	receipt *receipt.Receipt
}

// newest builds on the newest archive, of the history or in the folder.
func (l *lineage) newest(ctx context.Context) error {
	if l.folder != nil && l.sound {
		if err := l.vouchFor(l.dir, l.folder.BaseSet); err != nil {
			return err
		}
	}
	switch n := len(l.past); {
	case l.folder != nil && l.folder.Sequence >= l.after && !l.sound:
		l.remark = l.damaged()
		return nil
	case l.folder != nil && (n == 0 || l.folder.Sequence > l.past[n-1].Sequence):
		return l.fromFolder(ctx)
	case n > 0:
		return l.fromPast(l.past[n-1])
	}
	return nil
}

// since builds on an archive that was written earlier.
func (l *lineage) since(s Since) error {
	for _, c := range slices.Backward(l.past) {
		if s.Sequence == c.Sequence || s.Sequence == 0 && c.Date.Before(s.Date) {
			return l.fromPast(c)
		}
	}
	if s.Sequence == 0 {
		l.remark = fmt.Sprintf("no archive of %q was written before %s, so that all content is written", l.name, s.Text)
		return nil
	}
	if len(l.past) == 0 {
		return requestf("leave it out, or give the receipt of the site with --receipt", "--since %d: this workspace wrote no archive of %q", s.Sequence, l.name)
	}
	var have []string
	for _, c := range l.past {
		have = append(have, fmt.Sprintf("%d (%s)", c.Sequence, c.Date.Local().Format(time.DateOnly)))
	}
	return requestf("give one of "+alternatives(have), "--since %d: this workspace wrote no such archive of %q", s.Sequence, l.name)
}

// fromPast builds on an archive of the history.
func (l *lineage) fromPast(c workspace.Carried) error {
	if err := l.vouchFor(c.Dir, archive.BaseSet{Sequence: c.Sequence, Set: c.Set}); err != nil {
		return err
	}
	f, err := l.ws.OpenRecord(l.name, c.Sequence)
	var r *receipt.Receipt
	if err == nil {
		r, err = receipt.Read(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return &advisedError{fmt.Errorf("what sequence %d of %q holds is not known: %w", c.Sequence, l.name, err), "write all content with --full, or give the receipt of the site with --receipt"}
	}
	l.base = &base{set: receipt.Set{Sequence: c.Sequence, Set: c.Set}, plan: c.Plan, receipt: r, where: l.among(c.Sequence)}
	return nil
}

// fromFolder builds on the archive in the folder, of which the history knows nothing,
// and enters it there.
func (l *lineage) fromFolder(ctx context.Context) error {
	have, err := archive.Inspect(l.dir)
	if err != nil {
		return err
	}
	p, err := ReadPlan(ctx, have)
	if err := errors.Join(err, have.Close()); err != nil {
		l.remark = fmt.Sprintf("what %s in %s holds cannot be read, so that all content is written again: %v", l.folder.Manifest, l.dir, err)
		return nil
	}
	set := receipt.Set{Sequence: l.folder.Sequence, Set: l.folder.Set}
	r, err := predicted(p, l.name, set)
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(l.dir, l.folder.Manifest))
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(l.dir)
	if err != nil {
		return err
	}
	c := workspace.Carried{Sequence: set.Sequence, Set: set.Set, Date: info.ModTime().UTC(), Plan: l.folder.Plan, Full: len(l.folder.BuildsOn) == 0, Dir: abs, Found: l.voucher == nil}
	l.past = append(l.past, c)
	l.base = &base{set: set, plan: l.folder.Plan, receipt: r, where: l.among(set.Sequence)}
	return l.ws.SaveCarried(l.name, c, r.Write)
}

// predicted is the receipt of a site that imported an archive whole.
func predicted(p *plan.Plan, name string, sets ...receipt.Set) (*receipt.Receipt, error) {
	repositories, err := mirror.Inventory(p, nil)
	return &receipt.Receipt{Name: name, Sets: sets, Repositories: repositories}, err
}

// alternatives are "a, b or c".
func alternatives(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
