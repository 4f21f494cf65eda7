package ocmirror

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	fileScheme   = "file://"
	dockerScheme = "docker://"
	// workingDir is the folder in the workspace of oc mirror that has everything in it.
	workingDir = "working-dir"
	// defaultWorkspace is where version 1 keeps its state in the working directory.
	defaultWorkspace = "oc-mirror-workspace"
	// cacheVariable is what oc mirror reads if there is no --cache-dir.
	cacheVariable = "OC_MIRROR_CACHE"
)

// note adds a note.
func (l *line) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.notes, text) {
		l.notes = append(l.notes, text)
	}
}

// noEffect adds the note that a flag has no effect.
func (l *line) noEffect(name, why string) { l.note("--%s has no effect: %s", name, why) }

// value returns the last value of a flag, or "".
func (l *line) value(name string) string {
	value := ""
	for _, g := range l.flags {
		if g.Flag != nil && g.Name == name {
			value = g.value
		}
	}
	return value
}

// add adds a flag of Gantry with a value.
func (l *line) add(name, value string) {
	shown := "--" + name
	if name == "config" {
		shown = "-c"
	}
	l.out = append(l.out, shown, value)
}

// addBool adds a flag of Gantry that is true or false.
func (l *line) addBool(name string, value bool) {
	if value {
		l.out = append(l.out, "--"+name)
		return
	}
	l.out = append(l.out, "--"+name+"=false")
}

// has reports whether Gantry's command has a flag.
func (l *line) has(name string) bool {
	own := l.own()
	return own == nil || own.Lookup(name) != nil
}

// each translates every flag. special is called for those whose effect is Special.
func (l *line) each(special func(g given) error) error {
	for _, g := range l.flags {
		if g.Flag == nil {
			l.out = append(l.out, g.raw)
			continue
		}
		name := g.Name
		switch g.Effect {
		case Honored:
		case Ignored:
			if g.Takes != Bool || truth(g.value) {
				l.noEffect(name, g.Text)
			}
		case Refused:
			return refuse(g.Text, "the flag --%s of oc mirror is not supported", name)
		case Special:
			if err := special(g); err != nil {
				return err
			}
		case Renamed, Opposite, Same:
			if g.Effect != Same {
				name = g.Text
			}
			switch {
			case !l.has(name) || l.verb&(Mirror|Delete) == 0 && name == "config":
				l.unneeded(g.Name)
			case g.Takes != Bool:
				l.add(name, g.value)
			case name == "dry-run" && slices.Contains(l.out, "--dry-run"):
			default:
				l.addBool(name, truth(g.value) != (g.Effect == Opposite))
			}
		}
	}
	return nil
}

// unneeded adds the note that the command has no use for a flag.
func (l *line) unneeded(name string) { l.noEffect(name, typed(l.verb)+" does not need it") }

// truth returns the value of a flag that is true or false. It was checked before.
func truth(value string) bool {
	b, err := strconv.ParseBool(value)
	return err == nil && b
}

// common translates the flags with the effect Special that every command has.
func (l *line) common(g given) error {
	switch g.Name {
	case "verbose":
		switch n, err := strconv.Atoi(g.value); {
		case l.value("log-level") != "" || l.value("loglevel") != "":
			l.noEffect(g.Name, "--log-level is given")
		case err == nil && n == 0: // the default
		case err == nil && n > 2:
			l.add("log-level", "trace")
		default:
			l.add("log-level", "debug")
		}
	case "tls-verify":
		for _, name := range []string{"src-tls-verify", "dest-tls-verify"} {
			if l.has(name) {
				l.addBool(name, truth(g.value))
			}
		}
	case "policy", "registries.d":
		if !truth(l.value("secure-policy")) && !truth(l.value("enable-operator-secure-policy")) {
			l.noEffect(g.Name, "only --secure-policy verifies signatures")
		}
	case "workspace", "dir", "cache-dir": // see folders
		if g.Name == "cache-dir" && g.value != "" && l.Getenv != nil && l.Getenv(cacheVariable) != "" {
			return refuse("use one of the two: unset "+cacheVariable+", or leave --cache-dir out", "--cache-dir cannot be combined with $%s, as in oc mirror", cacheVariable)
		}
		if l.verb&(ListReleases|Describe|Init|Version) != 0 {
			l.unneeded(g.Name)
		}
	case "from": // see mirror
	}
	return nil
}

// oldArchive matches the archives that version 1 of oc mirror writes.
var oldArchive = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^mirror_seq[0-9]+_[0-9]+\.tar$`) })

// refuseArchive returns an error if a path leads to an archive of oc mirror.
func refuseArchive(name string) error {
	base := path.Base(filepath.ToSlash(name))
	switch {
	case oldArchive().MatchString(base):
		return refuse("write a new one with -c FILE file://DIR and read that; content that the mirror already has is not copied again", "%s is an archive of oc mirror version 1, which Gantry cannot read", name)
	case strings.HasSuffix(base, ".tar"):
		return refuse("name its folder as file://DIR", "%s is a file, not the folder of an archive", name)
	}
	return nil
}

// folders adds the workspace and the cache. root is the folder that oc mirror keeps its own in, if no
// flag names another, or "" for a command that only reads.
func (l *line) folders(root string) {
	given := cmp.Or(l.value("workspace"), l.value("dir"))
	cache := l.value("cache-dir")
	switch {
	case l.Typed:
		if given != "" {
			l.add("workspace", given)
		}
		if cache != "" {
			l.add("cache-dir", cache)
		}
		return
	case given != "":
		root = filepath.Clean(strings.TrimPrefix(given, fileScheme))
	}
	if root != "" && filepath.Base(root) != workingDir {
		root = filepath.Join(root, workingDir)
	}
	if root != "" {
		l.add("workspace", root)
	}
	if cache == "" && l.Getenv != nil {
		cache = l.Getenv(cacheVariable)
	}
	if cache != "" && l.has("cache-dir") {
		l.add("cache-dir", cache)
	}
}
