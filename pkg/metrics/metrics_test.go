package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := Write(&b,
		Metric{Name: "gantry_a_bytes", Help: "What\\is\nit.", Type: Gauge, Samples: []Sample{
			{Labels: []string{"image_set", "a\"b\\c\nd", "destination", "x"}, Value: 1 << 40}, {Value: 0.5},
		}},
		Metric{Name: "gantry_without_samples", Help: "x", Type: Gauge},
		Metric{Name: "gantry_b_total", Help: "B.", Type: Counter, Samples: One(Time(time.UnixMilli(1764000000250)), "code", "\xff")},
	)
	want := `# HELP gantry_a_bytes What\\is\nit.
# TYPE gantry_a_bytes gauge
gantry_a_bytes{image_set="a\"b\\c\nd",destination="x"} 1099511627776
gantry_a_bytes 0.5
# HELP gantry_b_total B.
# TYPE gantry_b_total counter
gantry_b_total{code="` + "\uFFFD" + `"} 1764000000.25
`
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
	if err := Write(full{}, Metric{Name: "gantry_a", Help: "x", Type: Gauge, Samples: One(1)}); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("no space left on device")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestLint(t *testing.T) {
	t.Parallel()
	good := Metric{Name: "gantry_run_duration_seconds", Help: "x", Type: Gauge, Samples: One(1, "image_set", "a")}
	if p := lint(good, Metric{Name: "gantry_requests_total", Help: "x", Type: Counter}); len(p) > 0 {
		t.Errorf("%q", p)
	}
	change := func(f func(*Metric)) Metric { m := good; f(&m); return m }
	for name, m := range map[string]Metric{
		"no help":          change(func(m *Metric) { m.Help = "" }),
		"camel case":       change(func(m *Metric) { m.Name = "gantry_runDuration_seconds" }),
		"other unit":       change(func(m *Metric) { m.Name = "gantry_run_duration_ms" }),
		"days":             change(func(m *Metric) { m.Name = "gantry_age_days" }),
		"type in name":     change(func(m *Metric) { m.Name = "gantry_run_gauge" }),
		"gauge total":      change(func(m *Metric) { m.Name = "gantry_runs_total" }),
		"counter":          change(func(m *Metric) { m.Type = Counter }),
		"reserved suffix":  change(func(m *Metric) { m.Name = "gantry_images_count" }),
		"other program":    change(func(m *Metric) { m.Name = "node_seconds" }),
		"characters":       change(func(m *Metric) { m.Name = "gantry_run-duration" }),
		"empty word":       change(func(m *Metric) { m.Name = "gantry__run" }),
		"unknown type":     change(func(m *Metric) { m.Type = "number" }),
		"reserved label":   change(func(m *Metric) { m.Samples = One(1, "le", "1") }),
		"label characters": change(func(m *Metric) { m.Samples = One(1, "imageSet", "1") }),
		"label twice":      change(func(m *Metric) { m.Samples = One(1, "a", "1", "a", "2") }),
		"label, no value":  change(func(m *Metric) { m.Samples = One(1, "a") }),
	} {
		if len(lint(m)) == 0 {
			t.Errorf("%s is accepted", name)
		}
	}
	if len(lint(good, good)) != 1 {
		t.Error("a metric that is there twice is accepted")
	}
}
