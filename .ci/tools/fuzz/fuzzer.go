package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A result is what a target did.
type result struct {
	target
	elapsed, cpu    time.Duration // cpu is the time of processors
	executions, new int
	failure         string // why it failed, or ""
	leftOut         bool   // there was no time
}

// perSecond returns how many inputs the target took per second.
func (r *result) perSecond() int {
	return int(float64(r.executions) / max(r.elapsed.Seconds(), 1))
}

// perCPU returns how many inputs the target took per second of a processor, which other programs on the machine change little.
func (r *result) perCPU() int {
	return int(float64(r.executions) / max(r.cpu.Seconds(), 1))
}

// A fuzzer builds and runs targets.
type fuzzer struct {
	*options
	began time.Time
	temp  string // has the programs
	cache string // has inputs that were found before
}

func newFuzzer(ctx context.Context, o *options) (*fuzzer, error) {
	cache, err := ask(ctx, o.dir, "env", "GOCACHE")
	if err != nil {
		return nil, err
	}
	module, err := ask(ctx, o.dir, "list", "-m")
	if err != nil {
		return nil, err
	}
	// Targets that write files write them to memory, if possible.
	memory := "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		memory = ""
	}
	temp, err := os.MkdirTemp(memory, "gantry-fuzz-")
	return &fuzzer{o, time.Now(), temp, filepath.Join(cache, "fuzz", module)}, err // as go test -fuzz has it
}

// ask returns what a command of go prints.
func ask(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("running go %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// all runs targets, package by package.
func (f *fuzzer) all(ctx context.Context, targets []target) (results []*result) {
	var program, built, problem string
	running := make(chan struct{}, f.atOnce)
	var done sync.WaitGroup
	for _, t := range targets {
		r := &result{target: t}
		results = append(results, r)
		running <- struct{}{}
		if t.dir != built && !f.late() && ctx.Err() == nil {
			program, problem = f.build(ctx, t.dir)
			built = t.dir
		}
		r.leftOut = f.late() || ctx.Err() != nil
		if r.failure = problem; r.leftOut || problem != "" {
			<-running
			continue
		}
		runs := program
		done.Go(func() {
			defer func() { <-running }()
			f.run(ctx, runs, r)
			fmt.Println(r.line())
		})
	}
	done.Wait()
	return results
}

// late reports whether a target that starts now would end too late.
func (f *fuzzer) late() bool { return f.budget > 0 && time.Since(f.began)+f.time > f.budget }

// build builds the tests of a package, and returns the program or what is wrong.
func (f *fuzzer) build(ctx context.Context, dir string) (program, problem string) {
	program = filepath.Join(f.temp, strings.ReplaceAll(dir, "/", "-")+".test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}
	if !f.plain {
		args = append(args, "-fuzz=Fuzz")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+dir)...)
	cmd.Dir = f.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		fmt.Printf("%s: %v\n%s", dir, err, out)
		return "", "is not built"
	}
	return program, ""
}

// run fuzzes a target in the folder of its package, where inputs that fail are kept as testdata/fuzz/NAME/HASH.
func (f *fuzzer) run(ctx context.Context, program string, r *result) {
	// A target that no longer takes inputs is stopped, and fails.
	limited, cancel := context.WithTimeout(ctx, 2*f.time+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(limited, program, "-test.run=^$", "-test.fuzz=^"+r.name+"$", "-test.fuzztime="+f.time.String(),
		"-test.fuzzminimizetime=100x", "-test.fuzzcachedir="+filepath.Join(f.cache, r.dir), "-test.parallel="+strconv.Itoa(f.workers))
	cmd.Dir = filepath.Join(f.dir, r.dir)
	cmd.Env = append(os.Environ(), "TMPDIR="+f.temp)
	cmd.WaitDelay = time.Second
	began := time.Now()
	out, err := cmd.CombinedOutput()
	r.elapsed = time.Since(began)
	if cmd.ProcessState != nil {
		r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	r.read(string(out))
	switch {
	case ctx.Err() != nil:
		r.leftOut = true
	case limited.Err() != nil:
		r.failure = "does not end"
	case err != nil && !timeUp(string(out)):
		r.failure = "failed"
	case r.executions == 0:
		r.failure = "took no input"
	}
	if r.failure != "" {
		fmt.Printf("%s %s:\n%s", r, r.failure, out)
	}
}

// timeUp reports whether a target only failed because its time ended, which Go does not always take for the end.
func timeUp(out string) bool {
	return strings.HasSuffix(out, "s)\n    context deadline exceeded\nFAIL\n") && strings.Count(out, "--- FAIL") == 1
}

var (
	progress = regexp.MustCompile(`execs: (\d+) \(`)
	found    = regexp.MustCompile(`new interesting: (\d+) \(`)
)

// read reads the last line of progress.
func (r *result) read(out string) {
	number := func(pattern *regexp.Regexp) (n int) {
		if all := pattern.FindAllStringSubmatch(out, -1); len(all) > 0 {
			n, _ = strconv.Atoi(all[len(all)-1][1]) // digits
		}
		return n
	}
	r.executions, r.new = number(progress), number(found)
}
