package airgap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// An Import is an archive that was checked by CheckImport: everything it builds on is in its
// folders or in the mirror.
type Import struct {
	// Archive is the archive that was opened, or the same with more folders.
	Archive *archive.Archive
	// made is ImportOptions.Part.
	made func(d digest.Digest) bool

	ws      *state.Workspace
	site    *Site // nil if the destination is not a registry
	from    []string
	receipt *state.Receipt // of the mirror, before this import
	lost    bool           // the mirror has lost content that was imported
	// absentBases are the blobs that deltas are based on and that the mirror does not have, see checkBases.
	absentBases map[digest.Digest]bool
}

// ImportOptions are the options of CheckImport.
type ImportOptions struct {
	// From are the folders of the archive as the user wrote them.
	From []string
	// AskFolder is called if content is nowhere, with the problem, and asks for another folder. It
	// opens the archive of that sequence again and returns it with all folders. It returns a nil
	// archive if there is no other folder. If AskFolder is nil, the problem is returned at once.
	AskFolder func(problem error, sequence int) (have *archive.Archive, from []string, err error)
	// AllowOlder imports an archive although the mirror has a newer one with another plan.
	AllowOlder bool
	// Part is set if the plan is a part of the archive's: the receipt does not list the archive then. It reports
	// whether content was made on this machine, such as catalogs without what is left out.
	Part func(d digest.Digest) bool
	// Info and Warn receive notes and warnings, one line each. Nil discards them.
	Info, Warn func(text string)
}

// CheckImport makes sure, before anything is copied, that what an archive leaves out is in the
// other archives that it builds on, or at the site. site is nil if the destination is not a mirror.
// Content that is nowhere is an error of kind advice.Mismatch that names the archives that are
// needed too. The archive of the Import may be another than have, which is closed then.
func CheckImport(ctx context.Context, ws *state.Workspace, have *archive.Archive, p *plan.Plan, site *Site, opts ImportOptions) (*Import, error) {
	c := &Import{Archive: have, ws: ws, site: site, from: opts.From, made: opts.Part}
	err := c.run(ctx, p, opts)
	if err == nil {
		if c.receipt != nil {
			c.receipt.Repositories = nil // they may be large, and only explain what is missing
		}
		return c, nil
	}
	if c.Archive != have {
		_ = c.Archive.Close() // only read
	}
	return nil, err
}

func (c *Import) run(ctx context.Context, p *plan.Plan, opts ImportOptions) error {
	if c.site != nil {
		var err error
		if c.receipt, err = siteReceipt(c.ws, c.site.Name, c.Archive.Selected().Series); err != nil {
			return err
		}
		if err := c.refuseOlder(opts.AllowOlder); err != nil {
			return err
		}
		c.site.SetOmitted(c.Archive, p)
		call(opts.Warn, c.olderWarning())
	}
	for {
		problem, note, err := c.findMissing(ctx, p)
		switch {
		case err != nil:
			return err
		case problem == nil:
			call(opts.Info, note)
			return nil
		case opts.AskFolder == nil:
			return problem
		}
		if err := c.askFolder(problem, p, opts.AskFolder); err != nil {
			return err
		}
	}
}

func call(to func(text string), text string) {
	if to != nil && text != "" {
		to(text)
	}
}

// findMissing looks for what the archive leaves out. If content is nowhere, problem is the error.
// note tells if content was found although the workspace did not know of its import.
func (c *Import) findMissing(ctx context.Context, p *plan.Plan) (problem error, note string, err error) {
	c.lost = false
	if problem, err = c.checkBases(ctx, p); problem != nil || err != nil {
		return problem, "", err
	}
	unknown := c.neverImported()
	if len(unknown) == 0 {
		if c.lost, err = c.mirrorEmptied(ctx, p); err != nil || !c.lost {
			return nil, "", err
		}
	}
	missing, err := c.missingContent(ctx, p)
	switch {
	case err != nil:
		return nil, "", err
	case len(missing) > 0:
		missing = c.basesOf(missing)
		c.lost = c.lost || c.anyImported(missing)
		return c.missingError(missing), "", nil
	case c.site != nil && !c.lost && !c.hasAll(p):
		note = fmt.Sprintf("%s builds on sequence %d, which this workspace has not recorded as imported; the mirror has the omitted content", c.Archive.Selected().Manifest, unknown[0].Sequence)
	}
	return nil, note, nil
}

// askFolder has the archive opened again with one more folder.
func (c *Import) askFolder(problem error, p *plan.Plan, more func(error, int) (*archive.Archive, []string, error)) error {
	opened := c.Archive.Selected().SetRef // p is the plan of this set, whatever else is in the folder
	have, from, err := more(problem, opened.Sequence)
	if err != nil {
		return err
	}
	if have == nil {
		return problem
	}
	_ = c.Archive.Close() // only read
	c.Archive, c.from = have, from
	if now := have.Selected().SetRef; now != opened {
		return advice.New(advice.Mismatch, "", "sequence %d in %s was %s and is %s now: it changed while it was read", opened.Sequence, strings.Join(from, ", "), opened.Set, now.Set)
	}
	if c.site != nil {
		c.site.SetOmitted(have, p)
	}
	return nil
}

