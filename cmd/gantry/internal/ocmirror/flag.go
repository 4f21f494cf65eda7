package ocmirror

import (
	"strconv"
	"strings"
	"time"
)

// A Verb is a command of oc mirror. Verbs combine to a set.
type Verb uint

// The commands of oc mirror, of both versions. Mirror is the one without a name.
const (
	Mirror Verb = 1 << iota
	Delete
	ListOperators
	ListReleases
	ListUpdates
	Describe
	Init
	Version
	everyVerb Verb = 1<<iota - 1

	lists = ListOperators | ListReleases | ListUpdates
)

// verbs are the commands, each with the words that are typed and those of the command of Gantry.
var verbs = []struct {
	verb          Verb
	words, gantry string
}{
	{Mirror, "", "mirror"},
	{Delete, "delete", "delete"},
	{ListOperators, "list operators", "list operators"},
	{ListReleases, "list releases", "list releases"},
	{ListUpdates, "list updates", "plan"},
	{Describe, "describe", "archive inspect"},
	{Init, "init", "config init"},
	{Version, "version", "version"},
}

// words returns what is typed for a verb, and the command of Gantry for it.
func (v Verb) words() (typed, own string) {
	for _, known := range verbs {
		if known.verb == v {
			return known.words, known.gantry
		}
	}
	return "", ""
}

// A Kind is the kind of value that a flag takes.
type Kind int

// The kinds of values.
const (
	Text     Kind = iota
	Bool          // without a value it is true
	Int           // not negative
	Duration      // as Go writes them
	Level         // an optional number
)

// check returns what values of the kind look like if value is not one.
func (k Kind) check(value string) (want string) {
	switch k {
	case Bool:
		if _, err := strconv.ParseBool(value); err != nil {
			return "true or false"
		}
	case Int:
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return "a number"
		}
	case Duration:
		if _, err := time.ParseDuration(value); err != nil {
			return "a duration, such as 20s or 10m"
		}
	case Level:
		if n, err := strconv.Atoi(value); err != nil || n < 0 || n > 9 {
			return "a number from 0 to 9"
		}
	case Text:
	}
	return ""
}

// An Effect is what a flag does here.
type Effect int

// The effects of flags.
const (
	Same     Effect = iota // Gantry's flag of this name has the meaning that it has there
	Renamed                // Text is Gantry's flag for the same value
	Opposite               // Text is Gantry's flag for the opposite value
	Honored                // nothing has to be done: Text says why
	Ignored                // it has no effect: Text says why
	Refused                // the command line is refused: Text says what to do
	Special                // it depends on other flags and on the destination: Text says what it becomes
)

// A Flag is a flag of oc mirror.
type Flag struct {
	Name, Short string
	Takes       Kind
	Verbs       Verb
	// Versions are the versions of oc mirror that have it. Flags of earlier releases are included.
	Versions string
	Effect   Effect
	Text     string
}

// find returns a flag of a verb by its name, or by its letter.
func find(verb Verb, name string) *Flag {
	for i := range flags {
		f := &flags[i]
		if f.Verbs&verb != 0 && (f.Name == name || f.Short == name && len(name) == 1) {
			return f
		}
	}
	return nil
}

// Lookup returns the flag of oc mirror with this name, for mirroring if several commands have one.
func Lookup(name string) (Flag, bool) {
	for _, verb := range []Verb{Mirror, everyVerb} {
		if f := find(verb, name); f != nil && f.Name == name {
			return *f, true
		}
	}
	return Flag{}, false
}

// Instead returns what to do in place of giving the flag to a command of Gantry, "" if other commands of Gantry have it.
func (f Flag) Instead() string {
	switch f.Effect {
	case Renamed:
		return "use --" + f.Text
	case Opposite:
		return "use --" + f.Text + "=false"
	case Refused:
		return f.Text
	case Honored, Ignored:
		return "leave it out: " + f.Text
	}
	return specialInstead[f.Name] // "" for those that are the same
}

// specialInstead has what to do in place of flags whose effect is Special and that gantry mirror does
// not have.
var specialInstead = map[string]string{
	"dir": "use --workspace", "oci-registries-config": "set $CONTAINERS_REGISTRIES_CONF", "verbose": "use --log-level",
	"max-per-registry": "use --parallel-images and --parallel-layers", "max-parallel-downloads": "use --parallel-images and --parallel-layers",
	"tls-verify": "use --src-tls-verify or --dest-tls-verify", "dry-run-manifest-lists": "use --dry-run, or gantry plan --lock plan.json, which lists every manifest",
	"continue-on-error": goesOn,
	"ignore-history":    "use --base none for an archive; the content of a registry is always checked", "policy": policyHint, "secure-policy": policyHint, "registries.d": policyHint,
	"enable-operator-secure-policy": policyHint, "version": "run gantry version", "oci-feature-action": "leave it out: " + ociCatalogs,
	"skip-missing": goesOn, "rebuild-catalogs": "leave it out: a catalog lists what is mirrored",
}

const goesOn = "leave it out: a failed image does not stop the run, which ends with status 3; --on-error stop changes that"

const policyHint = "leave it out: gantry plan, mirror and verify apply a signature policy"

// plural joins names as "a, b and c".
func plural(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
