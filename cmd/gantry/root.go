package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// The values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// app is what every verb shares: where output goes and how much of it there is.
type app struct {
	stdout, stderr io.Writer
	// tune, where set, has the last word on each client's options: tests bring
	// their clock and their patience.
	tune    func(*remote.Options)
	clients []*remote.Client // those that the run made

	output    string
	quiet     bool
	verbose   bool
	logLevel  string
	logFormat string
	logPath   string

	logFile *os.File
	log     *slog.Logger
	// people gets what is for people where stderr is a log in JSON; else nil.
	people *slog.Logger
}

const exitStatusHelp = `EXIT STATUS
  0    everything planned is present and verified
  1    error
  3    some content failed, the rest is consistent; the list is on stderr
  4    a damaged or missing part was found; check: somebody is stranded
  5    --exit-code of plan and diff: there is something to do, something changed
  10   configuration or flags are wrong; nothing was touched
  11   the workspace or the destination is in use by another run
  12   a registry refused the credentials
  13   not enough space
  130  interrupted; run again to go on`

// command is the whole command line.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "gantry",
		Short: "Take Kubernetes operator content across an air gap",
		Long: `Gantry reads an ImageSetConfiguration, works out everything that it asks for,
and brings that to a mirror registry, directly or on removable media, with the
manifests that a cluster applies.

` + exitStatusHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          verbArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.openLog()
		},
	}
	root.SetFlagErrorFunc(flagError)
	f := root.PersistentFlags()
	f.StringVar(&a.output, "output", outputText, "form of the result on stdout: text or json")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print the result and errors only")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log what is done (the same as --log-level debug)")
	f.StringVar(&a.logLevel, "log-level", "warn", "log on stderr from this level on: error, warn, info, debug or trace")
	f.StringVar(&a.logFormat, "log-format", outputText, "form of the log: text or json")
	f.StringVar(&a.logPath, "log-file", "", "write the log to this file instead of stderr")
	root.AddCommand(a.planCommand(), a.mirrorCommand(), a.verifyCommand(), a.listCommand(), a.explainCommand(), a.graphCommand(), a.checkCommand(), a.catalogCommand(), a.configCommand(), a.loginCommand(), a.logoutCommand(), a.versionCommand())
	for _, c := range root.Commands() {
		if !c.HasSubCommands() {
			c.Args = usageArgs(c.Args)
		}
	}
	return root
}

// usageArgs makes wrong arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return &usageError{seeHelp(cmd, err)}
		}
		return nil
	}
}

// seeHelp points to a command's help.
func seeHelp(cmd *cobra.Command, err error) error {
	return &hintError{err, "\n", "see: " + cmd.CommandPath() + " --help"}
}

// verbArgs is for a command that has verbs below it: what is none of them is a
// mistake, and nothing at all asks for help.
func verbArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, verb := range c.Commands() {
		verbs = append(verbs, verb.Name())
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
	if near := suggest.Phrase(args[0], verbs); near != "" {
		return &usageError{&hintError{err, "; ", near + "\nsee: " + c.CommandPath() + " --help"}}
	}
	return &usageError{seeHelp(c, err)}
}

// openLog checks the flags that every verb has and makes the logger.
func (a *app) openLog() error {
	if a.output != outputText && a.output != outputJSON {
		return usageHint("give text or json", "--output %q", a.output)
	}
	levels := map[string]slog.Level{
		"error": slog.LevelError, "warn": slog.LevelWarn, "info": slog.LevelInfo,
		"debug": slog.LevelDebug, "trace": slog.LevelDebug - 4,
	}
	level, ok := levels[a.logLevel]
	if !ok {
		return usageHint("give error, warn, info, debug or trace", "--log-level %q", a.logLevel)
	}
	if a.verbose {
		level = min(level, slog.LevelDebug)
	}
	if a.quiet {
		level = slog.LevelError
	}
	w := a.stderr
	if a.logPath != "" {
		f, err := os.OpenFile(a.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return usagef("--log-file: %w", err)
		}
		a.logFile, w = f, f
	}
	opts := &slog.HandlerOptions{Level: level}
	switch a.logFormat {
	case outputText:
		a.log = slog.New(slog.NewTextHandler(w, opts))
	case outputJSON:
		a.log = slog.New(slog.NewJSONHandler(w, opts))
		if a.logFile == nil {
			a.people = slog.New(slog.NewJSONHandler(w, nil))
		}
	default:
		return usageHint("give text or json", "--log-format %q", a.logFormat)
	}
	return nil
}

// talks reports whether people are told what is going on. Where they asked for
// quiet or for JSON, stderr is left to the log and to the error.
func (a *app) talks() bool { return !a.quiet && a.output != outputJSON }

// say writes a line for people: that something goes on. It is text, or an entry
// of a log in JSON, which other lines would spoil.
func (a *app) say(format string, args ...any) {
	switch {
	case !a.talks():
	case a.people != nil:
		a.people.Info(fmt.Sprintf(format, args...))
	default:
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}

// warn writes what people have to know, quiet or not.
func (a *app) warn(format string, args ...any) {
	if a.people != nil {
		a.people.Warn(fmt.Sprintf(format, args...))
		return
	}
	fmt.Fprintf(a.stderr, format+"\n", args...)
}

// Write makes app the place for the lines of package progress.
func (a *app) Write(line []byte) (int, error) {
	a.say("%s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// show shows people how far something is, until stop is called.
func (a *app) show(what string, read func() progress.Reading) (stop func()) {
	if !a.talks() {
		return func() {}
	}
	if a.terminal() && a.people == nil {
		return progress.Show(a.stderr, what, read, progress.Options{Terminal: true})
	}
	return progress.Show(a, what, read, progress.Options{})
}

// terminal reports whether stderr is a person's screen that a bar may be drawn
// on.
func (a *app) terminal() bool {
	f, ok := a.stderr.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
}

// encode prints the result as JSON.
func (a *app) encode(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
