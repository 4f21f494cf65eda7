package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/plan/starting"
)

// initFlags are the flags of gantry init. The answers are texts, as a person writes them.
type initFlags struct {
	options  starting.Options
	clusters []string
	answers  map[string]*string
	force    bool
}

func (a *app) initCommand() *cobra.Command {
	f := initFlags{answers: map[string]*string{}}
	var s registryFlags
	c := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a first configuration, from five answers or from a cluster",
		Long: `Write an ImageSetConfiguration with comments, and beside it the JSON Schema that editors
check it with. On a terminal, five questions are asked, each with a default; a flag answers
one. Elsewhere, defaults answer the rest. FILE is imageset.yaml if it is not given, and - is
stdout.

Catalogs are read, so that a wrong name of an operator or a channel is noticed at once.
The operators that others require are selected, too, also from the catalogs beside: the
other ones of OpenShift at the same place, or of the cluster. --from-cluster selects what
clusters run instead; gantry config from-cluster --help says how to list it.

` + exitCodes(map[int]string{exitUsage: "an answer is wrong, or FILE exists and --force is not set", exitUnauthorized: helpUnauthorized}),
		Example: `  gantry init
  gantry init --version 4.20 --operator cluster-logging,loki-operator=stable-6.3
  gantry init --version none --catalog quay.io/operatorhubio/catalog:latest --operator prometheus k8s.yaml
  gantry init --from-cluster cluster.json`,
		Args: cobra.MaximumNArgs(1),
	}
	for _, q := range starting.Questions() {
		f.answers[q.Flag] = c.Flags().String(q.Flag, "", strings.ToLower(q.Text[:1])+q.Text[1:])
	}
	repeatable(c.Flags(), &f.clusters, "from-cluster", "file with what a cluster runs; nothing is asked (may be repeated)")
	c.Flags().BoolVar(&f.options.Unread, "unread", false, "do not read the catalogs: names and dependencies are not checked")
	c.Flags().BoolVar(&f.force, "force", false, "replace FILE if it exists")
	s.addFlags(c.Flags())
	c.Flags().StringVar(&f.options.Workspace, "workspace", env.DefaultWorkspace, "folder whose cache of catalogs is used, if it exists")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		f.options.Name = "imageset.yaml"
		if len(args) == 1 {
			f.options.Name = args[0]
		}
		f.options.Env = a.environment(&s)
		err := a.init(cmd.Context(), &f, cmd.InOrStdin())
		if errors.Is(err, errInterrupted) {
			err = advice.Wrap(advice.Failure, err, "run it again: nothing was written")
		}
		return err
	}
	return c
}

func (a *app) init(ctx context.Context, f *initFlags, in io.Reader) error {
	o := &f.options
	file := o.Name
	if file == toStdout {
		o.Name = ""
	} else {
		switch info, err := os.Lstat(file); {
		case err == nil && info.IsDir():
			return usageHint("name a file in it, such as "+filepath.Join(file, "imageset.yaml"), "%s is a folder", file)
		case err == nil && !f.force:
			return usageHint("name another file, or replace it with --force", "%s exists", file)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if folder := filepath.Dir(file); !isFolder(folder) {
			return usageHint("make it, or name another file", "%s: %s is no folder", file, folder)
		}
		o.Schema = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) + ".schema.json"
	}
	again, err := a.answer(ctx, f, in)
	if err != nil {
		return err
	}
	r, err := f.configuration(ctx)
	for again != nil && errors.As(err, new(*starting.UnknownOperatorError)) {
		a.line("%s", errorLine(err))
		if err = again(); err == nil {
			r, err = f.configuration(ctx)
		}
	}
	if err != nil {
		return err
	}
	for _, note := range r.Notes {
		a.say("%s", view.Printable(note))
	}
	if file == toStdout {
		if a.output == outputJSON {
			return a.encode(r)
		}
		return a.documents(r.YAML, nil)
	}
	if r.File, err = filepath.Abs(file); err != nil {
		return err
	}
	r.Schema = filepath.Join(filepath.Dir(r.File), o.Schema)
	if err := durable.WriteFile(r.Schema, imageset.Schema()); err != nil {
		return err
	}
	if err := durable.WriteFile(r.File, r.YAML); err != nil {
		return err
	}
	return a.result(r, func() string {
		return fmt.Sprintf("Wrote %s, and %s for editors.\nTo see its images and their sizes:\n  gantry plan -c %s\n", r.File, filepath.Base(r.Schema), view.ShellWord(r.File))
	})
}

func (f *initFlags) configuration(ctx context.Context) (*starting.Result, error) {
	if len(f.clusters) == 0 {
		return starting.Configuration(ctx, f.options)
	}
	d, err := config.FromCluster(config.DraftOptions{Objects: f.clusters})
	if err != nil {
		return nil, err
	}
	return starting.FromDraft(ctx, f.options, &starting.Draft{Config: d.Config, Comments: d.Comments, Notes: d.Notes, Beside: d.Catalogs})
}

// answer sets the answers: those of flags, and of questions on a terminal, otherwise the defaults. again asks for the
// operators once more; it is nil if they were not asked for.
func (a *app) answer(ctx context.Context, f *initFlags, in io.Reader) (again func() error, err error) {
	o := &f.options
	if len(f.clusters) > 0 {
		for _, q := range starting.Questions() {
			if *f.answers[q.Flag] != "" {
				return nil, usagef("--from-cluster and --%s exclude each other", q.Flag)
			}
		}
		return nil, nil
	}
	terminal, isFile := in.(*os.File)
	ask := isFile && term.IsTerminal(int(terminal.Fd())) && a.output != outputJSON
	given := func(q starting.Question) bool { return *f.answers[q.Flag] != "" }
	if !ask && !slices.ContainsFunc(starting.Questions(), given) {
		return nil, usageHint("answer at least one with a flag, such as --version "+starting.DefaultVersion, "there is no terminal to ask the questions on")
	}
	lines := bufio.NewReader(in)
	for _, q := range starting.Questions() {
		standard := q.Default(o)
		switch given := *f.answers[q.Flag]; {
		case given != "":
			if err := q.Set(o, given); err != nil {
				return nil, fmt.Errorf("--%s: %w", q.Flag, err)
			}
		case standard == "":
		case ask:
			answer := func() error { return a.ask(ctx, o, q, standard, lines) }
			if q.Flag == starting.OperatorFlag {
				again = answer
			}
			if err := answer(); err != nil {
				return nil, err
			}
		default:
			if err := q.Set(o, standard); err != nil {
				return nil, err
			}
		}
	}
	return again, nil
}

// ask asks until the answer is valid. An empty answer is the default; the end of the input ends the command.
func (a *app) ask(ctx context.Context, o *starting.Options, q starting.Question, standard string, in *bufio.Reader) error {
	for {
		fmt.Fprintf(a.stderr, "%s [%s]: ", q.Text, view.Printable(standard))
		line, err := readLine(ctx, in)
		if err != nil {
			return unanswered(a.stderr, "reading the answer", err)
		}
		if line = strings.TrimSpace(line); line == "" {
			line = standard
		}
		if err = q.Set(o, line); err == nil {
			return nil
		}
		a.line("%s", errorLine(err))
	}
}

// readLine reads a line until the context ends.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1) // after the end of the context, the answer is left there
	go func() {
		line, err := in.ReadString('\n')
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		return a.line, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
