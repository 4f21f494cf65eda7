package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/plan"
)

// A chain is an archive with all that it builds on: in its folders, or at the mirror.
type chain struct {
	have    *archive.Archive
	mirror  string           // its name in the workspace; "" where it is no registry
	receipt *receipt.Receipt // of the mirror, before
	emptied bool             // the mirror has nothing of what the receipt says
}

// openArchive opens the archive in the folders of --from, if it is signed as it has to
// be: that of a sequence, 0 for the newest. On a terminal, it asks for the media of
// volumes that are missing.
func (a *app) openArchive(f *mirrorFlags, sequence int) (*archive.Archive, error) {
	opts, err := a.reading(&f.trust)
	if err != nil {
		return nil, err
	}
	opts.Sequence = sequence
	if _, ok := onTerminal(f.stdin); ok {
		opts.Ask = func(missing []string) (string, error) {
			return a.askFolder(f, "missing:\n  "+strings.Join(missing, "\n  "))
		}
	}
	dirs := make([]string, 0, len(f.from))
	for _, from := range f.from {
		dirs = append(dirs, strings.TrimPrefix(from, fileScheme))
	}
	have, err := archive.OpenWith(opts, dirs...)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usagef("--from: %w", err)
	}
	if err == nil && have.Locked() != nil {
		return nil, errors.Join(have.Locked(), have.Close())
	}
	return have, refusal(err)
}

// onTerminal is a reader as a terminal, where it is one.
func onTerminal(in io.Reader) (*os.File, bool) {
	f, ok := in.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// askFolder asks on the terminal for another folder, which is read from then on as if
// --from had named it. It is "" where the user has none.
func (a *app) askFolder(f *mirrorFlags, what string) (string, error) {
	in, _ := onTerminal(f.stdin)
	a.say("%s", what)
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return "", fmt.Errorf("asking for a folder: %w", err)
	}
	screen := struct {
		io.Reader
		io.Writer
	}{in, a.stderr}
	dir, err := term.NewTerminal(screen, "Folder that has it (nothing to give up): ").ReadLine()
	if err != nil {
		err = unanswered(screen, err)
	}
	if err := errors.Join(err, term.Restore(int(in.Fd()), state)); err != nil {
		return "", err
	}
	dir = strings.TrimPrefix(strings.TrimSpace(dir), fileScheme)
	if dir != "" {
		f.from = append(f.from, fileScheme+dir)
	}
	return dir, nil
}

// importedPlan is the plan of an archive that leaves it out, since the mirror had it
// before; lacks says that it does.
func importedPlan(s *session, t *registryTarget, have *archive.Archive, lacks error) (*plan.Plan, error) {
	kept, err := s.OpenImported(t.key(), have.Newest().Series)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, carryAll(have, lacks)
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
		return nil, carryAll(have, lacks)
	}
	return p, nil
}

// carryAll says which archive is needed for what is left out.
func carryAll(have *archive.Archive, err error) error {
	newest := have.Newest()
	n := len(newest.BuildsOn)
	if n == 0 {
		return &hintError{&mismatchError{err.Error()}, "; ", "write it again with --full"}
	}
	before := newest.BuildsOn[n-1].Sequence
	return &hintError{&mismatchError{fmt.Sprintf("sequence %d in %s leaves its plan out, since sequence %d has the same, which this workspace does not know to be at the mirror", newest.Sequence, newest.Dir, before)},
		"; ", fmt.Sprintf("carry gantry-%06d too and name its folder with a second --from, or write the archive again with --full", before)}
}

