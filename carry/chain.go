package carry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// A Chain is an archive with all that it builds on: in its folders, or at the mirror.
type Chain struct {
	// Archive is the one that was opened, or the same with more folders.
	Archive *archive.Archive

	ws      *workspace.Workspace
	site    *Site // nil where the destination is no registry
	from    []string
	receipt *receipt.Receipt // of the mirror, before
	emptied bool             // the mirror has nothing of what the receipt says
}

// FitOptions say what Fit may ask, and tell.
type FitOptions struct {
	// From are the folders of the archive as people name them.
	From []string
	// More is asked for another folder where something is nowhere, which the problem
	// says. It opens the archive of that sequence again, and returns all folders; no
	// archive where there is no other folder. Nil does not ask.
	More func(problem error, sequence int) (have *archive.Archive, from []string, err error)
	// Say is told what is worth a line, and Warn what may not be meant. Nil discards.
	Say, Warn func(text string)
}

// Fit makes sure, before anything is copied, that what an archive leaves out is in the
// other archives that it builds on or at the site, nil for a destination that is none.
// What is nowhere is a *MismatchError that names what has to be carried too. The archive
// of the Chain may be another than have, which is closed then.
func Fit(ctx context.Context, ws *workspace.Workspace, have *archive.Archive, p *plan.Plan, site *Site, opts FitOptions) (*Chain, error) {
	c := &Chain{Archive: have, ws: ws, site: site, from: opts.From}
	err := c.fit(ctx, p, opts)
	if err == nil {
		return c, nil
	}
	if c.Archive != have {
		_ = c.Archive.Close() // only read from
	}
	return nil, err
}

func (c *Chain) fit(ctx context.Context, p *plan.Plan, opts FitOptions) error {
	if c.site != nil {
		var err error
		if c.receipt, err = c.received(); err != nil {
			return err
		}
		c.site.leftOut(c.Archive, p)
		tell(opts.Warn, c.older())
	}
	for {
		problem, note, err := c.check(ctx, p)
		switch {
		case err != nil:
			return err
		case problem == nil:
			tell(opts.Say, note)
			return nil
		case opts.More == nil:
			return problem
		}
		if err := c.ask(problem, p, opts.More); err != nil {
			return err
		}
	}
}

func tell(to func(text string), text string) {
	if to != nil && text != "" {
		to(text)
	}
}

// check looks for what the archive leaves out. What is nowhere is the problem; the note
// says what was found otherwise than expected.
func (c *Chain) check(ctx context.Context, p *plan.Plan) (problem error, note string, err error) {
	unknown := c.unknown()
	if len(unknown) == 0 {
		if c.emptied, err = c.gone(ctx, p); err != nil || !c.emptied {
			return nil, "", err
		}
		unknown = c.Archive.Newest().BuildsOn
	}
	lacking, err := c.lacking(ctx, p)
	switch {
	case err != nil:
		return nil, "", err
	case len(lacking) > 0:
		return c.gap(unknown, lacking), "", nil
	case c.site != nil && !c.emptied && !c.whole(p):
		note = fmt.Sprintf("%s builds on sequence %d, of which this workspace does not know that it was imported; the mirror has what is left out", c.Archive.Newest().Manifest, unknown[0].Sequence)
	}
	return nil, note, nil
}

// ask has the archive opened again with one folder more.
func (c *Chain) ask(problem error, p *plan.Plan, more func(error, int) (*archive.Archive, []string, error)) error {
	opened := c.Archive.Newest().BaseSet // p is of that, whatever else lies in the folder
	have, from, err := more(problem, opened.Sequence)
	if err != nil {
		return err
	}
	if have == nil {
		return problem
	}
	_ = c.Archive.Close() // only read from
	c.Archive, c.from = have, from
	if now := have.Newest().BaseSet; now != opened {
		return mismatchf("", "sequence %d in %s was %s and is %s now: it changed while it was read", opened.Sequence, strings.Join(from, ", "), opened.Set, now.Set)
	}
	if c.site != nil {
		c.site.leftOut(have, p)
	}
	return nil
}

// older warns of an archive that would take the mirror back, be it by mistake or
// because somebody put an old medium in the place of a new one: its signature is good.
func (c *Chain) older() string {
	if c.receipt == nil || len(c.receipt.Sets) == 0 {
		return ""
	}
	this, last := c.Archive.Newest(), c.receipt.Sets[len(c.receipt.Sets)-1]
	other := slices.ContainsFunc(c.receipt.Sets, func(s receipt.Set) bool { return s.Sequence == this.Sequence && s.Set != this.Set })
	switch {
	case this.Sequence < last.Sequence:
		return fmt.Sprintf("sequence %d is older than sequence %d, which was imported before: tags and catalogs go back to what they were then", this.Sequence, last.Sequence)
	case other:
		return fmt.Sprintf("this is not the archive with the number %d that was imported before, but another one (%s)", this.Sequence, this.Set)
	}
	return ""
}

// unknown are the sets that the archive builds on and that were never imported, as far
// as the workspace knows.
func (c *Chain) unknown() []archive.BaseSet {
	var unknown []archive.BaseSet
	for _, b := range c.Archive.Newest().BuildsOn {
		if c.receipt == nil || !c.receipt.Imported(receipt.Set(b)) {
			unknown = append(unknown, b)
		}
	}
	return unknown
}

// has reports whether content can be read from the archive.
func (c *Chain) has(desc ocispec.Descriptor) bool { return c.Archive.Lacks(desc) == nil }

// whole reports whether nothing of the plan is left out of what is in the folders.
func (c *Chain) whole(p *plan.Plan) bool {
	for desc := range mirror.Content(p) {
		if !c.has(desc) {
			return false
		}
	}
	return true
}

// lacking is content that is neither in the archive nor at the destination.
func (c *Chain) lacking(ctx context.Context, p *plan.Plan) ([]ocispec.Descriptor, error) {
	if c.site == nil {
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
	registry, err := c.site.Registry(p)
	if err != nil {
		return nil, err
	}
	return mirror.Lacking(ctx, p, registry, c.has, mirror.Options{Streams: c.site.Streams, Elsewhere: c.site.Elsewhere})
}
