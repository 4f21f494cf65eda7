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

// An operation is something that tools are compared by.
type operation string

// The operations, in the order of a turn: again is copying once more, to the same
// registry; in reads what out wrote; outAgain is out once more, to the same
// archive.
const (
	copying  operation = "registry to registry"
	again    operation = "the same again, nothing new"
	out      operation = "registry to archive"
	in       operation = "archive to registry"
	outAgain operation = "the same archive again, nothing new"
)

func operations() []operation { return []operation{copying, again, out, in, outAgain} }

// after is what an operation begins with; "" is nothing.
func (o operation) after() operation {
	switch o {
	case again:
		return copying
	case in, outAgain:
		return out
	}
	return ""
}

// Names of what always takes part.
const (
	floorName   = "floor"
	gantryName  = "gantry"
	plannedName = "gantry --plan"
)

// A tool is a way to copy a workload.
type tool struct {
	name    string
	version string // as it says itself
	// serial says that it copies one image after the other, or starts a process
	// for each.
	serial bool
	// commands are what is to be measured. ok is false where the tool has no
	// such operation.
	commands func(op operation, t turn) (c commands, ok bool, err error)
	// place is the repository at the destination for one of the source; nil is
	// the same.
	place func(repository string) string
	// layout says that its archive is an OCI layout that nothing reads back here.
	layout bool
}

func (t tool) placed(repository string) string {
	if t.place == nil {
		return repository
	}
	return t.place(repository)
}

// Commands are a program's calls, so many of them at the same time, and what
// runs before them without being measured.
type commands struct {
	before [][]string
	run    [][]string
	width  int
}

// A turn is one tool's part of one round.
type turn struct {
	workload    *workload
	destination string // host of the registry to fill; "" where there is none
	dir         string // the turn's own folder
}

func (t turn) path(name string) string { return filepath.Join(t.dir, name) }

// archive is where out writes and in reads.
func (t turn) archive() string { return t.path("archive") }

// log gets what the tool prints, anew with each operation.
func (t turn) log() string { return t.path("log") }

// stored is the size of all that the tool keeps, without what it printed, and of its
// archive in it.
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

// floor is the least that a copier has to do.
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
		case again, outAgain: // with nothing to do it does nothing
			return commands{}, false, nil
		}
		return commands{run: [][]string{slices.Concat(t.workload.floor, args)}}, true, nil
	}}
}

// gantry plans and copies, as "gantry mirror -c" does.
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

// planned is Gantry with a plan that was made before.
func planned(program string) tool {
	return tool{name: plannedName, commands: func(op operation, t turn) (commands, bool, error) {
		to := "docker://" + t.destination
		switch op {
		case copying:
		case out:
			to = "file://" + t.archive()
		case again, in, outAgain: // of the same plan, and of the archive's: as gantry
			return commands{}, false, nil
		}
		workspace, plan := t.path("workspace-"+string(op)), t.path("plan.json")
		return commands{
			before: [][]string{{program, "plan", "-q", "-c", t.workload.config, "--workspace", workspace, "-o", plan, to}},
			run:    [][]string{{program, "mirror", "-q", "--plan", plan, "--workspace", workspace, to}},
		}, true, nil
	}}
}

// findTools returns the floor, Gantry and the peers that are in PATH, and the
// names of those that are not.
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

// A versionNumber is no part of a word, as in "go1.26.0".
var versionNumber = regexp.MustCompile(`(?:^|[^\w.])v?([0-9]+\.[0-9]+\.[0-9]+[-+.0-9A-Za-z]*)`)

// versionOf asks a program which it is; or "(no version)".
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
