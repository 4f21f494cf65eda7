package gantry

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// RebuildArchiveOptions says which archive RebuildArchive rebuilds volumes of.
type RebuildArchiveOptions struct {
	ArchiveOptions
	// To is the folder that rebuilt volumes are written to, as a path or file://DIR. If it is empty, a volume
	// replaces the damaged file, and one that is missing is written beside the set manifest.
	To string
}

// A RebuiltArchive is the result of RebuildArchive. Its JSON is what gantry archive rebuild --output json
// prints.
type RebuiltArchive struct {
	Version  int      `json:"version"`
	Folders  []string `json:"folders"` // as the user named them
	Name     string   `json:"name"`
	Sequence int      `json:"sequence"`
	// Volumes are those that were rebuilt. It is empty if all are intact.
	Volumes []archive.RebuiltVolume `json:"volumes"`
}

// RebuildArchive rebuilds missing and damaged volumes of an archive from its parity files. Every byte of a
// volume is compared with the set manifest before the volume gets its name. If too much is lost, it writes
// nothing and returns an error of kind advice.Mismatch that names the damaged files.
func RebuildArchive(ctx context.Context, o RebuildArchiveOptions) (*RebuiltArchive, error) {
	e, done := o.Env.orDefault()
	defer done()
	have, err := OpenArchive(o.ArchiveOptions)
	if err != nil {
		return nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	e.opened(have)
	var moved atomic.Int64
	stop := e.show("rebuilding", func() progress.Reading {
		return progress.Reading{Done: moved.Load(), Moved: moved.Load()}
	})
	volumes, err := have.Rebuild(ctx, archive.RebuildOptions{To: strings.TrimPrefix(o.To, ArchiveScheme), Progress: func(n int64) { moved.Add(n) }})
	stop()
	selected := have.Selected()
	result := &RebuiltArchive{Version: 1, Folders: o.Folders, Name: selected.Series, Sequence: selected.Sequence, Volumes: append([]archive.RebuiltVolume{}, volumes...)}
	return result, err
}
