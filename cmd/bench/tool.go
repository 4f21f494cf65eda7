package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// An operation is a task that all tools are measured with.
type operation string

// The operations in the order of a turn: again repeats copying to the same registry; in reads what
// out wrote; outAgain repeats out to the same archive.
const (
	copying  operation = "registry to registry"
	again    operation = "the same again, nothing new"
	out      operation = "registry to archive"
	in       operation = "archive to registry"
	outAgain operation = "the same archive again, nothing new"
)

func operations() []operation { return []operation{copying, again, out, in, outAgain} }

// after returns the operation that has to succeed before this one, or "".
func (o operation) after() operation {
	switch o {
	case again:
		return copying
	case in, outAgain:
		return out
	}
	return ""
}

// The names of the tools that are always measured.
const (
	floorName   = "floor"
	gantryName  = "gantry"
	plannedName = "gantry --plan"
)

// A tool is a way to copy a workload.
type tool struct {
	name    string
	version string // as the tool prints it
	// serial means that it copies images one by one, or starts a process for each.
	serial bool
	// commands returns what to measure. ok is false if the tool does not support the operation.
	commands func(op operation, t turn) (c commands, ok bool, err error)
	// place maps a repository of the source to the one at the destination; nil means the same name.
	place func(repository string) string
	// layout means that its archive is an OCI layout and that it has no in operation.
	layout bool
}

func (t tool) placed(repository string) string {
	if t.place == nil {
		return repository
	}
	return t.place(repository)
}

// commands are a program's command lines, with the number of them that run concurrently, and the
// command lines that run before, without being measured.
type commands struct {
	before [][]string
	run    [][]string
	width  int
}

// A turn is all operations of one tool in one round.
type turn struct {
	workload    *workload
	destination string // host of the registry to fill, or ""
	dir         string // the turn's own folder
}

func (t turn) path(name string) string { return filepath.Join(t.dir, name) }

// archive returns the path that out writes and in reads.
func (t turn) archive() string { return t.path("archive") }

// log returns the path of the tool's output, which each operation overwrites.
func (t turn) log() string { return t.path("log") }

// stored returns the size of all files of the tool, without its output, and the size of the archive
// among them.
func (t turn) stored() (all, archive int64, err error) {
	if all, err = stored(t.dir); err != nil {
		return 0, 0, err
	}
	printed, err := stored(t.log())
	if err != nil {
		return 0, 0, err
	}
	archive, err = stored(t.archive())
	return all - printed, archive, err
}

func (t turn) source() string { return t.workload.source.host() }

// floor is the tool that does the least that every tool has to do.
func floor() tool {
	return tool{name: floorName, commands: func(op operation, t turn) (commands, bool, error) {
		var args []string
		switch op {
		case copying:
			args = []string{"m2m", t.workload.plan, t.source(), t.destination}
		case out:
			args = []string{"m2d", t.workload.plan, t.source(), t.archive()}
		case in:
			args = []string{"d2m", t.workload.plan, t.archive(), t.destination}
		case again, outAgain: // there is nothing to do
			return commands{}, false, nil
		}
		return commands{run: [][]string{slices.Concat(t.workload.floor, args)}}, true, nil
	}}
}

// gantry plans and copies in one command, "gantry mirror -c".
func gantry(program string) tool {
	return tool{name: gantryName, commands: func(op operation, t turn) (commands, bool, error) {
		args := []string{program, "mirror", "-q"}
		switch op {
		case copying, again:
			args = append(args, "-c", t.workload.config, "--workspace", t.path("workspace"), "docker://"+t.destination)
		case out, outAgain:
			args = append(args, "-c", t.workload.config, "--workspace", t.path("workspace-out"), "file://"+t.archive())
		case in:
			args = append(args, "--from", "file://"+t.archive(), "--workspace", t.path("workspace-in"), "docker://"+t.destination)
		}
		return commands{run: [][]string{args}}, true, nil
	}}
}

// planned is Gantry with an existing plan.
func planned(program string) tool {
	return tool{name: plannedName, commands: func(op operation, t turn) (commands, bool, error) {
		to := "docker://" + t.destination
		switch op {
		case copying:
		case out:
			to = "file://" + t.archive()
		case again, in, outAgain: // the same as gantry, which has the same plan or the archive's plan
			return commands{}, false, nil
		}
		workspace, plan := t.path("workspace-"+string(op)), t.path("plan.json")
		return commands{
			before: [][]string{{program, "plan", "-q", "-c", t.workload.config, "--workspace", workspace, "-o", plan, to}},
			run:    [][]string{{program, "mirror", "-q", "--plan", plan, "--workspace", workspace, to}},
		}, true, nil
	}}
}

// findTools returns the floor, Gantry and the other tools in PATH, and the names of those that are
// not in PATH.
func findTools(ctx context.Context, o options) (tools []tool, absent []string, err error) {
	program, err := filepath.Abs(o.gantry)
	if err != nil {
		return nil, nil, err
	}
	g, p := gantry(program), planned(program)
	if g.version, err = versionOf(ctx, program, "version"); err != nil {
		return nil, nil, fmt.Errorf("%w; build it first: make build", err)
	}
	p.version = g.version
	tools = []tool{floor(), g, p}
	names := o.tools
	if len(names) == 0 && !o.alone {
		names = peerNames()
	}
	for _, name := range names {
		program, err := exec.LookPath(name)
		if err != nil {
			absent = append(absent, name)
			continue
		}
		drive, err := peer(name)
		if err != nil {
			return nil, nil, err
		}
		t := drive(program)
		if t.version, err = versionOf(ctx, program, versionArgs(name)...); err != nil {
			return nil, nil, err
		}
		tools = append(tools, t)
	}
	return tools, absent, nil
}

// A versionNumber must not be part of a word, as in "go1.26.0".
var versionNumber = regexp.MustCompile(`(?:^|[^\w.])v?([0-9]+\.[0-9]+\.[0-9]+[-+.0-9A-Za-z]*)`)

// versionOf runs a program and returns its version, or "(no version)".
func versionOf(ctx context.Context, program string, args ...string) (string, error) {
	text, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w: %s", program, err, strings.TrimSpace(string(text)))
	}
	return versionIn(string(text)), nil
}

func versionIn(text string) string {
	if m := versionNumber.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return "(no version)"
}
