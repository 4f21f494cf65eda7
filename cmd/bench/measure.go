package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// A job is a set of commands to measure. Width is how many of them run concurrently.
type job struct {
	Commands [][]string
	Width    int
	Dir      string   // the working directory
	Env      []string // the complete environment
	Log      string   // the file for the output
}

// A cost is what a job used.
type cost struct {
	Wall float64 `json:"wallSeconds"`
	CPU  float64 `json:"cpuSeconds"` // of all processes, user and system
	Peak int64   `json:"peakBytes"`  // resident memory of the largest process; 0 if the system does not report it
}

// An outcome is the report of the measuring process about a job.
type outcome struct {
	Cost  cost
	Error string // of the first command that failed
}

// measure runs a job from a process of its own. A process inherits the peak memory of the process
// that started it, so the latter has to be small.
func measure(ctx context.Context, j job) (cost, error) {
	self, err := os.Executable()
	if err != nil {
		return cost{}, err
	}
	in, err := json.Marshal(j)
	if err != nil {
		return cost{}, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self, measureVerb)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return cost{}, err
	}
	var o outcome
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		return cost{}, fmt.Errorf("reading the output of %s: %w", measureVerb, err)
	}
	if ctx.Err() != nil {
		return cost{}, context.Cause(ctx)
	}
	if o.Error != "" {
		return o.Cost, fmt.Errorf("%s; it printed:\n%s", o.Error, tail(j.Log))
	}
	return o.Cost, nil
}

// runMeasure runs the job for measure, in the process that measure started.
func runMeasure(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	var j job
	if err := json.NewDecoder(stdin).Decode(&j); err != nil {
		return err
	}
	log, err := os.Create(j.Log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	var o outcome
	states := make([]*os.ProcessState, len(j.Commands))
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, j.Width))
	for i, args := range j.Commands {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			cmd := exec.CommandContext(ctx, args[0], args[1:]...)
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = j.Dir, j.Env, log, log
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			cmd.WaitDelay = 10 * time.Second
			err := cmd.Run()
			states[i] = cmd.ProcessState
			if err != nil {
				return fmt.Errorf("%s: %w", shorten(strings.Join(args, " ")), err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		o.Error = err.Error()
	}
	o.Cost.Wall = time.Since(began).Seconds()
	for _, s := range states {
		if s != nil {
			o.Cost.CPU += (s.UserTime() + s.SystemTime()).Seconds()
			o.Cost.Peak = max(o.Cost.Peak, peak(s))
		}
	}
	return errors.Join(json.NewEncoder(stdout).Encode(o), log.Close())
}

// shorten abbreviates a command that names thousands of images.
func shorten(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// tail returns the end of a job's output.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}