// checkChain makes sure, before anything is copied, that what the archive leaves out is
// in the other archives that it builds on or at the mirror. On a terminal, it asks for
// the folders of others; the archive is then another one.
func (a *app) checkChain(ctx context.Context, f *mirrorFlags, s *session, t target, have *archive.Archive, p *plan.Plan) (*chain, error) {
	c := &chain{have: have}
	r := t.registry()
	if r != nil {
		c.mirror = r.key()
		var err error
		if c.receipt, err = s.siteReceipt(c.mirror, have.Newest().Series); err != nil {
			return nil, err
		}
		r.leftOut(have, p)
		a.sayOlder(c)
	}
	for {
		unknown := c.unknown()
		if len(unknown) == 0 {
			var err error
			if c.emptied, err = c.gone(ctx, r, p); err != nil {
				return nil, err
			}
			if !c.emptied {
				return c, nil
			}
			unknown = c.have.Newest().BuildsOn
		}
		lacking, err := c.lacking(ctx, r, p)
		if err != nil {
			return nil, err
		}
		if len(lacking) == 0 {
			if r != nil && !c.emptied && !c.whole(p) {
				a.say("%s builds on sequence %d, of which this workspace does not know that it was imported; the mirror has what is left out", c.have.Newest().Manifest, unknown[0].Sequence)
			}
			return c, nil
		}
		problem := c.gap(unknown, lacking, f)
		if _, ok := onTerminal(f.stdin); !ok {
			return nil, problem
		}
		dir, err := a.askFolder(f, problem.Error())
		if err != nil {
			return nil, err
		}
		if dir == "" {
			return nil, problem
		}
		opened := c.have.Newest().BaseSet // p is of that, whatever else lies in the folder
		more, err := a.openArchive(f, opened.Sequence)
		if err != nil {
			return nil, err
		}
		_ = c.have.Close() // only read from
		c.have = more
		if now := more.Newest().BaseSet; now != opened {
			return nil, &mismatchError{fmt.Sprintf("sequence %d in %s was %s and is %s now: it changed while it was read", opened.Sequence, strings.Join(f.from, ", "), opened.Set, now.Set)}
		}
		if r != nil {
			r.leftOut(more, p)
		}
	}
}

// sayOlder warns of an archive that would take the mirror back, be it by mistake or
// because somebody put an old medium in the place of a new one: its signature is good.
func (a *app) sayOlder(c *chain) {
	if c.receipt == nil || len(c.receipt.Sets) == 0 {
		return
	}
	this, last := c.have.Newest(), c.receipt.Sets[len(c.receipt.Sets)-1]
	other := slices.ContainsFunc(c.receipt.Sets, func(s receipt.Set) bool { return s.Sequence == this.Sequence && s.Set != this.Set })
	switch {
	case this.Sequence < last.Sequence:
		a.warn("sequence %d is older than sequence %d, which was imported before: tags and catalogs go back to what they were then", this.Sequence, last.Sequence)
	case other:
		a.warn("this is not the archive with the number %d that was imported before, but another one (%s)", this.Sequence, this.Set)
	}
}

// unknown are the sets that the archive builds on and that were never imported, as far
// as the workspace knows.
func (c *chain) unknown() []archive.BaseSet {
	var unknown []archive.BaseSet
	for _, b := range c.have.Newest().BuildsOn {
		if c.receipt == nil || !c.receipt.Imported(receipt.Set(b)) {
			unknown = append(unknown, b)
		}
	}
	return unknown
}

// has reports whether content can be read from the archive.
func (c *chain) has(desc ocispec.Descriptor) bool { return c.have.Lacks(desc) == nil }

// whole reports whether nothing of the plan is left out of what is in the folders.
func (c *chain) whole(p *plan.Plan) bool {
	for desc := range mirror.Content(p) {
		if !c.has(desc) {
			return false
		}
	}
	return true
}

// lacking is content that is neither in the archive nor at the destination.
func (c *chain) lacking(ctx context.Context, r *registryTarget, p *plan.Plan) ([]ocispec.Descriptor, error) {
	if r == nil {
		var lacking []ocispec.Descriptor
		for desc := range mirror.Content(p) {
			if !c.has(desc) {
				lacking = append(lacking, desc)
			}
		}
		return lacking, nil
	}
	if c.whole(p) {
		return nil, nil
	}
	sink, err := r.sink(p)
	if err != nil {
		return nil, err
	}
	return mirror.Lacking(ctx, p, sink, c.has, mirror.Options{Streams: r.streams, Elsewhere: r.elsewhere})
}

