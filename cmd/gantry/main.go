// Command gantry takes Kubernetes operators and platform releases across an air gap.
//
// Each verb is a file here: flags become a struct, one call does the work, and
// its result is rendered. Decisions live in the packages below.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	limitGarbage()
	// A reader that goes away, as head does, ends no run: where the signal is taken
	// here, the write fails and nothing else happens.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], unread{os.Stdout}, os.Stderr))
}

// unread writes for as long as somebody reads, and leaves out what comes later. On
// stderr, nothing asks whether it could be written.
type unread struct{ io.Writer }

func (u unread) Write(p []byte) (int, error) {
	n, err := u.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		return len(p), nil
	}
	return n, err
}

// run is main with its surroundings as arguments.
func run(args []string, stdout, stderr io.Writer) int {
	return (&app{stdout: stdout, stderr: stderr}).run(args)
}

// run carries out a command line. The first INT, TERM or HUP ends ctx, so that the
// run checkpoints; a second INT or TERM ends the process. Nothing goes on after it:
// the connections that were kept are closed.
func (a *app) run(args []string) int {
	defer a.hangUp()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as it is below nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		cancel(errInterrupted)
		for s := range signals {
			// Where a terminal goes away, the shell sends HUP and the kernel does, too.
			if s != syscall.SIGHUP {
				os.Exit(exitInterrupted)
			}
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
