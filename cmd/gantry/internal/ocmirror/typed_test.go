package ocmirror

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

const updatesNote = " | list updates is gantry plan: it shows what the configuration selects now; with a destination, gantry plan -c FILE DESTINATION also shows what is missing there"

// TestTyped checks the command that a person would type, which has no folders and defaults of oc mirror.
func TestTyped(t *testing.T) {
	t.Parallel()
	const noLine = "refused: this is no command line of oc mirror; run gantry --help"
	o := testOptions(map[string]string{cacheVariable: "v"})
	o.Name, o.Typed = "gantry", true
	for args, want := range map[string]string{
		"-c a.yaml file://d":                           "mirror -c a.yaml file://d",
		"-c a.yaml --workspace file://w docker://r/x":  "mirror -c a.yaml --workspace file://w docker://r/x",
		"--dir w -c a.yaml file://d":                   "mirror -c a.yaml --workspace w file://d",
		"--from d docker://r/x":                        "mirror --from file://d docker://r/x | --from d is read as file://d",
		"-c a --dest-use-http --skip-missing file://d": "mirror -c a --dest-plain-http --on-error continue file://d",
		"list updates a.yaml":                          "plan -c a.yaml" + updatesNote,
		"list releases --version 4.20.3":               "list releases --version 4.20",
		"describe d":                                   "archive inspect file://d",
		"delete --generate -c d.yaml docker://r/x":     "delete --generate -c d.yaml docker://r/x",
		"--dest-username u -c a.yaml docker://r/x":     "refused: the flag --dest-username of oc mirror is not supported; use gantry registry login: other users of this machine can see command lines",
		"-c a.yaml":                   noLine,
		"-c a.yaml file://a file://b": noLine,
		"list releases 4.20 x":        noLine,
		"":                            noLine,
		"--oci-feature-action copy -c a.yaml docker://": "refused: --oci-feature-action copy is not supported; write a layout with -c FILE oci://DIR",
	} {
		if got := result(args, o); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// TestFolders checks where each command has its workspace and its cache: what oc mirror keeps in working-dir, or
// what the variable names.
func TestFolders(t *testing.T) {
	t.Parallel()
	o := testOptions(map[string]string{cacheVariable: "v"})
	for args, want := range map[string]string{
		"file://d/":                              "mirror --workspace d/working-dir --cache-dir v --layout oc-mirror file://d/",
		"docker://r/x":                           "mirror --workspace oc-mirror-workspace/working-dir --cache-dir v --layout oc-mirror docker://r/x",
		"--from file://./d/working-dir docker:x": "mirror --from file://./d/working-dir --workspace d/working-dir --cache-dir v --layout oc-mirror docker:x",
		"-w file:///w/ --from file://d docker:x": "mirror --from file://d --workspace /w/working-dir --cache-dir v --layout oc-mirror docker:x",
		"-w a -d b file://d":                     "mirror --workspace a/working-dir --cache-dir v --layout oc-mirror file://d",
		"list operators":                         "list operators --cache-dir v",
		"list operators -w file://w":             "list operators --workspace w/working-dir --cache-dir v",
		"list updates a.yaml":                    "plan -c a.yaml --workspace oc-mirror-workspace/working-dir --cache-dir v" + updatesNote,
		"list updates -d w a.yaml":               "plan -c a.yaml --workspace w/working-dir --cache-dir v" + updatesNote,
		"list releases -w w":                     "list releases | --workspace has no effect: list releases does not need it",
		"delete --generate -c d docker://r/x":    "delete --generate -c d --workspace oc-mirror-workspace/working-dir --cache-dir v docker://r/x",
		"delete --delete-yaml-file f -c d docker://r/x": "delete --delete-yaml-file f --workspace oc-mirror-workspace/working-dir --cache-dir v docker://r/x" +
			" | --config has no effect: only what the list has is deleted",
		"describe d -w w":            "archive inspect file://d | --workspace has no effect: describe does not need it",
		"describe mirror_seq1_0.tar": "refused: mirror_seq1_0.tar is an archive of oc mirror version 1, which Gantry cannot read; write a new one with -c FILE file://DIR and read that; content that the mirror already has is not copied again",
		"init --workspace w":         "config init | --workspace has no effect: init does not need it",
	} {
		if got := result(args, o); got != want {
			t.Errorf("oc-mirror %s: %s, want %s", args, got, want)
		}
	}
}

// TestVersion checks the texts of version, which scripts cut.
func TestVersion(t *testing.T) {
	t.Parallel()
	const long = `Client Version: version.Info{Major:"", Minor:"", GitVersion:"4.22.0-gantry-v1.2.3", GitCommit:"", GitTreeState:"", BuildDate:"", GoVersion:"-", Compiler:"gc", Platform:"-"}` + "\n"
	builds := regexp.MustCompile(`(GoVersion|Platform):"[^"]+"`)
	o := testOptions(nil)
	o.Version = "v1.2.3"
	for args, want := range map[string]string{
		"version":                     long,
		"version --short=false --v2":  long,
		"version --short":             "Client Version: 4.22.0-gantry-v1.2.3\n",
		"--version":                   "oc-mirror version 4.22.0-gantry-v1.2.3\n",
		"--v2 -v":                     "oc-mirror version 4.22.0-gantry-v1.2.3\n",
		"--v2 --version --verbose":    "oc-mirror version 4.22.0-gantry-v1.2.3\n",
		"--v2":                        "",
		"-v -c a.yaml file://d":       "",
		"--version=false file://d":    "",
		"list releases --version 4.2": "",
	} {
		c, err := Translate(strings.Fields(args), o)
		fail.On(t, err)
		fail.Diff(t, want, builds.ReplaceAllString(c.Version, `$1:"-"`))
	}
}

// TestInstead checks what to do in place of giving a flag of oc mirror to a command of Gantry. "" means that other
// commands have it.
func TestInstead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"manifests-only": "use --resources-only", "loglevel": "use --log-level", "source-skip-tls": "use --src-tls-verify=false",
		"dir": "use --workspace", "verbose": "use --log-level", "tls-verify": "use --src-tls-verify or --dest-tls-verify",
		"oci-registries-config": "set $CONTAINERS_REGISTRIES_CONF", "max-per-registry": "use --parallel-images and --parallel-layers",
		"dest-creds": useLogin, "force": "leave it out: content that is already present is checked, and only the rest is copied",
		"skip-pruning": "leave it out: nothing is removed from a mirror", "use-oci-feature": "leave it out: " + ociCatalogs,
		"ignore-history": "use --base none for an archive; the content of a registry is always checked", "version": "run gantry version",
		"skip-missing": goesOn, "policy": policyHint, "config": "", "quiet": "", "delete-id": "", "filter-by-archs": "", "workspace": "",
	} {
		f, ok := Lookup(name)
		if got := f.Instead(); !ok || got != want {
			t.Errorf("--%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"", "c", "v", "base", "no-such-flag"} {
		if f, ok := Lookup(name); ok {
			t.Errorf("%q is the flag --%s", name, f.Name)
		}
	}
}

// FuzzTranslate checks that what was translated is translated to itself: flags keep their meaning, and folders
// are not nested. Refusals are errors of the user.
func FuzzTranslate(f *testing.F) {
	text, err := os.ReadFile("testdata/commands.tsv")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		args, _, _ := strings.Cut(line, "\t")
		f.Add(args)
	}
	f.Add("-fqca.yaml --since 3 --strict-archive --tls-verify=false -v3 file://d")
	f.Add("--dir w --max-per-registry 300 --manifests-only --source-skip-tls -- docker://r.example.com")
	f.Fuzz(func(t *testing.T, line string) {
		first, err := Translate(strings.Fields(line), testOptions(nil))
		if err != nil {
			if advice.KindOf(err) != advice.Input {
				t.Errorf("%q: %v", line, err)
			}
			return
		}
		if len(first.Args) == 0 || first.Args[0] != "mirror" || slices.Contains(first.Args, "--") {
			return
		}
		second, err := Translate(first.Args[1:], testOptions(nil))
		fail.On(t, err)
		if slices.Contains(strings.Fields(line), "--") && second.Args[0] != first.Args[0] {
			return // the destination has the name of a command
		}
		got, want := slices.Sorted(slices.Values(second.Args)), slices.Sorted(slices.Values(first.Args))
		fail.Diff(t, want, got)
		for _, note := range second.Notes {
			t.Errorf("%q becomes %q, which has the note %s", line, first.Args, note)
		}
	})
}