// refuseOlder returns an error if the archive would replace newer content by older. An archive with the same plan as
// the newest replaces nothing.
func (c *Import) refuseOlder(allowed bool) error {
	if allowed || c.receipt == nil || len(c.receipt.Sets) == 0 {
		return nil
	}
	this, last := c.Archive.Selected(), c.receipt.Sets[len(c.receipt.Sets)-1]
	if this.Sequence >= last.Sequence || this.Plan == c.receipt.Plan {
		return nil
	}
	return advice.New(advice.Mismatch, "import a newer archive, or set Options.AllowOlder to take the mirror back",
		"sequence %d is older than sequence %d, which was imported before: tags and catalogs would go back to what they were then", this.Sequence, last.Sequence)
}

// olderWarning returns a warning if the archive would take the mirror back to an earlier state, by
// mistake or because a new disk was replaced with an old one: the signature of an old archive is
// valid.
func (c *Import) olderWarning() string {
	if c.receipt == nil || len(c.receipt.Sets) == 0 {
		return ""
	}
	this, last := c.Archive.Selected(), c.receipt.Sets[len(c.receipt.Sets)-1]
	other := slices.ContainsFunc(c.receipt.Sets, func(s state.SetRef) bool { return s.Sequence == this.Sequence && s.Set != this.Set })
	switch {
	case this.Sequence < last.Sequence:
		return fmt.Sprintf("sequence %d is older than sequence %d, which was imported before: tags and catalogs go back to what they were then", this.Sequence, last.Sequence)
	case other:
		return fmt.Sprintf("this is not the archive with the number %d that was imported before, but another one (%s)", this.Sequence, this.Set)
	}
	return ""
}

// NewerImport returns the sequence of the newest archive of the series of a set that a mirror imported
// completely, as far as the workspace knows, or 0 if that is not newer than the set.
func NewerImport(ws *state.Workspace, mirror string, set archive.SetInfo) (int, error) {
	r, err := siteReceipt(ws, mirror, set.Series)
	if err != nil || r == nil || len(r.Sets) == 0 {
		return 0, err
	}
	if last := r.Sets[len(r.Sets)-1].Sequence; last > set.Sequence {
		return last, nil
	}
	return 0, nil
}

// has reports whether content can be read from the archive, or was made on this machine.
func (c *Import) has(desc ocispec.Descriptor) bool {
	return c.Archive.CheckContent(desc) == nil && !c.lacksBases(desc) || c.made != nil && c.made(desc.Digest)
}

// hasAll reports whether the archives in the folders have all content of the plan.
func (c *Import) hasAll(p *plan.Plan) bool {
	for desc := range mirror.Content(p) {
		if !c.has(desc) {
			return false
		}
	}
	return true
}

// missingContent returns the content that is neither in the archive nor at the destination.
func (c *Import) missingContent(ctx context.Context, p *plan.Plan) ([]ocispec.Descriptor, error) {
	if c.site == nil {
		return slices.DeleteFunc(slices.Collect(mirror.Content(p)), c.has), nil
	}
	if c.hasAll(p) {
		return nil, nil
	}
	registry, err := c.site.Registry(p)
	if err != nil {
		return nil, err
	}
	return mirror.MissingContent(ctx, p, registry, c.has, mirror.Options{Streams: c.site.Streams, MountFrom: c.site.MountFrom})
}

// mirrorEmptied reports whether the mirror has none of the images whose manifests the archive
// leaves out. It requests a few. The mirror was emptied since the last import then, or images go to
// other repositories than before. If the mirror lost only some images, copying them fails later.
func (c *Import) mirrorEmptied(ctx context.Context, p *plan.Plan) (bool, error) {
	if c.site == nil || c.site.CheckBlobs || len(c.Archive.Selected().BuildsOn) == 0 {
		return false, nil // such a run requests every blob, and its receipt lists what remains
	}
	left := map[digest.Digest]ocispec.Descriptor{}
	for _, m := range p.Manifests {
		if desc := (ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size}); !c.has(desc) {
			left[m.Digest] = desc
		}
	}
	if len(left) == 0 {
		return false, nil
	}
	registry, err := c.site.Registry(p)
	if err != nil {
		return false, err
	}
	asked := 0
	for _, img := range p.Images {
		desc, ok := left[img.Digest]
		if !ok || img.Repository == "" || asked == emptiedSample {
			continue
		}
		asked++
		if has, err := registry.HasManifest(ctx, img.Repository, "", desc); has || err != nil {
			return false, context.Cause(ctx) // another error occurs again when the image is copied
		}
	}
	return asked > 0, nil
}
