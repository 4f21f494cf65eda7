package env

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
	"github.com/gantry-mirror/gantry/pkg/window"
)

// The schemes of destinations.
const (
	RegistryScheme = "docker://"
	ArchiveScheme  = "file://"
	LayoutScheme   = "oci://"
)

// DefaultWorkspace is the workspace of options that name none.
const DefaultWorkspace = "gantry-workspace"

// SharedCache is the folder of the cache in Env.CacheDir.
const SharedCache = "gantry-cache"

// An Env is what a program gives to the functions of this package: how registries are reached, and
// where logs, notices and progress go. The zero value reads credentials where podman and docker keep
// them, and logs and prints nothing.
//
// An Env makes clients and keeps their connections: use one Env for the calls of one program, and
// Close it at the end. It must not be copied after its first use.
type Env struct {
	Registries
	// Log receives what is done in detail. Nil logs nothing.
	Log *slog.Logger
	// Notice receives notices for people, each a line without its end. Nil drops them.
	Notice func(text string)
	// Warn receives what people have to know. Nil drops it.
	Warn func(text string)
	// Observer follows the run. Nil follows nothing.
	Observer Observer
	// Getenv reads the environment. The default is os.Getenv.
	Getenv func(name string) string
	// Home is the user's home folder. The default is the one of the environment.
	Home string
	// MachineConfig is the folder of the machine's configuration, beside the user's. The default is
	// /etc/gantry.
	MachineConfig string
	// StateDir is a folder of the user, beside all workspaces, that keeps which workspace was last used
	// for a destination. Without it, nothing is kept.
	StateDir string
	// CacheDir is a folder for the cache of all workspaces, in its folder SharedCache. The default is a
	// cache in each workspace.
	CacheDir string
	// HelmRenderer is the program that renders Helm charts. The default is gantry-helm beside the running
	// program, or in PATH.
	HelmRenderer string
	// TuneWindow changes the gate of the times at which a run copies. Tests set clocks with it.
	TuneWindow func(*window.Gate)

	mu        sync.Mutex
	clients   []sideClient
	keychains map[string]*keychain.Keychain // by the file that was named
	known     sync.Map                      // the texts that Once was called with
}

// An Observer follows a run. Its methods are called by one goroutine at a time. They delay the run,
// so they should return at once. It may also implement the Observer of archive/open and of mirror/copying.
type Observer interface {
	// Progress begins to show how far something is, until stop is called. What is a participle:
	// "planning".
	Progress(what string, read func() progress.Reading) (stop func())
}

// OrDefault returns e, or an Env for one call if e is nil. Call done at its end.
func (e *Env) OrDefault() (env *Env, done func()) {
	if e != nil {
		return e, func() {}
	}
	env = &Env{}
	return env, env.Close
}

// Close closes idle connections.
func (e *Env) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.clients {
		c.Close()
	}
}

// Once reports whether it is called with a text for the first time. What is said once in a run needs no
// state of its own.
func (e *Env) Once(text string) bool {
	_, again := e.known.LoadOrStore(text, true)
	return !again
}

// A sideClient is a client and the side of a run that it serves.
type sideClient struct {
	*remote.Client
	side remote.Side
}

// Logger returns the log, which discards everything if none was set.
func (e *Env) Logger() *slog.Logger {
	return cmp.Or(e.Log, slog.New(slog.DiscardHandler))
}

// Variable returns the value of an environment variable, "" if it is not set.
func (e *Env) Variable(name string) string {
	if e.Getenv != nil {
		return e.Getenv(name)
	}
	return os.Getenv(name)
}

// Noticef sends a notice.
func (e *Env) Noticef(format string, args ...any) {
	if e.Notice != nil {
		e.Notice(fmt.Sprintf(format, args...))
	}
}

// Warnf sends a warning.
func (e *Env) Warnf(format string, args ...any) {
	if e.Warn != nil {
		e.Warn(fmt.Sprintf(format, args...))
	}
}

// Show has an observer, if there is one, begin to show how far something is, until stop is called.
func Show(o Observer, what string, read func() progress.Reading) (stop func()) {
	if o == nil {
		return func() {}
	}
	return o.Progress(what, read)
}

// Inputf returns an error about an option or a file that it names.
func Inputf(format string, args ...any) error { return advice.New(advice.Input, "", format, args...) }

// InputHint is Inputf with a hint.
func InputHint(hint, format string, args ...any) error {
	return advice.New(advice.Input, hint, format, args...)
}

// WorkspaceDir returns the folder of an option Workspace.
func WorkspaceDir(workspace string) string {
	return strings.TrimPrefix(cmp.Or(workspace, DefaultWorkspace), ArchiveScheme)
}
