package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// sinceFlags say what an archive may leave out.
type sinceFlags struct {
	since   string
	full    bool
	receipt string
	set     *pflag.FlagSet // nil where there are no flags
}

func (s *sinceFlags) addFlags(f *pflag.FlagSet) {
	s.set = f
	f.StringVar(&s.since, "since", "", "leave out of the archive what a site has that imported this sequence (2), or the last before this date (2026-10-01), and nothing else")
	f.BoolVar(&s.full, "full", false, "write an archive with all content, also what earlier ones have")
	f.StringVar(&s.receipt, "receipt", "", "leave out of the archive what the site has by this receipt, which gantry mirror --from wrote there")
}

// check refuses the flags where no archive is written, two of them, and those that say
// nothing, as with a variable of a script that is not set.
func (s *sinceFlags) check(archive bool) error {
	for _, name := range []string{"since", "receipt"} {
		if s.set != nil && s.set.Changed(name) && s.set.Lookup(name).Value.String() == "" {
			return usageHint("leave it out, or say what the archive leaves out", "--%s is empty", name)
		}
	}
	var given []string
	for _, f := range []struct {
		name string
		set  bool
	}{{"--since", s.since != ""}, {"--full", s.full}, {"--receipt", s.receipt != ""}} {
		if f.set {
			given = append(given, f.name)
		}
	}
	switch {
	case len(given) > 0 && !archive:
		return usagef("%s is for file:// destinations", given[0])
	case len(given) > 1:
		return usageHint("give one of the two", "%s and %s both say what the archive leaves out", given[0], given[1])
	case s.since != "":
		_, _, err := s.point()
		return err
	}
	return nil
}

// point takes --since apart.
func (s *sinceFlags) point() (sequence int, date time.Time, err error) {
	if sequence, err = strconv.Atoi(s.since); err == nil && sequence > 0 {
		return sequence, date, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if date, err = time.ParseInLocation(layout, s.since, time.Local); err == nil {
			return 0, date, nil
		}
	}
	return 0, date, usageHint("give the number of an archive, or a date such as 2026-10-01", "--since %q", s.since)
}

// A lineage is what is known of the archives that were written of a plan before.
type lineage struct {
	name   string
	after  int                 // the highest sequence that was written elsewhere
	past   []workspace.Carried // those that are complete, by sequence
	series string              // that of the newest in the folder; "" where there is none
	folder *archive.SetInfo    // the newest in the folder, if it is of this plan
	sound  bool                // it is, as far as opening it tells
	// stranger says that the newest in the folder is encrypted, and this workspace
	// does not know it.
	stranger bool
	voucher  *voucher // says what may be signed and built on; nil where nothing is signed
	base     *base    // what the next leaves out; nil is nothing
	chosen   bool     // the base is: what is in the folder already has no say
	sayOf    string   // why that is so, for people; "" where it goes without saying
}

// A base is what the next archive builds on.
type base struct {
	set     receipt.Set
	plan    digest.Digest
	where   string // what is left out is, as a sentence goes on
	receipt *receipt.Receipt
}

// prepare tells an archive that is to be written what it may leave out, and where it is
// entered.
func (a *app) prepare(ctx context.Context, s *session, t *archiveTarget, f *mirrorFlags, key *sshsig.Key, p *plan.Plan) (err error) {
	var policy *sshsig.Policy
	if f.receipt != "" {
		if policy, err = a.policy(&f.trust); err != nil {
			return err
		}
	}
	t.note = func(c workspace.Carried, record func(io.Writer) error) error { return s.SaveCarried(p.Name, c, record) }
	if err := s.encryptTo(ctx, t.opts.Encrypt); err != nil {
		return err
	}
	if key != nil {
		t.voucher = &voucher{key: key.Signer().Key, policy: func() (*sshsig.Policy, error) { return a.policy(&f.trust) }}
	}
	if t.lineage, err = a.settle(ctx, s, t, f.sinceFlags, policy, p); err != nil {
		return err
	}
	t.again = f.onError == onErrorPackage
	a.warnUnencrypted(t)
	return nil
}

