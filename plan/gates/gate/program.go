// Package gate asks a program of the user whether content may be mirrored.
//
// A Program is a scanner, a policy engine, or a script that calls one. It is run once for each Question: the
// subject is its only argument, and its standard input is a document in JSON. Status 0 accepts, 1 refuses, and
// with every other status the program could not decide. The text on standard output is the reason.
//
// A program sees no credentials of Gantry: of the environment it gets only the variables that Environment
// lists. Its output is limited. If the context ends, or the program takes too long, it is ended with all
// processes that it started.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice/tail"
)

const (
	// DefaultTimeout is how long a program may take for one question.
	DefaultTimeout = 10 * time.Minute
	// maxReason is how much of each output is kept, in bytes.
	maxReason = 2 << 10
	// killAfter is how long a program may take to end after it was asked to.
	killAfter = time.Second
	// refused is the exit status that refuses.
	refused = 1
)

// A Program decides what may be mirrored.
type Program struct {
	path    string
	env     []string
	timeout time.Duration
}

// Options say how a program is run.
type Options struct {
	// Environ is the environment of this process, as os.Environ returns it. Environment selects from it.
	Environ []string
	// Timeout is how long the program may take for one question. The default is DefaultTimeout.
	Timeout time.Duration
}

// Find finds a program: a path, or a name in PATH.
func Find(name string, o Options) (*Program, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	return &Program{path: path, env: Environment(o.Environ), timeout: cmp.Or(o.Timeout, DefaultTimeout)}, nil
}

// Path returns the path of the program.
func (p *Program) Path() string { return p.path }

// A Question is what a program decides about.
type Question struct {
	// Subject is the argument of the program.
	Subject string
	// Variables are further environment variables, as NAME=VALUE.
	Variables []string
	// Input is read by the program from its standard input. It need not read all of it.
	Input io.Reader
}

// An Answer is what a program decided.
type Answer struct {
	Accepted bool
	// Reason is what it printed, in one line; it may be empty.
	Reason string
}

// A FailedError means that a program could not decide.
type FailedError struct {
	Program string
	// Status is the exit status, or -1 if a signal ended it.
	Status int
	// Printed is the end of what it printed, in one line.
	Printed string
	// Limit is how long it was allowed to take, if it took longer. It has no status then.
	Limit time.Duration
}

func (e *FailedError) Error() string {
	if e.Limit > 0 {
		return fmt.Sprintf("%s took longer than %s", e.Program, e.Limit)
	}
	text := fmt.Sprintf("%s ended with status %d", e.Program, e.Status)
	if e.Status < 0 {
		text = fmt.Sprintf("a signal ended %s", e.Program)
	}
	if e.Printed != "" {
		text += ": " + e.Printed
	}
	return text
}

// Ask runs the program. The error is a *FailedError if it could not decide.
func (p *Program) Ask(ctx context.Context, q Question) (Answer, error) {
	limited, cancel := context.WithTimeoutCause(ctx, p.timeout, &FailedError{Program: p.path, Limit: p.timeout})
	defer cancel()
	cmd := exec.CommandContext(limited, p.path, q.Subject)
	cmd.Env = append(append([]string{}, p.env...), q.Variables...)
	cmd.Stdin = q.Input
	out, messages := &head{limit: maxReason}, &tail.Writer{Limit: maxReason}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, messages, killAfter
	end := ownGroup(cmd)
	err := cmd.Run()
	if limited.Err() != nil {
		end()
		return Answer{}, context.Cause(limited)
	}
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success():
		return Answer{Accepted: true, Reason: out.line()}, nil
	case !errors.As(err, &exit):
		return Answer{}, fmt.Errorf("running %s: %w", p.path, err)
	case exit.ExitCode() == refused:
		return Answer{Reason: cmp.Or(out.line(), messages.Line())}, nil
	}
	return Answer{}, &FailedError{Program: p.path, Status: exit.ExitCode(), Printed: cmp.Or(messages.Line(), out.line())}
}

// A head keeps the beginning of what is written to it.
type head struct {
	limit int
	text  []byte
	cut   bool
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.limit-len(h.text))
	h.text = append(h.text, p[:n]...)
	h.cut = h.cut || n < len(p)
	return len(p), nil
}

func (h *head) line() string {
	text := tail.Line(h.text)
	if h.cut {
		text += " ..."
	}
	return text
}
