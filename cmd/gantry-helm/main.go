// Gantry-helm renders Helm charts for gantry.
//
// It is a program of its own because Helm's engine links a Kubernetes client, which would double the
// size of gantry. It reads requests from its standard input and writes responses to its standard
// output (package render in pkg/chart). It uses neither network nor files. A chart is another party's
// program: memory and time are limited, and the process ends when a limit is exceeded, or when its
// standard input is closed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, in io.Reader, out, errs io.Writer) int {
	flags := flag.NewFlagSet("gantry-helm", flag.ContinueOnError)
	flags.SetOutput(errs)
	serve := flags.Bool("serve", false, "answer the requests on the standard input")
	memory := flags.Uint64("memory", 1<<30, "the maximum of memory in `bytes`")
	limit := flags.Duration("time", time.Minute, "the maximum `duration` of rendering a chart")
	flags.Usage = func() {
		fmt.Fprintln(errs, "gantry-helm renders Helm charts for gantry, which starts it when a configuration has charts.\nThere is no reason to run it by hand.")
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 10
	case !*serve || flags.NArg() > 0:
		flags.Usage()
		return 10
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Helm's warnings
	l := newLimits(*memory, *limit, os.Exit)
	if err := l.start(); err != nil {
		fmt.Fprintln(errs, "gantry-helm:", err)
		return 1
	}
	if err := answer(in, out, l); err != nil {
		fmt.Fprintln(errs, "gantry-helm:", err)
		return 1
	}
	return 0
}
