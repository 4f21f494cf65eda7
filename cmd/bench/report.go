package main

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"time"
)

// A report is the result of a run, in the form of its JSON.
type report struct {
	Kind    string         `json:"kind"` // "GantryBench"
	Date    string         `json:"date"` // "2026-01-31"
	Version int            `json:"version"`
	System  string         `json:"system"` // "linux/amd64"
	Cores   int            `json:"cores"`
	Storage string         `json:"storage"` // where the registries and archives are
	Latency float64        `json:"latencySeconds"`
	Content string         `json:"content"` // where the workloads and the floor come from
	Tools   []reportedTool `json:"tools"`
	Absent  []string       `json:"absent,omitempty"` // tools that are not in PATH
	Presets []*measured    `json:"presets"`
}

// A reportedTool is a tool and the version that it prints.
type reportedTool struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// measured is the result for one workload.
type measured struct {
	Preset       string `json:"preset"`
	References   int    `json:"references"`
	Repositories int    `json:"repositories"`
	Manifests    int    `json:"manifests"` // in all repositories
	Digests      int    `json:"digests"`   // of manifests
	Blobs        int    `json:"blobs"`
	Bytes        int64  `json:"bytes"` // of the blobs and manifests, each counted once
	// LeftOut lists tools that would take too long with so many images.
	LeftOut []string  `json:"leftOut,omitempty"`
	Results []*result `json:"results"`
}

// A result is the result of one tool in one operation.
type result struct {
	Operation operation `json:"operation"`
	Tool      string    `json:"tool"`
	Samples   []sample  `json:"samples,omitempty"`
	// Problem is why the tool failed, or what it did not copy.
	Problem string `json:"problem,omitempty"`
}

// A sample is one measurement.
type sample struct {
	cost
	// Disk is the growth of the tool's own folders: its archive, which is also counted separately,
	// and everything else that it keeps.
	Disk        int64  `json:"diskBytes"`
	Archive     int64  `json:"archiveBytes"`
	Source      counts `json:"source,omitempty"`
	Destination counts `json:"destination,omitempty"`
}

func newReport(o options, s scratch, m maker, tools []tool, absent []string) *report {
	r := &report{
		Kind: "GantryBench", Version: 1, Date: time.Now().Format(time.DateOnly), System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(),
		Storage: s.String(), Latency: o.latency.Seconds(), Content: m.String(), Absent: absent,
	}
	for _, t := range tools {
		r.Tools = append(r.Tools, reportedTool{t.name, t.version})
	}
	return r
}

func newMeasured(w *workload) *measured {
	repositories, _ := byRepository(w.items)
	return &measured{
		Preset: w.preset, References: len(w.items), Repositories: len(repositories),
		Manifests: len(w.inventory.Manifests), Digests: w.inventory.digests(), Blobs: len(w.inventory.Blobs), Bytes: w.inventory.bytes(),
	}
}

// of returns the result of a tool in an operation, and adds it if necessary.
func (m *measured) of(op operation, tool string) *result {
	for _, r := range m.Results {
		if r.Operation == op && r.Tool == tool {
			return r
		}
	}
	r := &result{Operation: op, Tool: tool}
	m.Results = append(m.Results, r)
	return r
}

// median returns the median of a value of the samples; 0 without samples.
func (r *result) median(of func(sample) float64) float64 {
	var values []float64
	for _, s := range r.Samples {
		values = append(values, of(s))
	}
	return median(values)
}

func (r *result) wall() float64 { return r.median(func(s sample) float64 { return s.Wall }) }

// median returns the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// writeJSON writes all measurements to a file.
func (r *report) writeJSON(file string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}
