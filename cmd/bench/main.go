// Command bench measures Gantry beside other tools that copy images.
//
// It fills a real distribution registry on loopback with a workload, an
// operator catalog with all its images, and lets every tool that it finds in
// PATH carry that to an empty registry, once more to the same one, into an
// archive, and out of it. The tools take turns, round by round; what is written
// down is the median.
//
//	source registry -> [ tool ] -> empty registry, or archive -> empty registry
//
// Beside them stands the floor: a program that knows every blob and manifest
// beforehand and does only what no copier can leave out. What a tool takes as a
// multiple of that, within one run, says more than its seconds.
//
// Time, processor time and memory are the tool's own, as the system counts them
// for its processes; requests are counted from the registries' access logs,
// which are on in every round. Nothing stands between tool and registry, unless
// -latency asks for a slow link. What a tool brought is checked, blob by blob,
// before it is written down.
//
// It is started by "make bench".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// What the program does when it starts itself.
const (
	floorVerb   = "floor"   // copies with the plan known beforehand
	measureVerb = "measure" // runs a job in a small process and counts
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil && errors.Is(err, context.Canceled)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case interrupted:
		fmt.Fprintln(os.Stderr, "bench: interrupted; what was measured is written")
		os.Exit(130)
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case floorVerb:
			return runFloor(ctx, args[1:])
		case measureVerb:
			return runMeasure(ctx, os.Stdin, os.Stdout)
		}
	}
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	return bench(ctx, o)
}

// Options are what the flags say.
type options struct {
	gantry   string
	presets  []string
	tools    []string // empty: those that are found
	alone    bool     // no tools but the floor and Gantry
	rounds   int
	patience time.Duration
	limit    time.Duration
	latency  time.Duration
	dir      string
	workload string
	out      []string
}

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.gantry, "gantry", filepath.Join("bin", "gantry"), "the gantry program to measure")
	presets := f.String("preset", "small,medium,many-small", "workloads, in this order")
	tools := f.String("tools", "", "tools beside the floor and gantry (default: all of "+strings.Join(peerNames(), ",")+" that are in PATH; none: no others)")
	f.IntVar(&o.rounds, "rounds", 3, "how often every tool has its turn; the table has medians")
	f.DurationVar(&o.patience, "patience", 30*time.Second, "a tool, other than the floor and gantry, whose turn took longer has one turn only")
	f.DurationVar(&o.limit, "limit", 10*time.Minute, "a single copy that takes longer is stopped")
	f.DurationVar(&o.latency, "latency", 0, "time that a way to a registry and back takes, added by a proxy before each")
	f.StringVar(&o.dir, "dir", "", "folder for registries and archives (default: /dev/shm if it has room, else the system's for temporary files)")
	f.StringVar(&o.workload, "workload", filepath.Join("..", "shared", "tools", "workload"), "module that makes workloads and has a floor; where it is absent (none, say), bench makes its own")
	f.Func("o", "file for the result: a table, or, where its name ends in .json, every measurement (may be repeated; the table is printed in any case)", func(s string) error {
		o.out = append(o.out, s)
		return nil
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("bench takes no arguments but flags, not %q", f.Args())
	}
	o.presets, o.tools = fields(*presets), fields(*tools)
	for _, name := range o.presets {
		if _, err := shapeOf(name); err != nil {
			return o, err
		}
	}
	if o.alone = *tools == "none"; o.alone {
		o.tools = nil
	}
	for _, name := range o.tools {
		if _, err := peer(name); err != nil {
			return o, err
		}
	}
	if o.rounds < 1 || o.latency < 0 {
		return o, errors.New("-rounds is at least 1 and -latency at least 0")
	}
	return o, nil
}

// fields splits a list at its commas.
func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
