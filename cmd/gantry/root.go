package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/keychain"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
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
	tune func(*remote.Options)
	// env, where set, stands for the process's environment where files are looked
	// for: tests that go on at the same time each have their own.
	env     map[string]string
	clients []sideClient // those that the run made
	// keychains are those of the run, by the file that was named for them.
	keychains map[string]*keychain.Keychain

	output    string
	quiet     bool
	verbose   bool
	logLevel  string
	logFormat string
	logPath   string
	progress  string // as given; then how progress is shown, auto decided

	logFile *os.File
	log     *slog.Logger
	// people gets what is for people where stderr is a log in JSON, or events;
	// else nil.
	people *slog.Logger
	screen *progress.Screen // stderr, once the flags are read
	events *events          // nil without --progress json
}

const exitStatusHelp = `EXIT STATUS
  0    everything planned is present and verified
  1    error
  3    some content failed, the rest is consistent; the list is on stderr
  4    a damaged or missing part, or a signature that is none, was found; check:
       an operator, or a cluster, does not get on
  5    plan and catalog diff with --exit-code, archive diff: there is something to
       do, something changed
  10   configuration or flags are wrong; nothing was touched
  11   the workspace or the destination is in use by another run
  12   a registry refused the credentials
  13   not enough space
  130  interrupted (INT, TERM, HUP); run again to go on`

// command is the whole command line.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "gantry",
		Short: "Take Kubernetes operators and platform releases across an air gap",
		Long: `Gantry reads an ImageSetConfiguration, works out everything that it asks for
(operators, platform releases, other images), and brings that to a mirror
registry, directly or on removable media, with the manifests that a cluster applies.

` + exitStatusHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          verbArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			err := a.openLog()
			if err == nil && a.events != nil {
				a.events.start(cmd.CommandPath())
			}
			return err
		},
	}
	root.SetFlagErrorFunc(flagError)
	f := root.PersistentFlags()
	f.StringVar(&a.output, "output", outputText, "form of the result on stdout: text or json")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print the result and errors only")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log what is done (the same as --log-level debug)")
	f.StringVar(&a.logLevel, "log-level", "warn", "log on stderr from this level on: error, warn, info, debug or trace")
	f.StringVar(&a.logFormat, "log-format", outputText, "form of the log: text or json")
	f.StringVar(&a.progress, "progress", progressAuto, "how progress is shown on stderr: auto (a bar on a terminal, else lines), bar, lines, json (events) or none")
	f.StringVar(&a.logPath, "log-file", "", "write the log to this file instead of stderr")
	root.AddCommand(a.planCommand(), a.mirrorCommand(), a.verifyCommand(), a.serveCommand(), a.listCommand(), a.explainCommand(), a.graphCommand(), a.checkCommand(), a.archiveCommand(), a.catalogCommand(), a.configCommand(), a.loginCommand(), a.logoutCommand(), a.versionCommand())
	for _, c := range root.Commands() {
		if !c.HasSubCommands() {
			c.Args = usageArgs(c.Args)
		}
	}
	addCompletion(root)
	addManual(root)
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
	if err := a.openScreen(); err != nil {
		return err
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
	if a.progress == progressJSON {
		a.events = newEvents(a.stderr)
		a.people = a.events.logger("message", slog.LevelInfo)
	}
	switch a.logFormat {
	case outputText:
		a.log = slog.New(slog.NewTextHandler(w, opts))
	case outputJSON:
		a.log = slog.New(slog.NewJSONHandler(w, opts))
		if a.logFile == nil && a.events == nil {
			a.people = slog.New(slog.NewJSONHandler(w, nil))
		}
	default:
		return usageHint("give text or json", "--log-format %q", a.logFormat)
	}
	if a.events != nil && a.logFile == nil {
		a.log = a.events.logger("log", level)
	}
	return nil
}

// getenv reads the environment.
func (a *app) getenv(name string) string {
	if a.env != nil {
		return a.env[name]
	}
	return os.Getenv(name)
}

// keychainOptions say where credentials are looked for, authFile first.
func (a *app) keychainOptions(authFile string) keychain.Options {
	return keychain.Options{AuthFile: authFile, Getenv: a.getenv, Home: a.env["HOME"]}
}

// registries reads what registries.conf says.
func (a *app) registries() (*registries.Config, error) {
	conf, err := registries.Load(registries.Options{Getenv: a.getenv, Home: a.env["HOME"], Log: a.log})
	if err != nil {
		return nil, &usageError{err}
	}
	return conf, nil
}

// encode prints the result as JSON.
func (a *app) encode(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
