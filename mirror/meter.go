package mirror

import (
	"sync/atomic"
)

// A Meter tells how far a run is. Its methods may be called while the run goes
// on; what they return may be a moment old.
type Meter struct {
	images, imagesDone        atomic.Int64
	total, done, alreadyThere atomic.Int64
}

// Progress is one reading of a Meter. Bytes are those that have to move.
type Progress struct {
	Images, ImagesDone int64
	// Total is what has to move, Done what has moved, and AlreadyThere what
	// turned out not to be needed; the run ends at Done + AlreadyThere == Total.
	Total, Done, AlreadyThere int64
}

// Progress reads the meter.
func (m *Meter) Progress() Progress {
	return Progress{
		Images: m.images.Load(), ImagesDone: m.imagesDone.Load(),
		Total: m.total.Load(), Done: m.done.Load(), AlreadyThere: m.alreadyThere.Load(),
	}
}

func (m *Meter) plan(images []*image, needed []*blob) {
	m.images.Store(int64(len(images)))
	var total int64
	for _, b := range needed {
		total += b.desc.Size
	}
	for _, img := range images {
		if img.present {
			continue
		}
		for _, mf := range img.manifests {
			total += mf.Size
		}
	}
	m.total.Store(total)
}

func (m *Meter) moved(n int64)   { m.done.Add(n) }
func (m *Meter) skipped(n int64) { m.alreadyThere.Add(n) }
func (m *Meter) settled()        { m.imagesDone.Add(1) }
