package registrytest

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// A Bare is a real registry that clients reach without a front, for measurements: plain http,
// without credentials.
type Bare struct {
	Host string // "127.0.0.1:port"
	// LogFile has a line in Apache's combined log format for each request, written when it is
	// answered. The requests that waited for the start are included.
	LogFile string

	process *process
}

// bareTries limits how often another port is tried if a process takes it between choosing and using
// it.
const bareTries = 5

// StartBare runs CNCF distribution 3 with its files below dir. It finds the program as Start does. The caller closes it.
func StartBare(ctx context.Context, dir string) (*Bare, error) {
	program, err := findProgram(ctx, Registries()[0])
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var problems []error
	for range bareTries {
		address, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		p, err := newProcess(processConfig{program: program, dir: dir, address: address})
		if err != nil {
			return nil, err
		}
		if err = p.start(ctx); err == nil {
			return &Bare{Host: address, LogFile: p.logFile(), process: p}, nil
		}
		p.close()
		problems = append(problems, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("starting a registry: %w", errors.Join(problems...))
}

// Close ends the process. The stored files remain.
func (b *Bare) Close() { b.process.close() }

// freeAddress finds an unused port of loopback.
func freeAddress(ctx context.Context) (string, error) {
	l, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
