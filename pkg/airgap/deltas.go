package airgap

import (
	"context"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/airgap/deltamaker"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/plan"
)

// DeltaOptions says how an archive carries blobs as deltas.
type DeltaOptions struct {
	// Effort is how much is done for small deltas.
	Effort delta.Effort
	// Time is how much processor time a delta may cost for each MB that it saves; 0 is the default. It does not
	// limit delta.Max.
	Time time.Duration
	// Cache is the folder for deltas that were made, and Temp the one for temporary files.
	Cache, Temp string
	// Version is the version of this program.
	Version string
	// Watch is called before deltas are made, with the size of the blobs to look at. done is called with the
	// size of each, and end at the end. Nil reports nothing.
	Watch func(total int64) (done func(n int64), end func())
}

// A DeltaResult tells what an archive carries as deltas.
type DeltaResult struct {
	// Blobs is how many blobs are carried as deltas, BlobBytes is their size, and Bytes the size of the deltas.
	Blobs     int   `json:"blobs"`
	BlobBytes int64 `json:"blobBytes"`
	Bytes     int64 `json:"bytes"`
	// Whole are the blobs that are carried whole although something similar may be at the site, by reason.
	Whole map[deltamaker.Reason]deltamaker.Amount `json:"whole,omitempty"`
	// SiteUnknown reports whether no receipt tells what the site reads. It has to read deltas, and to reproduce
	// Compressors.
	SiteUnknown bool `json:"siteUnknown,omitempty"`
	// Version is the version of Gantry that wrote the deltas: the site needs it, or a later one that
	// reproduces Compressors.
	Version     string   `json:"version,omitempty"`
	Compressors []string `json:"compressors,omitempty"`
	// Refused is why no deltas were made, or "".
	Refused string `json:"refused,omitempty"`
}

// makeDeltas makes the deltas of the archive of a plan.
func (n *Export) makeDeltas(ctx context.Context, p *plan.Plan, e *archiveJob, source image.Reader) (*deltamaker.Result, error) {
	n.deltas = nil
	o := n.opts.Deltas
	if o == nil || e.opts.Base == nil && e.unused == nil {
		return &deltamaker.Result{}, nil
	}
	reads, seen, err := n.history.ws.SiteReader(n.history.name)
	if err != nil {
		return nil, err
	}
	n.deltas = &DeltaResult{SiteUnknown: !seen, Version: o.Version}
	if seen && !archive.ReadsDeltas(reads) {
		n.deltas.Refused = "the newest receipt of the site is from a Gantry that does not read deltas"
		return &deltamaker.Result{}, nil
	}
	chooser := &deltamaker.Chooser{Plan: p, Site: n.history.base.receipt, Source: source, IsNew: func(d digest.Digest) bool { return e.omitted == nil || !e.omitted.Has(d) }}
	changes, err := chooser.Changes(ctx)
	if err != nil {
		return nil, err
	}
	options := deltamaker.Options{Effort: o.Effort, Time: o.Time, Cache: o.Cache, Temp: o.Temp, Lookup: chooser.Lookup, Log: n.opts.Archive.Log}
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
	if e.opts.Base == nil && len(made.Deltas) > 0 {
		e.opts.Base = e.unused
	}
	n.deltas.Blobs, n.deltas.BlobBytes, n.deltas.Bytes = made.Rebuilt.Blobs, made.Rebuilt.Bytes, made.Carried
	n.deltas.Whole, n.deltas.Compressors = made.Whole, made.Requires
	return made, nil
}

// hasBlob returns a function that reports whether the site has a blob.
func (b *base) hasBlob() func(digest.Digest) bool {
	var all []digest.Digest
	for i := range b.receipt.Repositories {
		for _, blob := range b.receipt.Repositories[i].Blobs {
			all = append(all, blob.Digest)
		}
	}
	slices.Sort(all)
	return func(d digest.Digest) bool {
		_, ok := slices.BinarySearch(all, d)
		return ok
	}
}
