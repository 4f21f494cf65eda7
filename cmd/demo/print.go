package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A timedStep is a step, and how long it took.
type timedStep struct {
	text string
	took time.Duration
}

// title begins a step, and ends the one before.
func (d *demo) title(text string) {
	d.endStep()
	d.steps = append(d.steps, timedStep{text: fmt.Sprintf("%d. %s", len(d.steps)+1, text)})
	d.stepBegan = time.Now()
	fmt.Fprintf(d.out, "\n%s\n\n", d.steps[len(d.steps)-1].text)
}

// endStep sets how long the last step took.
func (d *demo) endStep() {
	if n := len(d.steps); n > 0 {
		d.steps[n-1].took = time.Since(d.stepBegan)
	}
}

// times prints how long the build and each step took.
func (d *demo) times(built time.Duration) {
	d.endStep()
	fmt.Fprintln(d.out)
	if built > 0 {
		d.say("%5.1f s  make build", built.Seconds())
	}
	for _, s := range d.steps {
		d.say("%5.1f s  %s", s.took.Seconds(), s.text)
	}
}

// say prints a line, unless there was an error.
func (d *demo) say(format string, args ...any) {
	if d.err == nil {
		fmt.Fprintln(d.out, strings.TrimRight("   "+fmt.Sprintf(format, args...), " "))
	}
}

// gantry runs the program in the demo's folder, with its output indented. It does nothing after an error.
func (d *demo) gantry(ctx context.Context, args ...string) {
	if d.err != nil {
		return
	}
	d.say("$ CONTAINERS_REGISTRIES_CONF=%s gantry %s", registries, strings.Join(args, " "))
	began := time.Now()
	out := &indenter{w: d.out, prefix: "   | "}
	cmd := exec.CommandContext(ctx, d.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "CONTAINERS_REGISTRIES_CONF="+registries, "XDG_STATE_HOME="+filepath.Dir(registries))
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		d.err = fmt.Errorf("gantry %s: %w", args[0], err)
	}
	out.end()
	d.say("(%s)", since(began))
}

// show prints a file of the demo's folder.
func (d *demo) show(name string) {
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	d.err = cmp.Or(d.err, err)
	out := &indenter{w: d.out, prefix: "   | "}
	_, _ = out.Write(text) // a reader that is gone sees nothing
	out.end()
}

// list prints the files below a folder with their sizes.
func (d *demo) list(name string) {
	d.say("%s/ holds", name)
	d.bytesIn(name, func(path string, n int64) { d.say("  %9s  %s", size(n), path) })
}

// bytesIn returns the size of the files in a folder, and calls each for each of them.
func (d *demo) bytesIn(name string, each func(path string, n int64)) (total int64) {
	root := filepath.Join(d.dir, name)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
			each(strings.TrimPrefix(path, root+string(filepath.Separator)), info.Size())
		}
		return err
	})
	d.err = cmp.Or(d.err, err)
	return total
}

// An indenter writes lines with a prefix.
type indenter struct {
	w      io.Writer
	prefix string
	rest   []byte
}

// Write prints complete lines.
func (i *indenter) Write(p []byte) (int, error) {
	i.rest = append(i.rest, p...)
	for {
		n := bytes.IndexByte(i.rest, '\n')
		if n < 0 {
			return len(p), nil
		}
		if _, err := fmt.Fprintf(i.w, "%s%s\n", i.prefix, i.rest[:n]); err != nil {
			return 0, err
		}
		i.rest = i.rest[n+1:]
	}
}

// end prints a last line without a newline.
func (i *indenter) end() {
	if len(i.rest) > 0 {
		fmt.Fprintf(i.w, "%s%s\n", i.prefix, i.rest)
		i.rest = nil
	}
}

func size(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

func since(t time.Time) time.Duration { return time.Since(t).Round(10 * time.Millisecond) }
