package main

import (
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// An observer shows a run to people and programs.
type observer struct {
	app     *app
	retries func() int64 // how many requests were repeated so far
}

func (o *observer) Progress(what string, read func() progress.Reading) (stop func()) {
	return o.app.show(what, read)
}

// Copy shows how far a copy is, until end is called.
func (o *observer) Copy(c env.Copy) (end func()) {
	o.app.copies.begin(c.Plan)
	if o.app.events != nil {
		o.app.events.Plan(c.Plan)
		c.Meter.Observer = o.app.events.Copy(c.Name, flagNames)
	}
	return o.app.watch("copying", func() progress.Reading { return view.CopyProgress(c.Meter, o.retries()) }, c.Meter, o.retries)
}

// Archive prints who signed an archive.
func (o *observer) Archive(a *archive.Archive) { o.app.saySigned(a) }
