package main

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/term"
)

const (
	// interruptLimit is how long a run may take to end after a signal. With reportLimit, the program
	// ends within two seconds. What it leaves is the same as after a kill: the next run continues.
	interruptLimit = 1800 * time.Millisecond
	// reportLimit is how long the message may take then: stderr may be a pipe that nothing reads.
	reportLimit = 100 * time.Millisecond
	// sameSignal is how long further signals count as the first one: timeout(1) sends its signal to the
	// program and to its process group, and terminals and wrappers like sudo may both pass one on.
	sameSignal = 500 * time.Millisecond
)

// An interrupter ends a run after a signal, whatever the run is doing.
type interrupter struct {
	limit  time.Duration
	cancel func()         // asks the run to end
	report func()         // prints that the run was interrupted
	exit   func(code int) // ends the process
}

// watch waits for signals until the run is done. The first asks the run to end, so that it saves its
// state. If the run does not end within the limit, or after a later INT or TERM, the process ends.
func (i *interrupter) watch(signals <-chan os.Signal, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-signals:
	}
	i.cancel()
	first := time.Now()
	late := time.NewTimer(i.limit)
	defer late.Stop()
	for {
		select {
		case <-done:
			return
		case <-late.C:
			reported := make(chan struct{})
			go func() {
				defer close(reported)
				i.report()
			}()
			select {
			case <-reported:
			case <-time.After(reportLimit):
			}
			i.exit(exitInterrupted)
			return
		case s := <-signals:
			// When a terminal closes, both the shell and the kernel may send HUP.
			if s != syscall.SIGHUP && time.Since(first) >= sameSignal {
				i.exit(exitInterrupted)
				return
			}
		}
	}
}

// makeRaw switches a terminal to raw mode for a prompt, until restoreTerminal.
func (a *app) makeRaw(terminal *os.File) error {
	state, err := term.MakeRaw(int(terminal.Fd()))
	if err != nil {
		return err
	}
	restore := func() error { return term.Restore(int(terminal.Fd()), state) }
	a.raw.Store(&restore)
	return nil
}

// restoreTerminal ends the raw mode of a prompt, if there is one. The process may end during a
// prompt, so this may be called by two goroutines.
func (a *app) restoreTerminal() error {
	if restore := a.raw.Swap(nil); restore != nil {
		return (*restore)()
	}
	return nil
}
