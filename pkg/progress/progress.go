// Package progress shows how far a run is.
//
// Something is looked at from outside, by a function that returns a Reading, at
// the pace of who looks: progress is never on the way of the data, and errors
// of the terminal are nobody's. What is read becomes a
// Frame, with speed and time left, and a View shows it: Bar on a terminal, with
// rows below it for what takes long; Lines where people read it later, in a
// log. Other views are made by who shows things otherwise.
//
// A Screen is where a bar is drawn. It is a writer, too: what is written to it
// appears above the bar, which is never torn by it.
package progress

import (
	"sync"
	"time"
)

// A Reading is how far something is: in bytes, in images, or in both. What is
// not counted is 0. Where bytes are counted, they decide how much is left.
type Reading struct {
	// What is done, as a participle: "copying".
	What               string
	Images, ImagesDone int64
	// Total is the bytes in all, Done for how many of them nothing is left to
	// do. Moved is the bytes that took time: speed is theirs alone.
	Total, Done, Moved int64
	// Facts say more, each in two or three words: "6.0 MiB mounted".
	Facts []string
	// Items are under way, the largest first.
	Items []Item
}

// An Item is one thing under way.
type Item struct {
	Name       string // unique among the items of a reading
	Size, Done int64  // bytes
}

// position is the reading as one number and what it ends at.
func (r Reading) position() (done, total int64) {
	if r.Total > 0 {
		return min(r.Done, r.Total), r.Total
	}
	return min(r.ImagesDone, r.Images), r.Images
}

// worked is what speed is counted in.
func (r Reading) worked() int64 {
	if r.Total > 0 {
		return r.Moved
	}
	return r.ImagesDone
}

// A Frame is a reading with what the last half minute says of it.
type Frame struct {
	Reading
	At time.Time
	// PerSecond is the speed in bytes, or in images where no bytes are counted; 0
	// where it is not known.
	PerSecond float64
	// Left is the time that is left at this speed; negative where that is not
	// known.
	Left time.Duration
}

// A View shows frames. Its methods are called one after the other.
type View interface {
	Draw(Frame)
	// Clear ends the view and leaves nothing of it that would not last.
	Clear()
}

// Options say when something is looked at.
type Options struct {
	// Every is the time between two frames. The first comes after it.
	Every time.Duration
	// Tick paces the frames in place of Every; nil means Every.
	Tick <-chan time.Time
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Show shows what read returns until the returned function is called, which
// waits for the view to end.
func Show(view View, read func() Reading, opts Options) (stop func()) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	halt := func() {}
	if opts.Tick == nil {
		t := time.NewTicker(opts.Every)
		opts.Tick, halt = t.C, t.Stop
	}
	p := newPace(opts.Now(), read())
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				view.Clear()
				return
			case <-opts.Tick:
				view.Draw(p.frame(opts.Now(), read()))
			}
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() {
			halt()
			close(done)
			<-ended
		})
	}
}
