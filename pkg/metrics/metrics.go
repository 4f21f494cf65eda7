// Package metrics writes metrics in the text format of Prometheus, and checks their names by the rules
// that promtool checks.
package metrics

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Type is the type of a metric.
type Type string

// The types.
const (
	Gauge   Type = "gauge"
	Counter Type = "counter"
)

// A Metric is a metric with its samples. Metrics without samples are not written.
type Metric struct {
	Name, Help string
	Type       Type
	Samples    []Sample
}

// A Sample is a value. Labels are names and values in turn.
type Sample struct {
	Labels []string
	Value  float64
}

// One returns the samples of a metric with one value.
func One(value float64, labels ...string) []Sample {
	return []Sample{{Labels: labels, Value: value}}
}

// Time returns a time in seconds since 1970.
func Time(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// ContentType is the media type of the text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

var (
	inHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	inLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Write writes metrics in their order. It is an error if one of them breaks the rules of promtool check metrics: nothing is
// written then.
func Write(out io.Writer, all ...Metric) error {
	if problems := lint(all...); len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	w := bufio.NewWriter(out) // keeps the first error
	text := func(parts ...string) {
		for _, part := range parts {
			_, _ = w.WriteString(part)
		}
	}
	for _, m := range all {
		if len(m.Samples) == 0 {
			continue
		}
		text("# HELP ", m.Name, " ", inHelp.Replace(m.Help), "\n# TYPE ", m.Name, " ", string(m.Type), "\n")
		for _, s := range m.Samples {
			text(m.Name)
			separator := "{"
			for pair := range slices.Chunk(s.Labels, 2) {
				text(separator, pair[0], `="`, inLabel.Replace(strings.ToValidUTF8(pair[1], "\uFFFD")), `"`)
				separator = ","
			}
			if len(s.Labels) > 0 {
				text("}")
			}
			text(" ", strconv.FormatFloat(s.Value, 'f', -1, 64), "\n")
		}
	}
	return w.Flush()
}
