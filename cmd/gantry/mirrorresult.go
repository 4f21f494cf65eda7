package main

import (
	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror"
)

// showResult prints what was done on stdout, and what was not on stderr. notesAt says where the notes of
// the plan are.
func (a *app) showResult(r *gantry.MirrorResult, notesAt string) error {
	if a.events != nil {
		a.events.Summary(r)
	}
	if a.output == outputJSON {
		return a.encode(r)
	}
	a.sayFailed(r.Report)
	if text := view.WithheldLater(r); text != "" {
		a.warn("%s", text)
	}
	if err := a.text(view.Mirrored(r, notesAt)); err != nil {
		return err
	}
	a.say("%s", view.Transfer(r.Transfer))
	return nil
}

// sayFailed lists what is not at the destination.
func (a *app) sayFailed(report *mirror.Report) {
	for _, text := range view.Failures(report) {
		a.warn("%s", text)
	}
}

// showRepair prints which repair was written.
func (a *app) showRepair(result *gantry.MirrorResult) error {
	r := view.Repair{Version: 1, Destination: result.Destination, Repaired: result.Repaired}
	if a.output == outputJSON {
		return a.encode(r)
	}
	return a.text(r.Text())
}

// showResources prints which cluster resources were written.
func (a *app) showResources(result *gantry.MirrorResult) error {
	if a.output == outputJSON {
		return a.encode(result)
	}
	return a.text(view.ResourcesOnly(result))
}
