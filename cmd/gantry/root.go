package main

import (
	"cmp"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/advice/escape"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

const exitStatusHelp = `EXIT STATUS
  0    everything planned is present and verified
  1    error
  3    some content failed, the rest is consistent; the list is on stderr
  4    content is damaged or missing, or a signature is invalid; check: an operator
       or cluster has no upgrade path
  5    plan and catalog diff with --exit-code, diff, archive diff: there is something
       to do, something changed
  10   configuration or flags are wrong; nothing was changed
  11   the workspace or the destination is in use by another run
  12   a registry refused the credentials
  13   not enough space
  130  interrupted (INT, TERM, HUP); run again to go on`

// command returns the root command. It can run the verbs for which complete returns true; the others
// are only listed.
func (a *app) command(complete func(verb string) bool) *cobra.Command {
	var showVersion bool
	var root *cobra.Command
	root = &cobra.Command{
		Use:   "gantry",
		Short: "Mirror Kubernetes operators and platform releases across an air gap",
		Long: `Gantry mirrors what an ImageSetConfiguration asks for (operators, platform releases, other
images) to a registry, directly or on disks, with the manifests that clusters apply.
gantry completion SHELL prints completions for bash, zsh, fish and powershell.

` + exitStatusHelp,
		Example: `  gantry plan -c imageset.yaml
  gantry mirror -c imageset.yaml docker://mirror.example.com:5000/ocp`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          verbArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return a.printVersion()
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			a.ran, a.ranArgs = cmd, args
			if a.begin != nil && !onlyPrints(cmd) {
				a.begin()
			}
			if all := root.PersistentFlags().Lookup(allFlags); all.Changed && cmd.Name() != "help" {
				return usageHint("run "+cmd.CommandPath()+" --help --all", "--%s is for --help", allFlags)
			}
			if err := cmp.Or(checkSingle(cmd.Flags()), checkOverwrite(cmd.Flags())); err != nil {
				return err
			}
			var err error
			if !onlyPrints(cmd) {
				err = a.applySettings(cmd, args)
			}
			if logErr := a.openLog(); err == nil {
				err = logErr
			}
			if err == nil && a.events != nil {
				a.events.Start(cmd.CommandPath(), buildVersion())
			}
			for _, note := range a.notes {
				if err == nil {
					a.say("%s", note)
				}
			}
			if err == nil && connects(cmd) {
				_, err = remote.ProxyFromEnvironment(a.getenv)
			}
			if err == nil {
				err = a.readForm(cmd)
			}
			return err
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(a.help)
	root.Flags().BoolVar(&showVersion, "version", false, "print the version, like gantry version")
	f := root.PersistentFlags()
	f.Bool(allFlags, false, "with --help: describe every flag")
	f.Lookup(allFlags).Hidden = true
	f.StringVar(&a.settings, settingsFlag, "", "file with settings of this site (default: $GANTRY_SETTINGS, or ~/.config/gantry/gantry.yaml and /etc/gantry/gantry.yaml); none reads none")
	f.StringVarP(&a.output, "output", "o", outputText, outputHelp)
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print the result and errors only")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log what is done (the same as --log-level debug)")
	f.StringVar(&a.logLevel, "log-level", "warn", "lowest level of the log on stderr: error, warn, info, debug or trace")
	f.StringVar(&a.logFormat, "log-format", outputText, "format of the log: text or json")
	f.StringVar(&a.progress, "progress", progressAuto, "progress on stderr: auto (a bar on a terminal, otherwise lines), bar, lines, json (events) or none")
	f.StringVar(&a.logPath, "log-file", "", "write the log to this file instead of stderr")
	root.AddGroup(groups()...)
	root.CompletionOptions.HiddenDefaultCmd = true
	for _, v := range a.verbs() {
		if !complete(v.name) {
			root.AddCommand(v.entry())
			continue
		}
		c := v.command()
		root.AddCommand(c)
		countSingle(c)
		addCompletion(c)
	}
	root.AddCommand(otherVerbs()...)
	if complete(completionVerb) {
		checkShell(root)
	}
	completeFlags(root)
	a.addManual(root)
	return root
}

const completionVerb = "completion"

// checkShell makes an unknown shell an error; cobra would print the help.
func checkShell(root *cobra.Command) {
	root.InitDefaultCompletionCmd(completionVerb)
	for _, c := range root.Commands() {
		if c.Name() == completionVerb {
			c.Args = verbArgs
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// onlyPrints reports whether a command prints what the program knows: its version, help, or the words
// that complete a command line.
func onlyPrints(cmd *cobra.Command) bool {
	switch cmd.Name() {
	case cmd.Root().Name(), "version", "help", completionVerb, cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return true
	}
	return false
}

// connects reports whether a command may connect to registries.
func connects(cmd *cobra.Command) bool {
	return cmd.Flag("src-tls-verify") != nil || cmd.Flag("dest-tls-verify") != nil || cmd.Flag("tls-verify") != nil
}

// openLog checks the flags that every verb has and makes the logger.
func (a *app) openLog() error {
	if a.output != outputText && a.output != outputJSON {
		return usageHint("use text or json", "--output %q", a.output)
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
		return usageHint("use error, warn, info, debug or trace", "--log-level %q", a.logLevel)
	}
	if a.verbose {
		level = min(level, slog.LevelDebug)
	}
	if a.quiet && a.logPath == "" {
		level = slog.LevelError
	}
	w := a.stderr
	if a.logPath != "" {
		f, err := regular.OpenOutput(a.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return usagef("--log-file: %w", err)
		}
		a.logFile = &logFile{File: f}
		w = a.logFile
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: redact.Attr}
	if a.progress == progressJSON {
		a.events = view.NewEvents(a.stderr)
		a.people = a.events.Logger("message", slog.LevelInfo)
	}
	switch a.logFormat {
	case outputText:
		a.log = slog.New(slog.NewTextHandler(w, opts))
	case outputJSON:
		a.log = slog.New(slog.NewJSONHandler(escape.Writer(w), opts))
		if a.logFile == nil && a.events == nil {
			a.people = slog.New(slog.NewJSONHandler(escape.Writer(w), &slog.HandlerOptions{ReplaceAttr: redact.Attr}))
		}
	default:
		return usageHint("use text or json", "--log-format %q", a.logFormat)
	}
	if a.events != nil && a.logFile == nil {
		a.log = a.events.Logger("log", level)
	}
	return nil
}