// leftOut tells the target where what the archive leaves out stands.
func (t *registryTarget) leftOut(have *archive.Archive, p *plan.Plan) {
	t.names, t.others, t.elsewhere = nil, nil, nil
	seen := map[string]bool{}
	for _, b := range p.Blobs {
		if repository := have.Where(b.Digest); repository != "" && !seen[repository] {
			seen[repository] = true
			t.others = append(t.others, repository)
		}
	}
	if len(seen) > 0 {
		t.elsewhere = func(desc ocispec.Descriptor) string {
			repository := have.Where(desc.Digest)
			if repository == "" || have.Lacks(desc) == nil {
				return ""
			}
			return repository
		}
	}
}

// siteReceipt is what the workspace knows of a mirror and a series of archives; nil
// where that is nothing.
func (s *session) siteReceipt(mirror, series string) (*receipt.Receipt, error) {
	f, err := s.OpenReceipt(mirror, series)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := receipt.Read(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, &hintError{fmt.Errorf("what %s has of %q: %w", mirror, series, err), "; ", "remove that file below receipts in the workspace, and the mirror is asked instead"}
	}
	return r, nil
}

// note writes the receipt of the mirror after an import and returns its file.
func (c *chain) note(ctx context.Context, s *session, f *mirrorFlags, sign func(context.Context, io.Reader) ([]byte, error), j *job, report *mirror.Report) (string, error) {
	if c.mirror == "" {
		return "", nil
	}
	newest := c.have.Newest()
	r := &receipt.Receipt{Name: newest.Series}
	if c.receipt != nil {
		r.Sets, r.Plan = c.receipt.Sets, c.receipt.Plan
	}
	var err error
	if r.Repositories, err = mirror.Inventory(j.Plan(), report); err != nil {
		return "", err
	}
	if whole(report) {
		r.Enter(receipt.Set(newest.BaseSet))
		r.Plan = c.have.PlanDigest()
		if err := c.keepPlan(ctx, s); err != nil {
			return "", err
		}
	}
	file, err := s.SaveReceipt(c.mirror, newest.Series, r.Write)
	if err != nil {
		return "", err
	}
	if err := dropSignature(file); err != nil {
		return "", err
	}
	if f.writeReceipt != "" {
		file = f.writeReceipt
		if err := durable.Write(file, r.Write); err != nil {
			return "", fmt.Errorf("writing the receipt: %w", err)
		}
		if err := dropSignature(file); err != nil {
			return "", err
		}
	}
	if sign == nil {
		return file, nil
	}
	text, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("signing the receipt: %w", err)
	}
	signature, err := sign(ctx, text)
	if err := errors.Join(err, text.Close()); err != nil {
		return "", fmt.Errorf("signing the receipt %s: %w", file, err)
	}
	return file, durable.WriteFile(file+".sig", signature)
}

// dropSignature removes the signature of the receipt that stood in a file before.
func dropSignature(file string) error {
	if err := os.Remove(file + ".sig"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the signature of the receipt before: %w", err)
	}
	return nil
}

// whole reports whether all that an archive is about came: what its plan misses is not
// in it.
func whole(report *mirror.Report) bool {
	return len(report.LeftOut) == 0 && !slices.ContainsFunc(report.Failed, func(f mirror.Failure) bool { return f.Repository != "" })
}

// keepPlan keeps the plan of the archive for the next, which may leave it out.
func (c *chain) keepPlan(ctx context.Context, s *session) error {
	text, err := c.have.OpenPlan(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is the one that was kept
	}
	if err != nil {
		return err
	}
	defer text.Close() // only read from
	return s.SaveImported(c.mirror, c.have.Newest().Series, func(w io.Writer) error {
		_, err := io.Copy(w, text)
		return err
	})
}
