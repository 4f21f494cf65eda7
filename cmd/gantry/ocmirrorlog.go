package main

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/ocmirror"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// isOcMirror reports whether the program was called by a name of oc mirror.
func (a *app) isOcMirror() bool {
	_, ok := ocmirror.Name(a.calledAs)
	return ok
}

// An ocMirrorLog is what a run prints of the lines of oc mirror, and the text of its log file.
type ocMirrorLog struct {
	view.OCMirrorLog
	app   *app
	began time.Time
	text  strings.Builder
}

// newOcMirrorLog returns the log of a run, or nil if the program has its own name.
func (a *app) newOcMirrorLog() *ocMirrorLog {
	if !a.isOcMirror() {
		return nil
	}
	return &ocMirrorLog{OCMirrorLog: view.OCMirrorLog{Now: time.Now}, app: a, began: time.Now()}
}

// begin prints that a copy begins. It may be called on nil.
func (l *ocMirrorLog) begin(p *plan.Plan) {
	if l != nil {
		_ = l.print(l.Begin(p)) // the result is printed later, and fails like this
	}
}

// end prints how many images are at the destination, and writes the log file to the folder of oc mirror if the
// workspace is that. It may be called on nil.
func (l *ocMirrorLog) end(r *mirroring.Result, folder, layout string) error {
	if l == nil || r == nil || r.Report == nil || r.Plan == nil {
		return nil
	}
	results := l.Results(r.Plan, r.Report)
	if results == "" {
		return nil // nothing was copied
	}
	l.text.WriteString(plain(l.Images(r.Report)))
	err := l.print(results)
	if layout != workspace.OCMirrorLayout {
		return err
	}
	file := filepath.Join(folder, "logs", "oc-mirror-"+l.began.Format("20060102_150405")+".log")
	return errors.Join(err, durable.MkdirAll(filepath.Dir(file), 0o755), durable.WriteFile(file, []byte(l.text.String())))
}

// print adds lines to the log, and prints them on stdout unless that is JSON.
func (l *ocMirrorLog) print(lines string) error {
	l.text.WriteString(plain(lines))
	if !l.app.talks() {
		return nil
	}
	return l.app.exact(lines)
}

// listedDeletions prints that a list of images to delete was made. It may be called on nil.
func (l *ocMirrorLog) listedDeletions(list *removal.DeletionList) error {
	if l == nil {
		return nil
	}
	return l.print(l.ListedDeletions(list))
}

// deleted prints what became of the images of a list, unless nothing was to be deleted. It may be called on nil.
func (l *ocMirrorLog) deleted(r *removal.DeleteResult, problem error) error {
	if l == nil || r.DryRun {
		return nil
	}
	return l.print(l.Deleted(r, problem == nil))
}

// endDeletion prints the last lines of a deletion that ended well, or of a list (nil). It may be called on nil.
func (l *ocMirrorLog) endDeletion(r *removal.DeleteResult) error {
	if l == nil || r != nil && r.DryRun {
		return nil
	}
	return l.print(l.DeletionEnd(time.Since(l.began)))
}
