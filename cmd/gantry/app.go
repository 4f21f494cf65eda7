package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/window"
)

// An app is the state that all verbs share: where output goes, and the flags of every command.
type app struct {
	stdout, stderr io.Writer
	// tune, if set, changes the options of each client. Tests set clocks and timeouts with it.
	tune func(*remote.Options)
	// tuneWindow, if set, changes the gate of --window. Tests set clocks with it.
	tuneWindow func(*window.Gate)
	// prepare, if set, changes the settings of the process, and begin also catches signals. Both take a
	// tenth of the time of gantry --version; a command that only prints does without.
	prepare, begin func()
	// calledAs is the name that the program was called by.
	calledAs string
	// notes are printed before a command runs, and setenv is added to its environment.
	notes  []string
	setenv map[string]string
	// versionText is what version prints under the name of oc mirror.
	versionText string
	// env, if set, replaces the environment of the process. Tests that run in parallel have one each.
	env map[string]string
	// envs are the environments, by the flags for registries.
	envs map[*registryFlags]*env.Env
	// offline are the flags of what needs no registry.
	offline registryFlags

	output    string // text or json
	format    string // of the result; with formats of its own, a verb has others, too
	quiet     bool
	verbose   bool
	logLevel  string
	logFormat string
	logPath   string
	progress  string // as given; after openScreen, auto is replaced

	// ran is the command that runs, with its arguments.
	ran     *cobra.Command
	ranArgs []string

	settings string // a file, or noSettings
	set      []appliedSetting

	logFile *logFile
	log     *slog.Logger
	// people receives notices and warnings if stderr is a log in JSON, or events; otherwise nil.
	people *slog.Logger
	screen *progress.Screen // stderr, after the flags are read
	events *view.Events     // nil without --progress json
	// copies is what a copy prints under the name of oc mirror; otherwise nil.
	copies *ocMirrorLog
	// raw ends the raw mode of the terminal; nil if it is not in that mode.
	raw atomic.Pointer[func() error]
}

// getenv reads the environment.
func (a *app) getenv(name string) string {
	if value, ok := a.setenv[name]; ok {
		return value
	}
	if a.env != nil {
		return a.env[name]
	}
	return os.Getenv(name)
}

// stateDir returns the folder for what is kept beside workspaces, or "" if there is no home folder.
func (a *app) stateDir() string {
	for _, variable := range []string{"XDG_STATE_HOME", "LOCALAPPDATA"} {
		if dir := a.getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "gantry")
		}
	}
	if home := a.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "gantry")
	}
	return ""
}
