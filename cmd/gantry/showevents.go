package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan"
)

// eventVersion is the version of the events of --progress json. Members are
// added without another; a reader passes over those that it does not know.
const eventVersion = 1

// events writes what happens as one JSON object a line. docs/7-output.md has them
// all.
type events struct {
	w   io.Writer
	now func() time.Time
}

// An event is what every event begins with.
type event struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
}

func newEvents(w io.Writer) *events { return &events{w: w, now: time.Now} }

func (e *events) event(name string) event { return event{eventVersion, e.now(), name} }

// write writes an event in one piece. Nobody waits for who does not read.
func (e *events) write(v any) {
	enc := json.NewEncoder(e.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

// logger makes a logger whose records are events. What they tell beside their
// message is apart, since any name may be among it.
func (e *events) logger(name string, level slog.Level) *slog.Logger {
	rename := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.MessageKey {
			a.Key = "message"
		}
		return a
	}
	h := slog.NewJSONHandler(e.w, &slog.HandlerOptions{Level: level, ReplaceAttr: rename})
	return slog.New(h).With("version", eventVersion, "event", name).WithGroup("attributes")
}

func (e *events) start(command string) {
	e.write(struct {
		event
		Command string `json:"command"`
		Gantry  string `json:"gantry"`
	}{e.event("start"), command, buildVersion()})
}

func (e *events) plan(p *plan.Plan) {
	e.write(struct {
		event
		Name      string `json:"name"`
		Images    int    `json:"images"`
		Missing   int    `json:"missing"`
		Manifests int    `json:"manifests"`
		Blobs     int    `json:"blobs"`
		Bytes     int64  `json:"bytes"`
	}{e.event("plan"), p.Name, len(p.Images) + len(p.Missing), len(p.Missing), p.Totals.Manifests, p.Totals.Blobs, p.Totals.Bytes})
}

// retry is Options.OnRetry of the client of a side.
func (e *events) retry(side remote.Side) func(remote.Again) {
	return func(again remote.Again) {
		e.write(struct {
			event
			Side    string  `json:"side"`
			Host    string  `json:"host"`
			Op      string  `json:"op"`
			Attempt int     `json:"attempt"`
			Wait    float64 `json:"waitSeconds"`
			Reason  string  `json:"reason"`
		}{e.event("retry"), sideName(side), again.Host, again.Err.Op, again.Attempt, again.Wait.Seconds(), again.Err.Error()})
	}
}

func (e *events) summary(r *mirrorResult) {
	e.write(struct {
		event
		Result *mirrorResult `json:"result"`
	}{e.event("summary"), r})
}

// end is the last event. failure is nil where there is none.
func (e *events) end(code int, failure *errorText) {
	e.write(struct {
		event
		Code  int        `json:"code"`
		Error *errorText `json:"error,omitempty"`
	}{e.event("end"), code, failure})
}

// copyEvents tells what happens in a copy.
type copyEvents struct {
	*events
	target target
}

func (e *copyEvents) BlobStarted(f mirror.Flight) {
	e.write(struct {
		event
		Digest     digest.Digest `json:"digest"`
		Size       int64         `json:"size"`
		Repository string        `json:"repository"`
	}{e.event("blob-started"), f.Digest, f.Size, f.Repository})
}

func (e *copyEvents) BlobEnded(l mirror.Landing) {
	e.write(struct {
		event
		Digest     digest.Digest `json:"digest"`
		Size       int64         `json:"size"`
		Repository string        `json:"repository"`
		Result     string        `json:"result"`
		Reason     string        `json:"reason,omitempty"`
	}{e.event("blob-ended"), l.Digest, l.Size, l.Repository, l.Result, l.Reason})
}

func (e *copyEvents) ImageSettled(o mirror.Outcome) {
	e.write(struct {
		event
		Source      string `json:"source"`
		Destination string `json:"destination,omitempty"`
		Result      string `json:"result"`
		Reason      string `json:"reason,omitempty"`
	}{e.event("image"), o.Source, e.place(o), o.Result, o.Reason})
}

// place is what an image is called at the destination; "" where it has no place
// there.
func (e *copyEvents) place(o mirror.Outcome) string {
	tag := ""
	if len(o.Tags) > 0 {
		tag = o.Tags[0]
	}
	if r := e.target.registry(); r != nil {
		ref, ok := r.names[o.Repository]
		switch {
		case !ok:
			return ""
		case tag == "":
			return ref.WithDigest(o.Digest).String()
		}
		return ref.WithTag(tag).String()
	}
	if tag == "" {
		return o.Repository
	}
	return o.Repository + ":" + tag
}

// eventView shows progress as events.
type eventView struct {
	*events
	meter   *mirror.Meter // nil where nothing is copied
	retries func() int64
	last    progress.Frame
}

func (v *eventView) Draw(f progress.Frame) {
	v.last = f
	type images struct {
		Total   int64 `json:"total"`
		Settled int64 `json:"settled"`
		Failed  int64 `json:"failed"`
		Held    int64 `json:"held"`
		Present int64 `json:"present"`
	}
	type sizes struct {
		Total   int64 `json:"total"`
		Done    int64 `json:"done"`
		Moved   int64 `json:"moved"`
		Found   int64 `json:"found"`
		Mounted int64 `json:"mounted"`
		Shared  int64 `json:"shared"`
	}
	out := struct {
		event
		Phase     string   `json:"phase"`
		Images    images   `json:"images"`
		Bytes     sizes    `json:"bytes"`
		Retries   int64    `json:"retries"`
		PerSecond float64  `json:"perSecond"`
		Left      *float64 `json:"secondsLeft,omitempty"`
	}{
		event: v.event("progress"), Phase: f.What,
		Images: images{Total: f.Images, Settled: f.ImagesDone}, Bytes: sizes{Total: f.Total, Done: f.Done, Moved: f.Moved},
		PerSecond: f.PerSecond,
	}
	if f.Left >= 0 {
		left := f.Left.Seconds()
		out.Left = &left
	}
	if v.meter != nil {
		at := v.meter.Progress()
		out.Images = images{at.Images, at.Settled, at.Failed, at.Held, at.Present}
		out.Bytes = sizes{at.Total, at.Done, at.Moved, at.Found, at.Mounted, at.Shared}
		out.Retries = v.retries()
	}
	v.write(out)
}

// Clear tells the figures at the end.
func (v *eventView) Clear() {
	if v.meter != nil {
		v.last.What, v.last.Left = "copying", -1
		v.Draw(v.last)
	}
}
