package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A benchRun is the state of one run of the benchmark.
type benchRun struct {
	options options
	scratch scratch
	maker   maker
	tools   []tool
	report  *report
	log     io.Writer // progress, for people
}

// bench measures everything and writes the result. After an error, it writes what was measured
// before.
func bench(ctx context.Context, o options) (err error) {
	room := int64(0)
	for _, name := range o.presets {
		p, err := shapeOf(name)
		if err != nil {
			return err
		}
		room = max(room, p.room)
	}
	b := &benchRun{options: o, log: os.Stderr}
	var absent []string
	if b.tools, absent, err = findTools(ctx, o); err != nil {
		return err
	}
	if b.scratch, err = newScratch(o.dir, room); err != nil {
		return err
	}
	defer b.scratch.remove()
	if b.maker, err = newMaker(ctx, o.workload, b.scratch.dir); err != nil {
		return err
	}
	b.report = newReport(o, b.scratch, b.maker, b.tools, absent)
	b.say("%s, in %s", b.maker, b.scratch.dir)
	if len(absent) > 0 {
		b.say("not in PATH, left out: %s", strings.Join(absent, ", "))
	}
	for _, name := range o.presets {
		if err := b.preset(ctx, name); err != nil {
			return errors.Join(fmt.Errorf("measuring %s: %w", name, err), b.write())
		}
	}
	return errors.Join(b.write(), b.compare(o.most))
}

// write prints the table and writes the requested files.
func (b *benchRun) write() error {
	problems := []error{b.report.writeTable(os.Stdout)}
	for _, file := range b.options.out {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			problems = append(problems, err)
			continue
		}
		if strings.HasSuffix(file, ".json") {
			problems = append(problems, b.report.writeJSON(file))
			continue
		}
		var text strings.Builder
		problems = append(problems, b.report.writeTable(&text), os.WriteFile(file, []byte(text.String()), 0o644))
	}
	return errors.Join(problems...)
}

// preset measures all tools with one workload, round by round.
func (b *benchRun) preset(ctx context.Context, name string) error {
	began := time.Now()
	w, err := b.maker.fill(ctx, name, filepath.Join(b.scratch.dir, name), b.options.latency)
	if err != nil {
		return err
	}
	defer w.source.remove()
	w.source.slow(b.options.latency)
	m := newMeasured(w)
	b.report.Presets = append(b.report.Presets, m)
	b.say("%s: %d references, %.1f MB in %d blobs; made in %s", name, m.References, float64(m.Bytes)/1e6, m.Blobs, since(began))
	tools := b.taking(name, m)
	slow := map[string]bool{}
	for round := range b.options.rounds {
		for i := range tools {
			t := tools[(i+round)%len(tools)] // a different tool is first in each round
			if slow[t.name] {
				continue
			}
			began := time.Now()
			if err := b.turn(ctx, t, w, m, fmt.Sprintf("%s, round %d of %d", name, round+1, b.options.rounds)); err != nil {
				return err
			}
			slow[t.name] = isPeer(t.name) && time.Since(began) > b.options.patience
		}
	}
	return nil
}

// taking returns the tools that are measured with a workload.
func (b *benchRun) taking(name string, m *measured) []tool {
	p, err := shapeOf(name)
	if err != nil || !p.many || len(b.options.tools) > 0 {
		return b.tools
	}
	var tools []tool
	for _, t := range b.tools {
		if t.serial {
			m.LeftOut = append(m.LeftOut, t.name)
			continue
		}
		tools = append(tools, t)
	}
	return tools
}

func isPeer(name string) bool {
	return name != floorName && name != gantryName && name != plannedName
}

// turn runs all operations of one tool. Failures of the tool are recorded in the result; the
// returned error is a failure of the benchmark itself.
func (b *benchRun) turn(ctx context.Context, t tool, w *workload, m *measured, title string) error {
	dir, err := os.MkdirTemp(b.scratch.dir, "turn")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	at := turn{workload: w, dir: dir}
	var destination *registry
	defer func() {
		if destination != nil {
			destination.remove()
		}
	}()
	failed := map[operation]bool{}
	for _, op := range operations() {
		// An operation cannot run if the one it depends on failed.
		if failed[op.after()] {
			continue
		}
		if destination != nil && op != again {
			destination.remove()
			destination, at.destination = nil, ""
		}
		if op == copying || op == in {
			if destination, err = startRegistry(ctx, b.scratch.dir, b.options.latency); err != nil {
				return err
			}
			at.destination = destination.host()
		}
		c, ok, err := t.commands(op, at)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		s, problem, err := b.measure(ctx, t, op, at, destination, c)
		if err != nil {
			return err
		}
		r := m.of(op, t.name)
		if problem != "" {
			r.Problem = problem
			b.say("%s: %s: %s: %s", title, t.name, op, problem)
		}
		if s == nil {
			failed[op] = true
			continue
		}
		r.Samples = append(r.Samples, *s)
		b.say("%s: %s: %s: %.2f s", title, t.name, op, s.Wall)
	}
	return nil
}

// measure runs a tool's commands and checks their result. The sample is nil if the commands failed.
func (b *benchRun) measure(ctx context.Context, t tool, op operation, at turn, destination *registry, c commands) (*sample, string, error) {
	j := job{Dir: at.dir, Env: environment(at.dir), Log: at.log()}
	for _, command := range c.before {
		j.Commands = [][]string{command}
		if _, err := measure(ctx, j); err != nil {
			return nil, err.Error(), ctx.Err()
		}
	}
	j.Commands, j.Width = c.run, c.width
	source := at.workload.source
	registries := []*registry{source}
	if destination != nil {
		registries = append(registries, destination)
		destination.slow(b.options.latency)
	}
	marks := make([]int64, len(registries))
	for i, r := range registries {
		var err error
		if marks[i], err = r.mark(ctx); err != nil {
			return nil, "", err
		}
	}
	had, archived, err := at.stored()
	if err != nil {
		return nil, "", err
	}
	limited, cancel := context.WithTimeoutCause(ctx, b.options.limit, fmt.Errorf("stopped after %s", b.options.limit))
	spent, err := measure(limited, j)
	cancel()
	if err != nil {
		return nil, err.Error(), ctx.Err()
	}
	s := &sample{cost: spent}
	if s.Disk, s.Archive, err = at.stored(); err != nil {
		return nil, "", err
	}
	s.Disk, s.Archive = s.Disk-had, s.Archive-archived
	for i, r := range registries {
		n, err := r.since(ctx, marks[i])
		if err != nil {
			return nil, "", err
		}
		if r == source {
			s.Source = n
		} else {
			s.Destination = n
		}
	}
	var n int
	var example string
	switch {
	case destination != nil:
		destination.slow(0)
		if n, example, err = missing(ctx, destination.host(), at.workload.inventory, t.placed); err != nil {
			return nil, "", err
		}
	case op == out && t.layout:
		n, example = missingInLayout(at.archive(), at.workload.inventory)
	}
	return s, lack(n, example), nil
}

// environment returns the environment of the tools. It contains none of the user's settings and
// credentials, and keeps temporary files in dir, next to the registries.
func environment(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "DOCKER_CONFIG=" + filepath.Join(dir, ".docker")}
}

func (b *benchRun) say(format string, args ...any) { fmt.Fprintf(b.log, format+"\n", args...) }

func since(t time.Time) time.Duration { return time.Since(t).Round(10 * time.Millisecond) }
