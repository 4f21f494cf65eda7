package ocmirror

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// asksVersion reports whether a command line without arguments asks for the version: -v has that
// meaning in version 2 of oc mirror.
func (l *line) asksVersion() bool {
	asks := false
	for _, g := range l.flags {
		switch {
		case g.Flag == nil:
			return false
		case g.Name == "version":
			asks = asks || truth(g.value)
		case g.Name == "verbose" && g.value == "":
			asks = asks || len(l.args) == 0
		case g.Name != "v1" && g.Name != "v2":
			return false
		}
	}
	return asks
}

// mirror translates a command line that mirrors.
func (l *line) mirror() error {
	destination := ""
	if len(l.args) > 0 {
		destination = l.args[0]
	}
	toArchive := strings.HasPrefix(destination, fileScheme)
	if err := l.each(func(g given) error { return l.mirrorFlag(g, destination) }); err != nil {
		return err
	}
	l.verification()
	root := defaultWorkspace
	from := l.value("from")
	if from != "" {
		if err := refuseArchive(from); err != nil {
			return err
		}
		if !strings.HasPrefix(from, fileScheme) {
			from = fileScheme + from
			l.note("--from %s is read as %s", strings.TrimPrefix(from, fileScheme), from)
		}
		l.add("from", from)
		root = filepath.Clean(strings.TrimPrefix(from, fileScheme))
	}
	if toArchive {
		root = filepath.Clean(strings.TrimPrefix(destination, fileScheme))
	}
	l.folders(root)
	if !l.Typed && !slices.ContainsFunc(l.out, func(word string) bool { return word == "--layout" || strings.HasPrefix(word, "--layout=") }) {
		l.add("layout", layout)
	}
	return nil
}

// destined are the flags that have an effect for destinations of one scheme: Gantry's name of the flag,
// and why it has no effect for others.
var destined = map[string]struct{ scheme, own, otherwise string }{
	"since":            {fileScheme, "since", "it is for file:// destinations"},
	"strict-archive":   {fileScheme, "strict-archive", "it is for file:// destinations"},
	"ignore-history":   {fileScheme, "full", "the content of the mirror is always checked"},
	"max-nested-paths": {dockerScheme, "max-nested-paths", "it is for docker:// destinations"},
}

// mirrorFlag translates a flag whose effect is Special.
func (l *line) mirrorFlag(g given, destination string) error {
	switch to, ok := destined[g.Name]; {
	case !ok:
	case g.Takes == Bool && !truth(g.value):
		return nil
	case strings.HasPrefix(destination, to.scheme) && g.Takes == Bool:
		l.addBool(to.own, true)
		return nil
	case strings.HasPrefix(destination, to.scheme):
		l.add(to.own, g.value)
		return nil
	case g.Name == "since" && !isSince(g.value):
		return refuse("use a date such as 2026-10-01, or leave it out: it is for file:// destinations", "--since %q is not a date", g.value)
	default:
		l.noEffect(g.Name, to.otherwise)
		return nil
	}
	switch g.Name {
	case "dry-run-manifest-lists":
		if truth(g.value) {
			if !truth(l.value("dry-run")) {
				l.addBool("dry-run", true)
			}
			l.note("--%s is --dry-run: gantry plan --lock FILE lists every manifest", g.Name)
		}
	case "continue-on-error":
		l.add("on-error", map[bool]string{true: "continue", false: "stop"}[truth(g.value)])
	case "skip-missing":
		if truth(g.value) && l.value("continue-on-error") == "" {
			l.add("on-error", "continue")
		}
	case "rebuild-catalogs":
		if !truth(g.value) {
			l.noEffect(g.Name, "a catalog lists what is mirrored; one that is mirrored with full: true and without packages stays as it is")
		}
	case "oci-feature-action":
		if g.value == "copy" {
			return refuse("write a layout with -c FILE oci://DIR", "--%s copy is not supported", g.Name)
		}
		l.noEffect(g.Name, ociCatalogs)
	case "oci-registries-config":
		l.env["CONTAINERS_REGISTRIES_CONF"] = g.value
		l.note("--%s: %s is read as registries.conf, for all registries", g.Name, g.value)
	case "max-per-registry", "max-parallel-downloads":
		l.parallel(g)
	default:
		return l.common(g)
	}
	return nil
}

// isSince reports whether --since could have a value with a file:// destination: oc mirror, too, rejects others with
// every destination.
func isSince(value string) bool {
	if n, err := strconv.Atoi(value); err == nil {
		return n > 0
	}
	return slices.ContainsFunc([]string{time.DateOnly, time.RFC3339}, func(layout string) bool {
		_, err := time.Parse(layout, value)
		return err == nil
	})
}

// maxParallel is the largest number that --parallel-images takes.
const maxParallel = 100

// parallel translates a limit of the requests to one registry: Gantry's is the product of both flags.
func (l *line) parallel(g given) {
	for _, name := range []string{"parallel-images", "parallel-layers", "parallel-batch-images"} {
		if l.value(name) != "" {
			l.noEffect(g.Name, "--"+name+" is given")
			return
		}
	}
	n, err := strconv.Atoi(g.value)
	if err != nil || n < 1 {
		return // 0 was no limit
	}
	l.add("parallel-images", strconv.Itoa(min(n, maxParallel)))
	l.add("parallel-layers", "1")
}
