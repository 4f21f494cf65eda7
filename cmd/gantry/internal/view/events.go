package view

import (
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/advice/escape"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// eventVersion is the version of the events of --progress json. New members do not change it;
// readers ignore members that they do not know.
const eventVersion = 1

// Events writes one JSON object per line for everything that happens. docs/8-output.md describes
// them.
type Events struct {
	w   io.Writer
	now func() time.Time
}

// An ErrorText is an error as programs read it.
type ErrorText struct {
	Code    int    `json:"code"`
	Hint    string `json:"hint"`
	Message string `json:"message"`
}

// An event has the members of all events.
type event struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
}

// NewEvents returns events that are written to w.
func NewEvents(w io.Writer) *Events { return &Events{w: escape.Writer(w), now: time.Now} }

func (e *Events) event(name string) event { return event{eventVersion, e.now(), name} }

// write writes an event with one call. Errors are ignored.
func (e *Events) write(v any) {
	enc := json.NewEncoder(e.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

// Logger returns a logger that writes its records as events. Attributes are in an object of their
// own, since their names may be those of other members.
func (e *Events) Logger(name string, level slog.Level) *slog.Logger {
	rename := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.MessageKey {
			a.Key = "message"
		}
		return redact.Attr(groups, a)
	}
	h := slog.NewJSONHandler(e.w, &slog.HandlerOptions{Level: level, ReplaceAttr: rename})
	return slog.New(h).With("version", eventVersion, "event", name).WithGroup("attributes")
}

// Start writes the first event.
func (e *Events) Start(command, version string) {
	e.write(struct {
		event
		Command string `json:"command"`
		Gantry  string `json:"gantry"`
	}{e.event("start"), command, version})
}

// Plan writes that the plan is known.
func (e *Events) Plan(p *plan.Plan) {
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

// A Retry is a request that failed and is repeated.
type Retry struct {
	Side, Host string
	Op         string
	Attempt    int // 2 is the first repetition
	Wait       time.Duration
	Reason     string
}

// Retry writes that a request is repeated.
func (e *Events) Retry(r Retry) {
	e.write(struct {
		event
		Side    string  `json:"side"`
		Host    string  `json:"host"`
		Op      string  `json:"op"`
		Attempt int     `json:"attempt"`
		Wait    float64 `json:"waitSeconds"`
		Reason  string  `json:"reason"`
	}{e.event("retry"), r.Side, r.Host, r.Op, r.Attempt, r.Wait.Seconds(), r.Reason})
}

// Summary writes that the copy ended.
func (e *Events) Summary(r *mirroring.Result) {
	e.write(struct {
		event
		Result *mirroring.Result `json:"result"`
	}{e.event("summary"), r})
}

// End writes the last event. failure is nil if the run succeeded.
func (e *Events) End(code int, failure *ErrorText) {
	e.write(struct {
		event
		Code  int        `json:"code"`
		Error *ErrorText `json:"error,omitempty"`
	}{e.event("end"), code, failure})
}
