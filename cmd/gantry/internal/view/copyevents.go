package view

import (
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// copyEvents writes the events of a copy.
type copyEvents struct {
	*Events
	name   func(mirror.ImageResult) string
	reason func(string) string
}

// Copy returns an observer that writes the events of a copy. name returns what an image is called at
// the destination, and reason the text of why something failed.
func (e *Events) Copy(name func(mirror.ImageResult) string, reason func(string) string) mirror.Observer {
	return &copyEvents{e, name, reason}
}

func (e *copyEvents) BlobStarted(f mirror.Transfer) {
	e.write(struct {
		event
		Digest     digest.Digest `json:"digest"`
		Size       int64         `json:"size"`
		Repository string        `json:"repository"`
	}{e.event("blob-started"), f.Digest, f.Size, f.Repository})
}

func (e *copyEvents) BlobFinished(l mirror.BlobResult) {
	e.write(struct {
		event
		Digest     digest.Digest `json:"digest"`
		Size       int64         `json:"size"`
		Repository string        `json:"repository"`
		Result     string        `json:"result"`
		Reason     string        `json:"reason,omitempty"`
	}{e.event("blob-ended"), l.Digest, l.Size, l.Repository, l.Result, e.reason(l.Reason)})
}

func (e *copyEvents) ImageFinished(o mirror.ImageResult) {
	e.write(struct {
		event
		Source      string `json:"source"`
		Destination string `json:"destination,omitempty"`
		Result      string `json:"result"`
		Reason      string `json:"reason,omitempty"`
	}{e.event("image"), o.Source, e.name(o), o.Result, e.reason(o.Reason)})
}

// Progress returns a view that writes progress events, with the details of m and the number of
// repeated requests. Both may be nil.
func (e *Events) Progress(m *mirror.Meter, retries func() int64) progress.View {
	return &eventView{Events: e, meter: m, retries: retries}
}

// eventView shows progress as events.
type eventView struct {
	*Events
	meter   *mirror.Meter // nil if nothing is copied
	retries func() int64
	last    progress.Frame
}

func (v *eventView) Draw(f progress.Frame) {
	v.last = f
	type images struct {
		Total    int64 `json:"total"`
		Finished int64 `json:"settled"`
		Failed   int64 `json:"failed"`
		Withheld int64 `json:"held"`
		Present  int64 `json:"present"`
	}
	type sizes struct {
		Total   int64 `json:"total"`
		Done    int64 `json:"done"`
		Moved   int64 `json:"moved"`
		Found   int64 `json:"found"`
		Mounted int64 `json:"mounted"`
		Shared  int64 `json:"shared"`
	}
	type requests struct {
		Total int64 `json:"total"`
		Done  int64 `json:"done"`
	}
	out := struct {
		event
		Phase     string   `json:"phase"`
		Images    images   `json:"images"`
		Bytes     sizes    `json:"bytes"`
		Requests  requests `json:"requests"`
		Retries   int64    `json:"retries"`
		PerSecond float64  `json:"perSecond"`
		Left      *float64 `json:"secondsLeft,omitempty"`
	}{
		event: v.event("progress"), Phase: f.What,
		Images: images{Total: f.Images, Finished: f.ImagesDone}, Bytes: sizes{Total: f.Total, Done: f.Done, Moved: f.Moved},
		Requests:  requests{f.Requests, f.RequestsDone},
		PerSecond: f.PerSecond,
	}
	if f.Left >= 0 {
		left := f.Left.Seconds()
		out.Left = &left
	}
	if v.meter != nil {
		at := v.meter.Progress()
		out.Images = images{at.Images, at.Finished, at.Failed, at.Withheld, at.Present}
		out.Bytes = sizes{at.Total, at.Done, at.Copied, at.Found, at.Mounted, at.Shared}
		out.Requests = requests{at.Requests, at.RequestsDone}
		out.Retries = v.retries()
	}
	v.write(out)
}

// Clear writes the final amounts.
func (v *eventView) Clear() {
	if v.meter != nil {
		v.last.What, v.last.Left = "copying", -1
		v.Draw(v.last)
	}
}
