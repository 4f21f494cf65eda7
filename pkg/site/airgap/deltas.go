package airgap

import (
	"context"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/archive/deltamaker"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// DeltaOptions says how an archive carries blobs as deltas.
type DeltaOptions struct {
	// Effort is how much is done for small deltas.
	Effort delta.Effort
	// Time is how much processor time a delta may cost for each MB that it saves; 0 is the default. It does not
	// limit delta.Max.
	Time time.Duration
	// Compact also compares blobs of the archive with each other. Nil does not. OnlyCompact makes no deltas of what the site has.
	Compact     *deltamaker.Compact
	OnlyCompact bool
	// Cache is the folder for deltas that were made, and Temp the one for temporary files.
	Cache, Temp string
	// Version is the version of this program.
	Version string
	// Watch is called before deltas are made, with the size of the blobs to look at. done is called with the
	// size of each, and what its delta saves, and end at the end. Nil reports nothing.
	Watch func(total int64) (done func(n, saved int64), end func())
}

// A DeltaResult tells what an archive carries as deltas.
type DeltaResult struct {
	// Blobs is how many blobs are carried as deltas, BlobBytes is their size, and Bytes the size of the deltas.
	Blobs     int   `json:"blobs"`
	BlobBytes int64 `json:"blobBytes"`
	Bytes     int64 `json:"bytes"`
	// Compact reports whether blobs of the archive were compared with each other.
	Compact bool `json:"compact,omitempty"`
	// Whole are the blobs that are carried whole although something similar may be at the site, by reason.
	Whole map[deltamaker.Reason]deltamaker.Amount `json:"whole,omitempty"`
	// SiteUnknown reports whether no receipt tells what the site reads. It has to read deltas, and to reproduce
	// Compressors.
	SiteUnknown bool `json:"siteUnknown,omitempty"`
	// Version is the version of Gantry that wrote the deltas: the site needs it, or a later one that
	// reproduces Compressors.
	Version     string   `json:"version,omitempty"`
	Compressors []string `json:"compressors,omitempty"`
	// Refused is why no deltas were made, or blobs of the archive were not compared with each other; or "".
	Refused string `json:"refused,omitempty"`
}

// PlannedDeltas tells what an archive may carry as deltas. How much smaller these are is known only when they are made.
type PlannedDeltas struct {
	// Blobs is how many blobs are new at a site that has others of their repositories, and Bytes is their size. With Compact, they are all new ones.
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
	// Compact, SiteUnknown and Refused are those of DeltaResult.
	Compact     bool   `json:"compact,omitempty"`
	SiteUnknown bool   `json:"siteUnknown,omitempty"`
	Refused     string `json:"refused,omitempty"`
	// Seconds is how long comparing may take at most; 0 is any time.
	Seconds int64 `json:"seconds,omitempty"`
}

// PlanDeltas returns what the archive of a plan may carry as deltas. It downloads nothing. The result is nil if no
// deltas are made, and if there is nothing to write.
func (n *Export) PlanDeltas(p *plan.Plan) (*PlannedDeltas, error) {
	e, err := n.job(p)
	if err != nil || e.upToDate {
		return nil, err
	}
	result, _, err := n.beginDeltas(e)
	if result == nil || err != nil {
		return nil, err
	}
	d := &PlannedDeltas{SiteUnknown: result.SiteUnknown, Refused: result.Refused, Compact: result.Compact}
	if d.Refused != "" {
		return d, nil
	}
	chooser := n.chooser(p, e, nil)
	var considered deltamaker.Amount
	if !d.Compact {
		considered, err = chooser.Consider()
	} else {
		var largest int64
		if considered, largest, err = chooser.New(); n.opts.Deltas.Effort == delta.Auto {
			d.Seconds = int64(n.opts.Deltas.Compact.MostTime(largest, considered.Bytes).Seconds())
		}
	}
	if err != nil {
		return nil, err
	}
	d.Blobs, d.Bytes = considered.Blobs, considered.Bytes
	return d, nil
}

// beginDeltas returns whether deltas are made, and what the site reproduces. The result is nil if the archive has none.
func (n *Export) beginDeltas(e *archiveJob) (*DeltaResult, *state.ArchiveReader, error) {
	o := n.opts.Deltas
	based := e.opts.Base != nil || e.unused != nil
	if o == nil || o.Compact == nil && !based {
		return nil, nil, nil
	}
	reads, seen, err := n.history.ws.SiteReader(n.history.name)
	if err != nil {
		return nil, nil, err
	}
	d := &DeltaResult{SiteUnknown: !seen, Version: o.Version, Compact: o.Compact != nil}
	switch {
	case !seen:
	case !archive.ReadsDeltas(reads):
		d.Refused = "the newest receipt of the site is from a Gantry that does not read deltas"
	case d.Compact && !archive.ReadsCompact(reads):
		d.Refused = "the newest receipt of the site is from a Gantry that does not read compact archives, but archives with deltas alone: update it, or write one of these"
	}
	return d, reads, nil
}

func (n *Export) chooser(p *plan.Plan, e *archiveJob, source image.Reader) *deltamaker.Chooser {
	isNew := func(d digest.Digest) bool { return e.omitted == nil || !e.omitted.Has(d) }
	site := &state.Receipt{}
	if n.history.base != nil && !n.opts.Deltas.OnlyCompact {
		site = n.history.base.receipt
	}
	return &deltamaker.Chooser{Plan: p, Site: site, Source: source, IsNew: isNew}
}

// makeDeltas makes the deltas of the archive of a plan.
func (n *Export) makeDeltas(ctx context.Context, p *plan.Plan, e *archiveJob, source image.Reader) (*deltamaker.Result, error) {
	d, reads, err := n.beginDeltas(e)
	if err != nil {
		return nil, err
	}
	n.deltas = d
	if d == nil || d.Refused != "" {
		return &deltamaker.Result{}, nil
	}
	o, chooser := n.opts.Deltas, n.chooser(p, e, source)
	changes, err := chooser.Changes(ctx)
	if err != nil {
		return nil, err
	}
	options := deltamaker.Options{Effort: o.Effort, Time: o.Time, Cache: o.Cache, Temp: o.Temp, Compact: o.Compact, Lookup: chooser.Lookup, Log: n.opts.Archive.Log}
	if reads != nil {
		options.Compressors = reads.Compressors
	}
	if o.Watch != nil && len(changes) > 0 {
		var total int64
		for i := range changes {
			total += changes[i].Blob.Size
		}
		done, end := o.Watch(total)
		defer end()
		options.Progress = done
	}
	made, err := deltamaker.Make(ctx, changes, source, options)
	if err != nil {
		return nil, err
	}
	if e.opts.Base == nil && slices.ContainsFunc(made.Deltas, chooser.NeedsSite) {
		e.opts.Base = e.unused
	}
	if len(made.Deltas) > 0 && e.opts.Base != nil {
		e.opts.Base.HasBlob = n.history.base.hasBlob()
	}
	n.deltas.Blobs, n.deltas.BlobBytes, n.deltas.Bytes = made.Rebuilt.Blobs, made.Rebuilt.Bytes, made.Carried
	n.deltas.Whole, n.deltas.Compressors = made.Whole, made.Requires
	return made, nil
}

// hasBlob returns a function that reports whether the site has a blob.
func (b *base) hasBlob() func(digest.Digest) bool {
	all := map[digest.Digest]bool{}
	for i := range b.receipt.Repositories {
		for _, blob := range b.receipt.Repositories[i].Blobs {
			all[blob.Digest] = true
		}
	}
	return func(d digest.Digest) bool { return all[d] }
}
