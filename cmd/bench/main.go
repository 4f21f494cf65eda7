// Command bench compares Gantry with other tools that copy images.
//
// It fills a real distribution registry on loopback with a workload: an operator catalog with all
// its images. Every tool that it finds in PATH copies the workload to an empty registry, again to
// the same registry, into an archive, and from the archive to an empty registry. The tools run in
// turn, for several rounds. The report shows medians.
//
//	source registry -> [ tool ] -> empty registry, or archive -> empty registry
//
// For comparison, bench also measures the floor: a program that knows every blob and manifest in
// advance and does only what every tool has to do. Within one run, a multiple of the floor's time
// is more meaningful than the time itself.
//
// Time, processor time and memory are those of the tool's processes, as the system counts them.
// Requests are counted from the registries' access logs, which are enabled in every round. There is
// nothing between tool and registry, unless -latency requests a slow link. Every blob that a tool
// copied is checked before the result is recorded.
//
// To start it, run "make bench".
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

// The commands that the program runs itself with.
const (
	floorVerb   = "floor"   // copies with a plan that is known in advance
	measureVerb = "measure" // measures a job from a small process
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil && errors.Is(err, context.Canceled)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case interrupted:
		fmt.Fprintln(os.Stderr, "bench: interrupted; the measurements so far were written")
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

// options are the values of the flags.
type options struct {
	gantry   string
	presets  []string
	tools    []string // if empty, all that are found
	alone    bool     // only the floor and Gantry
	rounds   int
	patience time.Duration
	limit    time.Duration
	latency  time.Duration
	dir      string
	workload string
	most     float64 // times the floor's time; 0 is no limit
	out      []string
}

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.gantry, "gantry", filepath.Join("bin", "gantry"), "the gantry program to measure")
	presets := f.String("preset", "small,medium,many-small", "workloads, in this order")
	tools := f.String("tools", "", "tools to compare with the floor and gantry (default: those of "+strings.Join(peerNames(), ",")+" in PATH; none: no tools)")
	f.IntVar(&o.rounds, "rounds", 3, "number of rounds; the table shows medians")
	f.DurationVar(&o.patience, "patience", 30*time.Second, "run a tool, other than the floor and gantry, in one round only if that round took longer")
	f.DurationVar(&o.limit, "limit", 10*time.Minute, "a single copy that takes longer is stopped")
	f.DurationVar(&o.latency, "latency", 0, "round-trip time to each registry, added by a proxy")
	f.StringVar(&o.dir, "dir", "", "folder for registries and archives (default: /dev/shm if it has room, otherwise the folder for temporary files)")
	f.StringVar(&o.workload, "workload", filepath.Join("..", "shared", "tools", "workload"), "module that makes workloads and contains a floor; if it does not exist (for example, none), bench makes its own")
	f.Float64Var(&o.most, "most", 0, "fail if a copy takes more than this many times the floor's time; 0 is no limit")
	f.Func("o", "file for the result: every measurement if the name ends in .json, otherwise the table (may be repeated; the table is always printed)", func(s string) error {
		o.out = append(o.out, s)
		return nil
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("bench accepts only flags, not %q", f.Args())
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
	if o.rounds < 1 || o.latency < 0 || o.most < 0 {
		return o, errors.New("-rounds must be at least 1, and -latency and -most at least 0")
	}
	return o, nil
}

// fields splits a list at commas and spaces.
func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
