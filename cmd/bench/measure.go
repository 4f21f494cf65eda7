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

// A job is what is measured: commands, of which so many run at the same time.
type job struct {
	Commands [][]string
	Width    int
	Dir      string   // to run them in
	Env      []string // all of it
	Log      string   // file that gets what they print
}

// A cost is what a job took.
type cost struct {
	Wall float64 `json:"wallSeconds"`
	CPU  float64 `json:"cpuSeconds"` // of all processes, in user and in system
	Peak int64   `json:"peakBytes"`  // resident memory of the largest process; 0 where the system does not say
}

// An outcome is what the measuring process says of a job.
type outcome struct {
	Cost  cost
	Error string // of the command that ended badly first
}

// measure runs a job in a process of its own. A process begins with the peak
// memory of the one that started it, so that one has to be small.
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
		return cost{}, fmt.Errorf("reading what %s says: %w", measureVerb, err)
	}
	if ctx.Err() != nil {
		return cost{}, context.Cause(ctx)
	}
	if o.Error != "" {
		return o.Cost, fmt.Errorf("%s; it printed:\n%s", o.Error, tail(j.Log))
	}
	return o.Cost, nil
}

// runMeasure is the other side of measure.
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

// shorten keeps a command readable that names thousands of images.
func shorten(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// tail is the end of what a job printed.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}
