package image

import (
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// A command is what a container of an image runs.
type command image.Command

func (c command) argv() []string {
	return slices.Concat(c.Entrypoint, c.Cmd)
}

// isOpm reports whether opm itself is run, not a shell or another program that starts it.
func (c command) isOpm() bool {
	argv := c.argv()
	return len(argv) > 0 && path.Base(argv[0]) == "opm"
}

// serves reports whether the command is "opm serve".
func (c command) serves() bool {
	return c.isOpm() && slices.Contains(c.argv()[1:], "serve")
}

// serveFlags are the flags of "opm serve" whose value is the next argument.
var serveFlags = map[string]bool{
	"--cache-dir": true, "--port": true, "-p": true, "--termination-log": true, "-t": true,
	"--pprof-addr": true, "--pprof": true, "--timeout-seconds": true,
}

// directory returns the directory argument of "opm serve", or "".
func (c command) directory(workingDir string) string {
	argv := c.argv()
	argv = argv[slices.Index(argv, "serve")+1:]
	for n := 0; n < len(argv); n++ {
		switch arg := argv[n]; {
		case arg == "--" && n+1 < len(argv):
			return absolute(workingDir, argv[n+1])
		case serveFlags[arg]:
			n++
		case !strings.HasPrefix(arg, "-"):
			return absolute(workingDir, arg)
		}
	}
	return ""
}

func absolute(workingDir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join("/", workingDir, name)
}

// cacheDir returns the value of --cache-dir, or "".
func (c command) cacheDir() string {
	argv := c.argv()
	for n, arg := range argv {
		if value, ok := strings.CutPrefix(arg, "--cache-dir="); ok {
			return value
		}
		if arg == "--cache-dir" && n+1 < len(argv) {
			return argv[n+1]
		}
	}
	return ""
}

// withoutCache returns the command without opm's cache flags: opm then creates its own cache when it
// starts. With --cache-dir it would find the cache of the old catalog, or none, and refuse to serve in
// both cases.
func (c command) withoutCache() command {
	argv := c.argv()
	var kept command
	for n := 0; n < len(argv); n++ {
		name, _, inline := strings.Cut(argv[n], "=")
		switch name {
		case "--cache-dir":
			if !inline {
				n++ // the value, which can be the first argument of Cmd
			}
			continue
		case "--cache-enforce-integrity", "--cache-only":
			continue
		}
		if n < len(c.Entrypoint) {
			kept.Entrypoint = append(kept.Entrypoint, argv[n])
		} else {
			kept.Cmd = append(kept.Cmd, argv[n])
		}
	}
	return kept
}

// rebuilt returns the command of the rebuilt image, whose catalog is in dir, and a warning or "". The
// labeled directory is dir or leads to it.
func (c command) rebuilt(dir, labeled, workingDir string) (command, string) {
	switch {
	case len(c.argv()) == 0:
		return c, ""
	case !c.isOpm():
		return c, "its command " + quoted(c.argv()) + " is not opm and was not changed; if it serves from a cache of the old catalog, it will not start"
	case !c.serves():
		return c, ""
	}
	kept := c.withoutCache()
	if served := kept.directory(workingDir); served != dir && served != labeled {
		kept.Entrypoint, kept.Cmd = kept.argv()[:1], []string{"serve", dir}
		return kept, "its command " + quoted(c.argv()) + " did not serve the labeled directory; it is now " + quoted(kept.argv())
	}
	return kept, ""
}

func quoted(argv []string) string {
	const most = 200
	s := strings.Join(argv, " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return "\"" + s + "\""
}
