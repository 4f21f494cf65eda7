package main

import (
	"bytes"
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

func (d *demo) title(text string) {
	d.step++
	fmt.Fprintf(d.out, "\n%d. %s\n\n", d.step, text)
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintln(d.out, strings.TrimRight("   "+fmt.Sprintf(format, args...), " "))
}

// gantry runs the program in the demo's folder, with its output indented.
func (d *demo) gantry(ctx context.Context, args ...string) error {
	d.say("$ CONTAINERS_REGISTRIES_CONF=%s gantry %s", registries, strings.Join(args, " "))
	began := time.Now()
	out := &indenter{w: d.out, prefix: "   | "}
	cmd := exec.CommandContext(ctx, d.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "CONTAINERS_REGISTRIES_CONF="+registries, "XDG_STATE_HOME="+filepath.Dir(registries))
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	out.end()
	if err != nil {
		return fmt.Errorf("gantry %s: %w", args[0], err)
	}
	d.say("(%s)", since(began))
	return nil
}

// show prints a file of the demo's folder.
func (d *demo) show(name string) error {
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		return err
	}
	out := &indenter{w: d.out, prefix: "   | "}
	_, err = out.Write(text)
	out.end()
	return err
}

// list prints the files below a folder with their sizes.
func (d *demo) list(name string) error {
	d.say("%s/ holds", name)
	root := filepath.Join(d.dir, name)
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		d.say("  %9s  %s", size(info.Size()), rel)
		return nil
	})
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