// settle finds what the archive of a plan may leave out. With --receipt, the policy
// says whose receipts are taken.
func (a *app) settle(ctx context.Context, s *session, t *archiveTarget, f sinceFlags, policy *sshsig.Policy, p *plan.Plan) (*lineage, error) {
	l := &lineage{name: p.Name, voucher: t.voucher, chosen: f.since != "" || f.receipt != ""}
	dir, err := filepath.Abs(t.dir)
	if err != nil {
		return nil, err
	}
	if err := l.recall(s, dir); err != nil {
		return nil, err
	}
	if err := l.lookInto(t.dir); err != nil {
		return nil, err
	}
	if err := l.agree(t.dir); err != nil {
		return nil, err
	}
	switch {
	case f.full:
	case f.receipt != "":
		err = l.fromReceipt(f.receipt, policy)
	case f.since != "":
		err = l.since(s, f)
	default:
		err = l.newest(ctx, s, t.dir)
	}
	if err == nil && l.sayOf != "" {
		a.say("%s", l.sayOf)
	}
	return l, err
}

// recall reads the history. An archive that was being finished when its run ended is
// complete if it is there.
func (l *lineage) recall(s *session, dir string) error {
	all, err := s.Carried(l.name)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Set == "" {
			if info, ok := written(c); ok {
				c.Set, c.Found = info.Set, true
				if err := s.SaveCarried(l.name, c, nil); err != nil {
					return err
				}
			}
		}
		if c.Set != "" {
			l.past = append(l.past, c)
		}
		if c.Set != "" || c.Dir != dir { // the folder tells of its own
			l.after = max(l.after, c.Sequence)
		}
	}
	return nil
}

// written looks for an archive where it should be.
func written(c workspace.Carried) (archive.SetInfo, bool) {
	have, err := archive.InspectWith(archive.OpenOptions{Sequence: c.Sequence}, c.Dir)
	if err != nil {
		return archive.SetInfo{}, false
	}
	info := have.Newest()
	return info, have.Close() == nil && info.Plan == c.Plan
}

// lookInto finds the newest archive in the folder.
func (l *lineage) lookInto(dir string) error {
	have, err := archive.Inspect(dir)
	var damage *archive.DamageError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
		return nil // one that is damaged is not added to, but followed by another
	}
	if err != nil {
		return err
	}
	info := have.Newest()
	l.know(&info)
	l.sound = !slices.ContainsFunc(info.Volumes, func(v archive.VolumeInfo) bool { return v.Problem != "" })
	if l.series = info.Series; l.series == l.name && !l.stranger {
		l.folder = &info
	}
	return have.Close()
}

// agree refuses a folder with another archive under a number that the history has.
func (l *lineage) agree(dir string) error {
	if l.folder == nil {
		return nil
	}
	for _, c := range l.past {
		if c.Sequence == l.folder.Sequence && c.Set != l.folder.Set {
			return usageHint("write to another folder, or use the workspace that the one there was written with",
				"%s in %s is not the archive that this workspace wrote of %q under that number", l.folder.Manifest, dir, l.name)
		}
	}
	return nil
}

// newest builds on the newest archive, of the history or in the folder.
func (l *lineage) newest(ctx context.Context, s *session, dir string) error {
	if l.folder != nil && l.sound {
		if err := l.vouchFor(dir, l.folder.BaseSet); err != nil {
			return err
		}
	}
	switch n := len(l.past); {
	case l.folder != nil && l.folder.Sequence >= l.after && !l.sound:
		l.sayOf = fmt.Sprintf("%s in %s is damaged, so that all content is written again", l.folder.Manifest, dir)
		return nil
	case l.folder != nil && (n == 0 || l.folder.Sequence > l.past[n-1].Sequence):
		return l.fromFolder(ctx, s, dir)
	case n > 0:
		return l.fromPast(s, l.past[n-1])
	}
	return nil
}

