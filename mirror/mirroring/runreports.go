package mirroring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/metrics"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// RunReports are files that are written at the end of each run, also if it failed or was interrupted.
type RunReports struct {
	// MetricsFile receives metrics of the run for Prometheus, as the textfile collector of the
	// node_exporter reads them. It is replaced at once, or unchanged.
	MetricsFile string
	// SummaryFile is where Summarize writes.
	SummaryFile string
	// Summarize writes a text about a run to SummaryFile.
	Summarize func(out io.Writer, s *RunSummary) error
	// Page reads what Result.Page shows beside the plan: the plan before, and update graphs.
	Page bool

	// recorded is set to true when the workspace has the beginning of the run; nil if that does not matter.
	recorded *bool
}

// check returns an error if a file cannot be written because it has no folder or is one, or if both are the same file.
func (r *RunReports) check(dry bool) error {
	for name, file := range map[string]string{"MetricsFile": r.MetricsFile, "SummaryFile": r.SummaryFile} {
		if file == "" {
			continue
		}
		if dry {
			return env.InputHint("leave it out", "Options.%s is for runs that copy", name)
		}
		if info, err := os.Stat(filepath.Dir(file)); err != nil {
			return env.Inputf("Options.%s: %w", name, err)
		} else if !info.IsDir() {
			return env.Inputf("Options.%s: %s is not a folder", name, filepath.Dir(file))
		}
		if env.IsFolder(file) {
			return env.InputHint("name a file", "Options.%s %s is a folder", name, file)
		}
	}
	if r.SummaryFile != "" && r.Summarize == nil {
		return env.Inputf("Options.SummaryFile requires Options.Summarize")
	}
	if r.MetricsFile != "" && r.SummaryFile != "" && absolutePath(r.MetricsFile) == absolutePath(r.SummaryFile) {
		return env.InputHint("name another file in one of them", "Options.MetricsFile and Options.SummaryFile are the same file")
	}
	return nil
}

// absolutePath returns a path that begins at the root, or the path if the working directory is unknown.
func absolutePath(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return filepath.Clean(path)
}

