// Command gantry takes Kubernetes operators and platform releases across an air gap.
//
// Each verb is a file here: flags become a struct, one call does the work, and
// its result is rendered. Decisions live in the packages below.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	limitGarbage()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments.
func run(args []string, stdout, stderr io.Writer) int {
	return (&app{stdout: stdout, stderr: stderr}).run(args)
}

// run carries out a command line. The first INT or TERM ends ctx, so that the
// run checkpoints; the second ends the process. Nothing goes on after it: the
// connections that were kept are closed.
func (a *app) run(args []string) int {
	defer a.hangUp()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		cancel(errInterrupted)
		if _, ok := <-signals; ok {
			os.Exit(exitInterrupted)
		}
	}()
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	return a.finish(err)
}
