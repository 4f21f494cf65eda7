package mirroring

import (
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/pkg/archive/deltamaker"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// How an archive carries blobs that changed.
const (
	// DeltaAuto carries deltas of what the site has where that saves much for its cost.
	DeltaAuto = "auto"
	// DeltaOff carries every blob whole.
	DeltaOff = "off"
	// DeltaMax makes deltas as small as possible, whatever they cost.
	DeltaMax = "max"
)

// DefaultDeltaTime is the default of Options.DeltaTime.
const DefaultDeltaTime = deltamaker.DefaultTime

// Deltas returns the values of Options.Delta.
func Deltas() []string { return []string{DeltaAuto, DeltaOff, DeltaMax} }

// deltas returns how the archive carries deltas, nil for none. folder is the one of the workspace.
func (o *ArchiveOptions) deltas(e *env.Env, folder string) *airgap.DeltaOptions {
	if o.Delta == DeltaOff && !o.compacts() {
		return nil
	}
	dir := filepath.Join(workspace.CacheDir(e, folder), workspace.DeltaCache)
	opts := &airgap.DeltaOptions{Time: o.DeltaTime, Cache: dir, Temp: dir, Watch: func(total int64) (func(n, saved int64), func()) { return watchDeltas(e, total) }, Version: strings.TrimPrefix(e.UserAgent, "gantry/")}
	if o.Delta == DeltaMax || o.Compact == DeltaMax {
		opts.Effort = delta.Max
	}
	if compact := o.Planned(); compact != nil {
		opts.OnlyCompact, opts.Compact = o.Delta == DeltaOff, compact.Compact
	}
	return opts
}

// watchDeltas shows how far the deltas are.
func watchDeltas(e *env.Env, total int64) (done func(n, saved int64), end func()) {
	var n, less atomic.Int64
	end = env.Show(e.Observer, "comparing", func() progress.Reading {
		r := progress.Reading{Total: total, Done: n.Load(), Moved: n.Load()}
		if saved := less.Load(); saved > 0 {
			r.Facts = []string{progress.Bytes(saved) + " saved"}
		}
		return r
	})
	return func(size, saved int64) {
		n.Add(size)
		less.Add(saved)
	}, end
}

// setArchive sets the archive that was written. The copy found the blobs that are carried as deltas, because they were
// made before it: they do not count as found. Making them took time, so there is no rate.
func (r *Result) setArchive(a *airgap.ExportResult) {
	r.Archive = a
	if a == nil || a.Deltas == nil || r.Report == nil {
		return
	}
	r.Report.BlobsFound = max(0, r.Report.BlobsFound-int64(a.Deltas.Blobs))
	if r.Transfer != nil {
		r.Transfer.BytesFound = max(0, r.Transfer.BytesFound-a.Deltas.BlobBytes)
		if a.Deltas.Blobs > 0 {
			r.Transfer.BytesPerSecond = 0
		}
	}
}
