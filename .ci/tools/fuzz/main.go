// Command fuzz runs the fuzz targets of a module, and writes a table of what each did. go test -fuzz takes
// one target of one package; this builds the tests of each package once, with the instrumentation for fuzzing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	dir, output string
	only        *regexp.Regexp
	time        time.Duration // of each target
	budget      time.Duration // of all targets and builds; 0 is no limit
	part, parts int
	begin       float64 // where in the list of targets to begin, as a fraction
	workers     int
	atOnce      int
	plain       bool // no instrumentation
}

func parse(args []string) (*options, error) {
	o := &options{only: regexp.MustCompile(""), part: 1, parts: 1}
	set := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	set.StringVar(&o.dir, "dir", ".", "the `folder` of the module")
	set.StringVar(&o.output, "o", "", "write the table to a `file`, too")
	set.DurationVar(&o.time, "time", 30*time.Second, "how long each target runs")
	set.DurationVar(&o.budget, "budget", 0, "start no target that would end after this `time`; the others are reported as left out")
	set.IntVar(&o.workers, "workers", 1, "how many processes fuzz a target")
	set.IntVar(&o.atOnce, "at-once", 2, "how many targets run at a time")
	set.BoolVar(&o.plain, "plain", false, "build as go test does: quickly, since it is cached, but inputs are not chosen by what they cover")
	set.Func("run", "only targets that match a `regexp`, such as ^pkg/delta or FuzzParse$; a target is PACKAGE.NAME", func(s string) (err error) {
		o.only, err = regexp.Compile(s)
		return err
	})
	set.Func("part", "only the targets of one of M parts, as `N/M`; N may be larger than M, and goes around", func(s string) (err error) {
		o.part, o.parts, err = fraction(s)
		return err
	})
	set.Func("begin", "begin at the Nth of M parts of the list, as `N/M`, and go around: with -budget, other targets are left out", func(s string) error {
		n, m, err := fraction(s)
		o.begin = float64(n%max(m, 1)) / float64(max(m, 1))
		return err
	})
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if o.workers < 1 || o.atOnce < 1 {
		return nil, errors.New("-workers and -at-once are at least 1")
	}
	return o, nil
}

// fraction reads N/M.
func fraction(s string) (n, m int, err error) {
	before, after, _ := strings.Cut(s, "/")
	n, err = strconv.Atoi(before)
	m, errM := strconv.Atoi(after)
	if err != nil || errM != nil || n < 0 || m < 1 {
		return 0, 0, errors.New("want N/M, such as 3/12")
	}
	return n, m, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	all, err := find(os.DirFS(o.dir))
	if err != nil {
		return err
	}
	chosen := choose(all, o)
	if len(chosen) == 0 {
		return fmt.Errorf("none of %d targets matches", len(all))
	}
	f, err := newFuzzer(ctx, o)
	if err != nil {
		return err
	}
	results := f.all(ctx, chosen)
	text := table(results, o)
	if o.output != "" {
		if err := os.WriteFile(o.output, []byte(text), 0o644); err != nil {
			return err
		}
	}
	fmt.Print("\n", text)
	if err := errors.Join(os.RemoveAll(f.temp), ctx.Err()); err != nil {
		return err
	}
	var failed []string
	for _, r := range results {
		if r.failure != "" {
			failed = append(failed, r.String())
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d targets failed: %s", len(failed), strings.Join(failed, ", "))
	}
	return nil
}
