package rebuild

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Options says which archive Archive rebuilds volumes of.
type Options struct {
	open.Options
	// To is the folder that rebuilt volumes are written to, as a path or file://DIR. If it is empty, a volume
	// replaces the damaged file, and one that is missing is written beside the set manifest.
	To string
}

// A Result is the result of Archive. Its JSON is what gantry archive rebuild --output json
// prints.
type Result struct {
	Version  int      `json:"version"`
	Folders  []string `json:"folders"` // as the user named them
	Name     string   `json:"name"`
	Sequence int      `json:"sequence"`
	// Volumes are those that were rebuilt. It is empty if all are intact.
	Volumes []archive.RebuiltVolume `json:"volumes"`
}

// Archive rebuilds missing and damaged volumes of an archive from its parity files. Every byte of a
// volume is compared with the set manifest before the volume gets its name. If too much is lost, it writes
// nothing and returns an error of kind advice.Mismatch that names the damaged files.
func Archive(ctx context.Context, o Options) (*Result, error) {
	e, done := o.Env.OrDefault()
	defer done()
	have, err := open.Archive(o.Options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	open.Observe(e.Observer, have)
	var moved atomic.Int64
	stop := env.Show(e.Observer, "rebuilding", func() progress.Reading {
		return progress.Reading{Done: moved.Load(), Moved: moved.Load()}
	})
	volumes, err := have.Rebuild(ctx, archive.RebuildOptions{To: strings.TrimPrefix(o.To, env.ArchiveScheme), Progress: func(n int64) { moved.Add(n) }})
	stop()
	if err != nil && len(volumes) == 0 {
		return nil, err // an empty result would say that all are intact
	}
	selected := have.Selected()
	result := &Result{Version: 1, Folders: o.Folders, Name: selected.Series, Sequence: selected.Sequence, Volumes: append([]archive.RebuiltVolume{}, volumes...)}
	return result, err
}
