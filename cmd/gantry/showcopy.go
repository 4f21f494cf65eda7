package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan"
)

// showCopy shows how far the copy of a plan is, until end is called, which says
// what it took. It has the meter before the run begins.
func (a *app) showCopy(p *plan.Plan, t target, m *mirror.Meter) (end func() *transfer) {
	began, before := time.Now(), a.hosts()
	if a.events != nil {
		a.events.plan(p)
		m.Observer = &copyEvents{events: a.events, target: t}
	}
	stop := a.watch("copying", func() progress.Reading { return copyReading(m, a.retries()) }, m)
	return func() *transfer {
		stop()
		return newTransfer(m.Progress(), time.Since(began), before, a.hosts())
	}
}

// copyReading is a meter as progress shows it.
func copyReading(m *mirror.Meter, retries int64) progress.Reading {
	at := m.Progress()
	r := progress.Reading{Images: at.Images, ImagesDone: at.Settled, Total: at.Total, Done: at.Done, Moved: at.Moved}
	switch {
	case at.Total == 0 && at.Settled < at.Images:
		return progress.Reading{What: "looking", Images: at.Images, ImagesDone: at.Looked}
	case at.Total > 0 && at.Done == at.Total && at.Settled == at.Images:
		r.What = "finishing"
	}
	if at.Failed > 0 {
		r.Facts = append(r.Facts, fmt.Sprintf("%d failed", at.Failed))
	}
	if at.Held > 0 {
		r.Facts = append(r.Facts, fmt.Sprintf("%d held back", at.Held))
	}
	if at.Present > 0 {
		r.Facts = append(r.Facts, fmt.Sprintf("%d there before", at.Present))
	}
	if at.Found > 0 {
		r.Facts = append(r.Facts, progress.Bytes(at.Found)+" found")
	}
	if at.Mounted > 0 {
		r.Facts = append(r.Facts, progress.Bytes(at.Mounted)+" mounted")
	}
	if retries > 0 {
		r.Facts = append(r.Facts, number(retries, "retry", "retries"))
	}
	flights := m.Flights()
	slices.SortStableFunc(flights, func(a, b mirror.Flight) int { return cmp.Compare(b.Size, a.Size) })
	for _, f := range flights {
		name := string(f.Digest)
		if hex := f.Digest.Encoded(); len(hex) > 12 {
			name = hex[:12]
		}
		r.Items = append(r.Items, progress.Item{Name: name + " " + f.Repository, Size: f.Size, Done: f.Done})
	}
	return r
}

// retries is how many further attempts the run's clients have made.
func (a *app) retries() int64 {
	var n int64
	for _, c := range a.clients {
		n += c.Stats().Retries
	}
	return n
}

// A sideClient is a client of the run and the side that it serves.
type sideClient struct {
	*remote.Client
	side remote.Side
}
