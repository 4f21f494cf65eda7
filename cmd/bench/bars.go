package main

import (
	"fmt"
	"strings"
)

// The units of the limits below, in bytes.
const (
	kilobyte = 1 << 10
	megabyte = 1 << 20
)

// A bar is a limit that Gantry should keep for a workload.
type bar struct {
	what  string
	value float64
	most  float64
	unit  string // printed after the value
}

func (b bar) kept() bool { return b.value <= b.most }

// bars compares Gantry's measurements with its limits. A limit that is a multiple of something that
// was not measured is left out.
func (m *measured) bars() []bar {
	var all []bar
	add := func(what string, value, base, most float64, unit string) {
		if base > 0 {
			all = append(all, bar{what, value / base, most, unit})
		}
	}
	for _, op := range []operation{copying, out, in} {
		floor, whole, plan := m.of(op, floorName), m.of(op, gantryName), m.of(op, plannedName)
		if len(whole.Samples) == 0 {
			continue
		}
		if op == in { // an archive contains its plan
			plan = whole
		} else {
			add(string(op)+", planning included: time", whole.wall(), floor.wall(), 1.3, " x floor")
		}
		if len(plan.Samples) > 0 {
			add(string(op)+", planned: time", plan.wall(), floor.wall(), m.mostTime(op), " x floor")
		}
		if p := m.fastestPeer(op); p != nil {
			add(string(op)+": time", whole.wall(), p.wall(), 1, " x "+p.Tool)
		}
		if op != out {
			at := func(s sample) counts { return s.Destination }
			add(string(op)+": requests at the destination", float64(whole.requests(at)), float64(floor.requests(at)), 1.07, " x floor")
		}
		if op != in {
			at := func(kind string) float64 {
				return whole.median(func(s sample) float64 { return float64(s.Source[kind]) })
			}
			add(string(op)+": GETs at the source", at(getBlob), float64(m.Blobs), 1, " a blob")
			add(string(op)+": requests for manifests at the source", at(readManifest), float64(m.Digests), 1, " a manifest")
		}
		if op == out {
			add(string(op)+": written to it", whole.median(func(s sample) float64 { return float64(s.Archive) }), float64(m.Bytes), 1.01, " x unique bytes")
		}
	}
	cpu := func(s sample) float64 { return s.CPU }
	for _, op := range []operation{copying, out, in} {
		if r, most := m.of(op, gantryName), m.mostCPU(op); len(r.Samples) > 0 && most > 0 {
			add(string(op)+": processor time", r.median(cpu), m.of(op, floorName).median(cpu), most, " x floor")
		}
	}
	if r := m.of(again, gantryName); len(r.Samples) > 0 {
		at := func(s sample) counts { return s.Destination }
		add(string(again)+": requests at the destination", float64(r.requests(at)), float64(m.References), 1, " a reference")
		if p := m.of(again, "regsync"); len(p.Samples) > 0 {
			add(string(again)+": time", r.wall(), p.wall(), 1, " x regsync")
		}
	}
	if r := m.of(outAgain, gantryName); len(r.Samples) > 0 {
		add(string(outAgain)+": written to it and beside", r.median(func(s sample) float64 { return float64(s.Disk) }), kilobyte, 64, " KB")
	}
	var peak float64
	for _, op := range operations() {
		for _, s := range m.of(op, gantryName).Samples {
			peak = max(peak, float64(s.Peak))
		}
	}
	if peak > 0 {
		add("most memory", peak, megabyte, 64, " MB")
	}
	return all
}

// mostTime returns the limit for the time of a planned copy, as a multiple of the floor's. A small
// archive takes little longer to copy than a program to start.
func (m *measured) mostTime(op operation) float64 {
	if s, err := shapeOf(m.Preset); op == in || err == nil && s.many {
		return 1.3
	}
	return 1.15
}

// mostCPU returns the limit for the processor time, as a multiple of the floor's, or 0 for none. The
// floor does little for small blobs, so the limits are those of the workload with large ones.
func (m *measured) mostCPU(op operation) float64 {
	switch {
	case m.Preset != "medium" && op != copying:
		return 0
	case m.Preset != "medium":
		return 2
	case op == copying:
		return 1.8
	case op == in:
		return 1.4
	}
	return 1.2
}

// fastestPeer returns the result of the fastest tool in an operation, except for the floor and
// Gantry. It is nil if no such tool completed the operation.
func (m *measured) fastestPeer(op operation) *result {
	for _, r := range m.ordered(op) {
		if isPeer(r.Tool) && r.Problem == "" && len(r.Samples) > 0 {
			return r
		}
	}
	return nil
}

// writeBars writes the comparison with the limits as a table.
func (m *measured) writeBars(b *strings.Builder) {
	bars := m.bars()
	if len(bars) == 0 {
		return
	}
	b.WriteString("\nGantry and its limits:\n\n| | measured | limit | |\n|---|--:|--:|---|\n")
	for _, r := range bars {
		verdict := "kept"
		if !r.kept() {
			verdict = "**missed**"
		}
		fmt.Fprintf(b, "| %s | %.2f%s | %.4g | %s |\n", r.what, r.value, r.unit, r.most, verdict)
	}
}
