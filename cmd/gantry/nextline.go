package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// followUps are the command lines that usually follow a command, by its path: the first whose places can be filled is
// printed last, on terminals. {config} is the value of a flag, {1} an argument, {1|TEXT} has a text in place of a missing one,
// and {1^docker} begins with this. Without any, the result of the command ends with what follows, or is data, or nothing
// follows.
func followUps() map[string][]string {
	const fromDisk, mirrorConfig = "gantry mirror --from {1^file://} docker://MIRROR", "gantry mirror -c {config} {1^docker://|docker://MIRROR}"
	find := []string{fromDisk, "gantry init"}
	return map[string][]string{
		"gantry archive convert": nil, "gantry archive diff": nil, "gantry archive extract": nil, "gantry archive repair-request": nil, "gantry archive serve": nil,
		"gantry archive inspect": {fromDisk}, "gantry archive list": {fromDisk}, "gantry archive rebuild": {"gantry verify {1^file://}"},
		"gantry catalog build": {"gantry list packages {2^docker://}"}, "gantry catalog convert": nil, "gantry catalog deprecate": {"gantry catalog validate {1}"},
		"gantry catalog diff": nil, "gantry catalog filter": {"gantry catalog validate {output-dir}"}, "gantry catalog graph": nil, "gantry catalog init": nil,
		"gantry catalog list": {"gantry catalog graph {1} {2}", "gantry catalog list {1} PACKAGE"}, "gantry catalog render": nil, "gantry catalog serve": nil,
		"gantry catalog validate": {"gantry catalog build {1} docker://MIRROR/CATALOG:TAG"},
		"gantry check":            nil, "gantry cluster operator install": {"oc apply -f {to}"}, "gantry cluster resources": nil,
		"gantry config check": {"gantry plan -c {1}"}, "gantry config convert": {"gantry plan -c {to}"}, "gantry config from-cluster": {"gantry plan -c {to}"},
		"gantry config from-mirror": {"gantry plan -c {to}"}, "gantry config init": nil, "gantry config schema": nil,
		"gantry diff": {"gantry mirror --from {2^file://} {1^docker://}", "gantry mirror -c {config} {1}"}, "gantry get": nil, "gantry init": nil,
		"gantry list bundles": find, "gantry list catalogs": {"gantry list packages {1}", "gantry list packages CATALOG"}, "gantry list channels": find, "gantry list charts": nil,
		"gantry list files": {"gantry get {1} NAME --to FILE"}, "gantry list images": nil, "gantry list operators": find, "gantry list releases": find,
		"gantry list packages": {"gantry list bundles {1} --package NAME", "gantry list bundles --catalog {catalog} --package NAME", "gantry list bundles -c {config} --package NAME", "gantry list bundles --version {version} --package NAME"},
		"gantry mirror":        {"gantry verify {1^oci://}"},
		"gantry plan":          {"gantry mirror --plan {lock} {1|docker://MIRROR}", "gantry mirror -c {config} {1|docker://MIRROR}"},
		"gantry plan explain":  {"gantry plan -v -c {config}"}, "gantry plan sbom": nil, "gantry prune": nil,
		"gantry registry doctor": {mirrorConfig, "gantry mirror -c FILE {1}"}, "gantry registry login": {"gantry registry doctor docker://{1}"},
		"gantry registry logout": {"gantry registry login {1}"}, "gantry registry prepare": {mirrorConfig, "gantry mirror --plan {plan} {1}", "gantry mirror --from {from} {1}"},
		"gantry release boot-images": nil, "gantry release credentials": nil, "gantry release graph": nil, "gantry release images": nil,
		"gantry release info": {"gantry release images {1}"}, "gantry release manifests": nil, "gantry release tools": nil,
		"gantry status": {"gantry verify {1}", "gantry verify docker://MIRROR"}, "gantry verify": {fromDisk, "gantry status {1^docker://}"},
	}
}

var place = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([a-z0-9-]+)(?:\^([^|}]*))?(?:\|([^}]*))?\}`) })

// followUp returns the command line that follows a command, or "".
func followUp(cmd *cobra.Command, args []string) string {
	if givenFor(cmd, args, "kubernetes-job") != "" {
		return "kubectl apply -f FILE"
	}
	if cmd.HasParent() && cmd.Parent().Name() == "list" {
		args = slices.DeleteFunc(slices.Clone(args), isWord)
	}
	for _, line := range followUps()[cmd.CommandPath()] {
		filled := true
		line = place().ReplaceAllStringFunc(line, func(text string) string {
			part := place().FindStringSubmatch(text)
			value := givenFor(cmd, args, part[1])
			switch {
			case value != "" && strings.HasPrefix(value, part[2]):
				return view.ShellWord(absolute(value))
			case part[3] != "":
				return part[3]
			}
			filled = false
			return ""
		})
		if filled {
			return line
		}
	}
	return ""
}

// isWord reports whether an argument of gantry list is a word, and no place.
func isWord(arg string) bool {
	var o contents.Options
	sortPlace(&o, arg, true)
	return len(o.Words) > 0
}

// sayNext prints on a terminal what follows the command that ended well.
func (a *app) sayNext() {
	_, terminal := terminalOf(a.stderr)
	if a.ran == nil || !terminal || a.people != nil {
		return
	}
	if line := followUp(a.ran, a.ranArgs); line != "" {
		a.say("Next:\n  %s", line)
	}
}

// givenFor returns an argument, by its number, or the value of a flag that was given; "" if there is none, or several.
func givenFor(cmd *cobra.Command, args []string, name string) string {
	if n, err := strconv.Atoi(name); err == nil {
		if n > len(args) {
			return ""
		}
		return args[n-1]
	}
	flag := cmd.Flag(name)
	if flag == nil || !flag.Changed {
		return ""
	}
	switch all := flag.Value.(type) {
	case *repeated:
		if len(*all) != 1 {
			return ""
		}
	case *archives:
		if len(*all) != 1 {
			return ""
		}
	}
	return flag.Value.String()
}

// absolute returns a path, or the one of file:// or oci://, from the root of the file system. What is no file or folder is
// returned as it is.
func absolute(path string) string {
	for _, scheme := range []string{env.ArchiveScheme, env.LayoutScheme} {
		if rest, ok := strings.CutPrefix(path, scheme); ok {
			if to, err := filepath.Abs(rest); err == nil {
				return scheme + to
			}
		}
	}
	to, err := filepath.Abs(path)
	if _, absent := os.Stat(path); err != nil || absent != nil {
		return path
	}
	return to
}

// absoluteResources names the folders of cluster resources from the root of the file system. files may be nil.
func absoluteResources(files *cluster.ResourceFiles) {
	if files == nil {
		return
	}
	files.Dir = absolute(files.Dir)
	for i := range files.Folders {
		files.Folders[i].Dir = absolute(files.Folders[i].Dir)
	}
}
