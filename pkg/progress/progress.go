// Package progress shows how far a run is.
//
// A function that returns a Reading is called from outside at a fixed rate, so that progress is
// never on the data path, and errors of the terminal are ignored. From the readings it computes a
// Frame, with speed and time left, which a View shows: Bar on a terminal, with rows for items that
// take long, or Lines for a log. Callers may provide other views.
//
// A bar is drawn on a Screen. A Screen is also a writer: text that is written to it appears above
// the bar without breaking it.
package progress

import (
	"sync"
	"time"
)

// A Reading is how far a run is, in bytes and requests, in images, or in all of them. A value that is
// not counted is 0. If bytes are counted, they and the requests decide how much is left.
type Reading struct {
	// What is the activity, as a participle: "copying".
	What               string
	Images, ImagesDone int64
	// Total is the number of bytes of the run, Done the number of bytes that are finished. Moved is
	// the number of bytes that took time to transfer; the speed counts only those.
	Total, Done, Moved int64
	// Requests is how many requests the run needs, RequestsDone how many of them are finished. Small
	// content takes the time of a request, however few bytes it has.
	Requests, RequestsDone int64
	// Facts add details, each in two or three words: "6.0 MiB mounted".
	Facts []string
	// Items are pending, the largest first.
	Items []Item
}

// An Item is one pending transfer.
type Item struct {
	Name       string // unique among the items of a reading
	Size, Done int64  // bytes
}

// requestBytes is how many bytes take as long as a request, roughly. It decides how much of the bar is
// for requests.
const requestBytes = 256 << 10

// position returns the reading as one number, and its maximum.
func (r Reading) position() (done, total int64) {
	if r.Total > 0 {
		return min(r.Done, r.Total) + requestBytes*min(r.RequestsDone, r.Requests), r.Total + requestBytes*r.Requests
	}
	return min(r.ImagesDone, r.Images), r.Images
}

// worked returns the number that the time left is computed from: the position without what took
// no time.
func (r Reading) worked() int64 {
	if r.Total > 0 {
		return r.Moved + requestBytes*min(r.RequestsDone, r.Requests)
	}
	return r.ImagesDone
}

// moved returns the number that speed is computed from.
func (r Reading) moved() int64 {
	if r.Total > 0 {
		return r.Moved
	}
	return r.ImagesDone
}

// A Frame is a reading with the speed of the last half minute.
type Frame struct {
	Reading
	At time.Time
	// PerSecond is the speed in bytes, or in images if no bytes are counted. It is 0 if it is
	// unknown.
	PerSecond float64
	// Left is the remaining time at the speed of bytes and requests. It is negative if it is unknown.
	Left time.Duration
}

// A View shows frames. Its methods are never called concurrently.
type View interface {
	Draw(Frame)
	// Clear ends the view and removes everything temporary from the screen.
	Clear()
}

// Options configure when frames are shown.
type Options struct {
	// Every is the time between two frames, and before the first one.
	Every time.Duration
	// Tick starts a frame, in place of Every; nil means Every.
	Tick <-chan time.Time
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Show shows what read returns until the returned function is called, which waits for the view to
// end.
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
