package ocmirror

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// delete translates a command line that lists what is deleted, or deletes what a list has.
func (l *line) delete() error {
	if err := l.each(l.common); err != nil {
		return err
	}
	if !truth(l.value("generate")) && l.value("config") != "" && l.value("delete-yaml-file") != "" {
		l.drop("-c")
		l.noEffect("config", "only what the list has is deleted")
	}
	l.folders(defaultWorkspace)
	return nil
}

// listOperators translates list operators.
func (l *line) listOperators() error {
	catalog, version := l.value("catalog"), l.value("version")
	err := l.each(func(g given) error {
		switch {
		case g.Name != "version":
			return l.common(g)
		case catalog == "" || !hasVersion(catalog):
			l.add("version", g.value)
		default:
			l.noEffect("version", catalog+" has its version in the tag")
		}
		return nil
	})
	if err == nil && version != "" && catalog == "" && l.value("catalogs") == "" {
		l.addBool("catalogs", true)
	}
	l.folders("")
	return err
}

// hasVersion reports whether a catalog has a tag or a digest.
func hasVersion(catalog string) bool {
	ref, err := reference.Parse(catalog)
	return err != nil || ref.Tag != "" || ref.Digest != ""
}

// minor matches the minor version at the beginning of a version.
var minor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+\.[0-9]+`) })

// listReleases translates list releases.
func (l *line) listReleases() error {
	channel, all := l.value("channel"), truth(l.value("channels"))
	err := l.each(func(g given) error {
		switch {
		case g.Name != "version":
			return l.common(g)
		case channel != "" && !all:
			l.noEffect("version", "--channel "+channel+" is given")
		default:
			version := g.value
			if short := minor().FindString(version); short != "" {
				version = short
			}
			l.add("version", version)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if channel != "" && all {
		l.drop("--channel")
		l.noEffect("channel", "--channels lists all channels of --version")
	}
	return nil
}

// drop removes a flag with its value from what was translated.
func (l *line) drop(name string) {
	for i, word := range l.out {
		if word == name {
			l.out = append(l.out[:i:i], l.out[i+2:]...)
			return
		}
	}
}

// listUpdates translates list updates.
func (l *line) listUpdates() error {
	if len(l.args) != 1 {
		return refuse("write list updates FILE", "list updates needs one configuration")
	}
	if err := l.each(l.common); err != nil {
		return err
	}
	l.add("config", l.args[0])
	l.args = nil
	l.folders(defaultWorkspace)
	l.note("list updates is gantry plan: it shows what the configuration selects now; with a destination, gantry plan -c FILE DESTINATION also shows what is missing there")
	return nil
}

// describe translates describe.
func (l *line) describe() error {
	if len(l.args) != 1 {
		return refuse("write describe DIR, with the folder of an archive", "describe needs one archive")
	}
	if err := l.each(l.common); err != nil {
		return err
	}
	name := strings.TrimPrefix(l.args[0], fileScheme)
	if oldArchive().MatchString(filepath.Base(name)) {
		return refuseArchive(name)
	}
	if strings.HasSuffix(name, ".tar") {
		name = filepath.Dir(name) // a volume
	}
	l.args = []string{fileScheme + name}
	return nil
}

// print translates init and version.
func (l *line) print() error {
	return l.each(func(g given) error {
		if g.Name == "version" {
			return nil
		}
		return l.common(g)
	})
}