// Run copies what the destination does not have. If some content is unavailable, the rest is
// complete and consistent, and Run returns the result and a *admission.PartialError. If OnError is
// selection.OnErrorStop, the error is a *mirror.StopError. With every error of the copy itself, it returns the
// result so far, whose Report lists what failed.
func Run(ctx context.Context, o Options) (done *Result, failure error) {
	if o.MetricsFile == "" && o.SummaryFile == "" {
		return run(ctx, o, nil)
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	e, closeEnv := o.Env.OrDefault()
	defer closeEnv()
	o.Env = e
	began := time.Now()
	summary := &RunSummary{}
	var before *plan.Plan
	if o.SummaryFile != "" {
		before = earlierPlan(&o)
	}
	warnings := collectWarnings(e)
	o.recorded = new(bool)
	if done, failure = run(ctx, o, nil); done != nil {
		done.NoError = failure == nil
	}
	summary.Warnings = warnings()
	if advice.KindOf(failure) == advice.Locked {
		return done, failure // the files are about the other run
	}
	summary.Result, summary.Err, summary.Retries = done, failure, env.Retries(e.Hosts())
	var known bool
	summary.Run, known = lastRun(&o, done)
	if !known || !*o.recorded { // it ended before its beginning was recorded
		kept := summary.Run
		summary.Run = state.Run{Destination: kept.Destination, Name: kept.Name, Repair: kept.Repair, Started: began, Ended: time.Now(), Result: state.RunFailed, LastSuccess: kept.LastSuccess, Content: kept.Content}
		if ctx.Err() != nil {
			summary.Run.Result = state.RunInterrupted
		}
	}
	if o.MetricsFile != "" {
		if err := durable.Write(o.MetricsFile, summary.writeMetrics); err != nil {
			failure = errors.Join(failure, fmt.Errorf("writing Options.MetricsFile: %w", err))
		}
	}
	if o.SummaryFile != "" {
		if done != nil {
			summary.compare(before, done.Plan)
		}
		if err := durable.Write(o.SummaryFile, func(out io.Writer) error { return o.Summarize(out, summary) }); err != nil {
			failure = errors.Join(failure, fmt.Errorf("writing Options.SummaryFile: %w", err))
		}
	}
	return done, failure
}

// lastRun returns the run that the workspace recorded last for the destination and image set of options.
func lastRun(o *Options, done *Result) (last state.Run, known bool) {
	last = state.Run{Destination: absolute(o.Destination), Repair: o.Repair != ""}
	switch {
	case done != nil && done.Repaired != nil:
		last.Name = done.Repaired.Name
	case done != nil && done.Plan != nil:
		last.Name = done.Plan.Name
	case o.Config != "":
		last.Name = selection.PlanName(o.Name, o.Config)
	default:
		last.Name = o.Name
	}
	runs, err := state.Runs(o.workspace())
	if err != nil {
		return last, false
	}
	i := slices.IndexFunc(runs, func(r state.Run) bool {
		return r.Destination == last.Destination && r.Repair == last.Repair && (r.Name == last.Name || last.Name == "")
	})
	if i < 0 {
		return last, false
	}
	return runs[i], true
}

// writeMetrics writes the metrics of a run.
func (r *RunSummary) writeMetrics(out io.Writer) error { return metrics.Write(out, r.metrics()...) }

// metrics returns the metrics of a run.
func (r *RunSummary) metrics() []metrics.Metric {
	labels := []string{"image_set", r.Name, "destination", redact.Address(r.Destination)}
	one := func(name, help string, value float64, more ...string) metrics.Metric {
		return metrics.Metric{Name: name, Help: help, Type: metrics.Gauge, Samples: metrics.One(value, slices.Concat(labels, more)...)}
	}
	at := func(name, help string, t time.Time) metrics.Metric {
		if t.IsZero() {
			return metrics.Metric{Name: name}
		}
		return one(name, help, metrics.Time(t))
	}
	success := 0.0
	if r.Run.Result == state.RunComplete {
		success = 1
	}
	results := metrics.Metric{Name: "gantry_run_result", Help: "How the last run ended: 1 for the result, 0 for others.", Type: metrics.Gauge}
	for _, result := range []state.RunResult{state.RunComplete, state.RunPartial, state.RunFailed, state.RunInterrupted} {
		value := 0.0
		if result == r.Run.Result {
			value = 1
		}
		results.Samples = append(results.Samples, metrics.Sample{Labels: slices.Concat(labels, []string{"result", string(result)}), Value: value})
	}
	all := []metrics.Metric{
		one("gantry_run_success", "1 if the last run was complete, else 0.", success),
		results,
		at("gantry_run_start_timestamp_seconds", "When the last run began.", r.Started),
		at("gantry_run_end_timestamp_seconds", "When the last run ended.", r.Ended),
		one("gantry_run_duration_seconds", "How long the last run took.", max(0, r.Ended.Sub(r.Started).Seconds())),
		at("gantry_last_success_timestamp_seconds", "When a run was complete last.", r.LastSuccess),
		at("gantry_content_timestamp_seconds", "When the sources of the content of the last complete run were read.", r.Content),
		one("gantry_run_retries", "Requests that the last run repeated.", float64(r.Retries)),
	}
	if r.Repair {
		return append(all, r.repairMetrics(one)...)
	}
	images := metrics.Metric{Name: "gantry_run_images", Help: "Images of the last run, by what became of them.", Type: metrics.Gauge}
	var copied, withheld float64
	present := max(0, r.Images-r.Copied-r.Failed)
	if r.Result != nil && r.Result.Report != nil {
		copied, withheld, present = float64(r.Result.Report.BytesCopied), float64(len(r.Result.Report.Withheld)), r.Result.Report.Present
	}
	for _, n := range []struct {
		state string
		n     int
	}{{"present", present}, {"copied", r.Copied}, {"failed", r.Failed}} {
		images.Samples = append(images.Samples, metrics.Sample{Labels: slices.Concat(labels, []string{"state", n.state}), Value: float64(n.n)})
	}
	all = append(all, images,
		one("gantry_run_copied_bytes", "Bytes that the last run copied.", copied),
		one("gantry_run_withheld", "Catalogs and releases that the last run did not publish.", withheld))
	if r.Sequence > 0 {
		all = append(all, one("gantry_archive_next_sequence", "The sequence of the next archive of the image set.", float64(r.Sequence+1)))
	}
	return all
}

// repairMetrics returns the metrics that only repairs have, and those that have another meaning for them.
func (r *RunSummary) repairMetrics(one func(name, help string, value float64, more ...string) metrics.Metric) []metrics.Metric {
	var written float64
	if r.Result != nil && r.Result.Repaired != nil && !r.Result.Repaired.AlreadyPresent {
		written = float64(r.Result.Repaired.Bytes)
	}
	return []metrics.Metric{
		one("gantry_run_copied_bytes", "Bytes that the last run copied.", written),
		one("gantry_repair_requested", "Manifests and blobs that the repair request lists.", float64(r.Images)),
		one("gantry_repair_failed", "Manifests and blobs that the sources do not have.", float64(r.Failed)),
	}
}
