// Command gantry mirrors Kubernetes operators and platform releases across an air gap.
//
// Each verb is a file here: flags become an option struct, one call of a room does the
// work, and its result is rendered by internal/view.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

func main() {
	a := &app{stdout: unread{os.Stdout}, stderr: os.Stderr, prepare: func() {
		useHugePages()
		limitGarbage()
		// A reader that closes the pipe, such as head, does not end the run: the signal is caught here,
		// so that only the write fails.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}}
	if len(os.Args) > 0 {
		a.calledAs = os.Args[0]
	}
	os.Exit(a.run(os.Args[min(1, len(os.Args)):]))
}

// unread discards output after its reader closed the pipe. Writes to stderr need no such wrapper:
// their errors are ignored.
type unread struct{ io.Writer }

func (u unread) Write(p []byte) (int, error) {
	n, err := u.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		return len(p), nil
	}
	return n, err
}

// run executes a command line. INT, TERM or HUP cancels ctx, so that the run saves its state. Before
// it returns, it closes all connections.
func (a *app) run(args []string) int {
	done := make(chan struct{})
	defer close(done)
	defer a.hangUp()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	defer signal.Stop(signals)
	code := exitInterrupted
	var once sync.Once
	finish := func(err error) { once.Do(func() { code = a.finish(err) }) }
	interrupt := &interrupter{
		limit:  interruptLimit,
		cancel: func() { cancel(errInterrupted) },
		report: func() { finish(errInterrupted) },
		exit: func(code int) {
			_ = a.restoreTerminal() // the process ends anyway
			os.Exit(code)
		},
	}
	a.begin = func() {
		if a.prepare != nil {
			a.prepare()
		}
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		if !signal.Ignored(syscall.SIGHUP) { // as it is below nohup
			signal.Notify(signals, syscall.SIGHUP)
		}
		go interrupt.watch(signals, done)
	}
	root, args, err := a.commandLine(args)
	if err == nil {
		root.SetArgs(args)
		root.SetOut(a.stdout)
		root.SetErr(a.stderr)
		err = root.ExecuteContext(ctx)
	}
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	finish(err)
	return code
}