// since builds on an archive that was written earlier.
func (l *lineage) since(s *session, f sinceFlags) error {
	sequence, date, err := f.point()
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(l.past) {
		if sequence == c.Sequence || sequence == 0 && c.Date.Before(date) {
			return l.fromPast(s, c)
		}
	}
	if sequence == 0 {
		l.sayOf = fmt.Sprintf("no archive of %q was written before %s, so that all content is written", l.name, f.since)
		return nil
	}
	if len(l.past) == 0 {
		return usageHint("leave it out, or give the receipt of the site with --receipt", "--since %d: this workspace wrote no archive of %q", sequence, l.name)
	}
	var have []string
	for _, c := range l.past {
		have = append(have, fmt.Sprintf("%d (%s)", c.Sequence, c.Date.Local().Format(time.DateOnly)))
	}
	return usageHint("give one of "+joined(have), "--since %d: this workspace wrote no such archive of %q", sequence, l.name)
}

// fromPast builds on an archive of the history.
func (l *lineage) fromPast(s *session, c workspace.Carried) error {
	if err := l.vouchFor(c.Dir, archive.BaseSet{Sequence: c.Sequence, Set: c.Set}); err != nil {
		return err
	}
	f, err := s.OpenRecord(l.name, c.Sequence)
	var r *receipt.Receipt
	if err == nil {
		r, err = receipt.Read(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return &hintError{fmt.Errorf("what sequence %d of %q holds is not known: %w", c.Sequence, l.name, err), "; ", "write all content with --full, or give the receipt of the site with --receipt"}
	}
	l.base = &base{set: receipt.Set{Sequence: c.Sequence, Set: c.Set}, plan: c.Plan, receipt: r, where: l.among(c.Sequence)}
	return nil
}

// among says in which archives the content is that is left out after a sequence.
func (l *lineage) among(sequence int) string {
	first := 0
	for _, c := range l.past {
		if c.Full && c.Sequence <= sequence {
			first = c.Sequence
		}
	}
	switch first {
	case 0:
		return fmt.Sprintf("are in sequence %d and those before it", sequence)
	case sequence:
		return fmt.Sprintf("are in sequence %d", sequence)
	}
	return fmt.Sprintf("are in sequences %d to %d", first, sequence)
}

// fromFolder builds on the archive in the folder, of which the history knows nothing,
// and enters it there.
func (l *lineage) fromFolder(ctx context.Context, s *session, dir string) error {
	have, err := archive.Inspect(dir)
	if err != nil {
		return err
	}
	p, err := archivePlan(ctx, have)
	if err := errors.Join(err, have.Close()); err != nil {
		l.sayOf = fmt.Sprintf("what %s in %s holds cannot be read, so that all content is written again: %v", l.folder.Manifest, dir, err)
		return nil
	}
	set := receipt.Set{Sequence: l.folder.Sequence, Set: l.folder.Set}
	r, err := predicted(p, l.name, set)
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, l.folder.Manifest))
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	c := workspace.Carried{Sequence: set.Sequence, Set: set.Set, Date: info.ModTime().UTC(), Plan: l.folder.Plan, Full: len(l.folder.BuildsOn) == 0, Dir: abs, Found: l.voucher == nil}
	l.past = append(l.past, c)
	l.base = &base{set: set, plan: l.folder.Plan, receipt: r, where: l.among(set.Sequence)}
	return s.SaveCarried(l.name, c, r.Write)
}

// predicted is the receipt of a site that imported an archive whole.
func predicted(p *plan.Plan, name string, sets ...receipt.Set) (*receipt.Receipt, error) {
	repositories, err := mirror.Inventory(p, nil)
	return &receipt.Receipt{Name: name, Sets: sets, Repositories: repositories}, err
}
