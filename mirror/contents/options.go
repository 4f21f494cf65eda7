package contents

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// Options says what is listed.
type Options struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Mirrors are docker://HOST[:PORT][/PREFIX], Archives file://DIR: the folders of one archive and of those that it
	// builds on.
	Mirrors, Archives []string
	// Catalog are images, folders or files.
	Catalog []string
	// Config is a configuration, whose catalogs are read whole.
	Config string
	// OpenShift is a minor version of OpenShift, such as 4.20, whose catalogs are read.
	OpenShift string
	// Words select objects by name: * stands for any text, ? for one character, and a word without them for a part.
	// Case does not matter. The default are all objects.
	Words []string
	// Package selects packages, channels, bundles and images by the name of the package, and APIs select packages, channels and
	// bundles by the kinds, or KIND.GROUP/VERSION, of the APIs that they own: whole names, in which * and ? are those of
	// Words.
	Package string
	APIs    []string
	// At is a mirror, docker://HOST[:PORT][/PREFIX]: objects then say whether it has them, by its records.
	At string
	// Sizes asks the registries of catalogs how large images are, and reads the images of the listed bundles if the catalog
	// does not show whether OLM v1 installs them.
	Sizes bool
	// Sequence is the number of the archive. The default is the newest. Read says how archives are read.
	Sequence int
	Read     archive.OpenOptions
	// MaxNestedPaths is how many path components mirrors allow; 0 is no limit.
	MaxNestedPaths int
}

// check returns an error for options that contradict each other. object is what is listed, in the plural.
func (o *Options) check(object string, planned bool) error {
	catalogs := len(o.Catalog) > 0 || o.Config != "" || o.OpenShift != ""
	switch {
	case planned && catalogs:
		return env.InputHint("name docker://HOST[:PORT][/PREFIX] or file://DIR", "a catalog has no %s", object)
	case planned && len(o.Mirrors)+len(o.Archives) == 0:
		return env.InputHint("name the mirror, docker://HOST[:PORT][/PREFIX], or the archive, file://DIR", "nothing to list %s of", object)
	case !catalogs && len(o.Mirrors)+len(o.Archives) == 0:
		return env.InputHint("name a catalog (Options.Catalog, Options.Config or Options.OpenShift), a mirror, docker://HOST[:PORT][/PREFIX], or an archive, file://DIR",
			"nothing to list %s of", object)
	case o.Sizes && !catalogs:
		return env.InputHint("leave it out: the sizes are in the list", "Options.Sizes is for catalogs, and the plan of a mirror or an archive has the sizes")
	case o.Sequence != 0 && len(o.Archives) == 0:
		return env.InputHint("name the archive, file://DIR", "Options.Sequence is for an archive")
	}
	return nil
}

// A wordPattern matches names.
type wordPattern struct {
	words []string
	names airgap.NamePattern
}

// newWordPattern returns a pattern for words; see Options.Words. If whole is set, each is a whole name.
func newWordPattern(whole bool, words ...string) wordPattern {
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "" })
	patterns := make([]string, len(words))
	for i, word := range words {
		if patterns[i] = strings.ToLower(word); !whole && !strings.ContainsAny(word, "*?") {
			patterns[i] = "*" + patterns[i] + "*"
		}
	}
	return wordPattern{words, airgap.NewNamePattern(patterns...)}
}

// match reports whether one of the names matches, or there are no words.
func (w wordPattern) match(names ...string) bool {
	lower := make([]string, len(names))
	for i, name := range names {
		lower[i] = strings.ToLower(name)
	}
	return w.names.Match(lower...)
}
