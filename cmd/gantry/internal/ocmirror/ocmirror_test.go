package ocmirror

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// ownFlags returns flags as Gantry's commands have them.
func ownFlags(command string) *pflag.FlagSet {
	f := pflag.NewFlagSet(command, pflag.ContinueOnError)
	for name := range strings.FieldsSeq("log-level authfile src-authfile src-cert-dir retry-times retry-delay parallel-images parallel-layers workspace cache-dir config catalog package channel version filter-by-archs on-error release-key since from max-nested-paths name layout") {
		f.String(name, "", "")
	}
	for name := range strings.FieldsSeq("src-tls-verify src-plain-http full catalogs channels dry-run") {
		f.Bool(name, false, "")
	}
	f.StringP("output", "o", "", "")
	f.BoolP("quiet", "q", false, "")
	if command == "delete" {
		f.Bool("generate", false, "")
		f.String("delete-id", "", "")
		f.String("delete-yaml-file", "", "")
	}
	if command == "mirror" {
		for name := range strings.FieldsSeq("dest-tls-verify dest-plain-http strict-archive remove-signatures ignore-release-signature resources-only check-blobs") {
			f.Bool(name, false, "")
		}
		for name := range strings.FieldsSeq("dest-authfile dest-cert-dir") {
			f.String(name, "", "")
		}
	}
	return f
}

func testOptions(env map[string]string) Options {
	return Options{
		Name: "oc-mirror", Flags: ownFlags,
		Getenv: func(name string) string { return env[name] },
	}
}

// result returns a translation as one text: the command line, its environment and notes, or the error.
func result(args string, o Options) string {
	c, err := Translate(strings.Fields(args), o)
	if err != nil {
		if advice.KindOf(err) != advice.Input {
			return "no usage error: " + err.Error()
		}
		return "refused: " + advice.Text(err)
	}
	if c.Help != "" {
		return "help"
	}
	text := strings.Join(c.Args, " ")
	for name, value := range c.Env {
		text = name + "=" + value + " " + text
	}
	return strings.Join(append([]string{text}, c.Notes...), " | ")
}

// update is the environment variable that makes the tests write what they compare.
const update = "GANTRY_TEST_UPDATE_SCRIPTS"

// TestCommands translates the command lines that people run.
func TestCommands(t *testing.T) {
	t.Parallel()
	const file = "testdata/commands.tsv"
	text, err := os.ReadFile(file)
	fail.On(t, err)
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		args, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
			got.WriteString(line)
		case IsCompletion(strings.Fields(args)):
			got.WriteString(args + "\tcompletion\n")
		default:
			got.WriteString(args + "\t" + result(args, testOptions(nil)) + "\n")
		}
	}
	compare(t, file, string(text), got.String())
}

// compare compares the content of a file with what it should be.
func compare(t *testing.T, file, have, want string) {
	t.Helper()
	diff := cmp.Diff(want, have)
	if diff == "" {
		return
	}
	if os.Getenv(update) == "" {
		t.Errorf("%s (-want +have; $%s=1 writes it): %s", file, update, diff)
	} else if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Error(err)
	}
}

// TestDocumentation checks that the tables of the documentation are those of the code.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	const docs = "../../../../docs/"
	for _, part := range []struct{ file, name, table string }{
		{docs + "10-oc-mirror.md", "commands", formTable()},
		{docs + "reference/oc-mirror.md", "flags", flagTable()},
	} {
		text, err := os.ReadFile(part.file)
		fail.On(t, err)
		begin, end := "<!-- "+part.name+" -->\n", "<!-- end of "+part.name+" -->"
		before, rest, ok := strings.Cut(string(text), begin)
		_, after, ends := strings.Cut(rest, end)
		if !ok || !ends {
			t.Fatalf("%s has no place for the table of %s", part.file, part.name)
		}
		compare(t, part.file, string(text), before+begin+part.table+end+after)
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	const m2m = " docker://r.example.com/x"
	for args, want := range map[string]string{
		// Any order and form.
		"file://d --v2 -c=a.yaml":                              "mirror -c a.yaml --workspace d/working-dir file://d",
		"-ca.yaml -q file://d":                                 "mirror -c a.yaml --quiet --workspace d/working-dir file://d",
		"-fqca.yaml file://d":                                  "mirror --quiet -c a.yaml --workspace d/working-dir file://d | --force has no effect: content that is already present is checked, and only the rest is copied",
		"-c a.yaml -- file://d":                                "mirror -c a.yaml --workspace d/working-dir file://d",
		"-c a.yaml -- -q":                                      "mirror -c a.yaml --workspace oc-mirror-workspace/working-dir -- -q",
		"--force=false -c a.yaml file://d":                     "mirror -c a.yaml --workspace d/working-dir file://d",
		"-c a.yaml -w file://w/working-dir" + m2m:              "mirror -c a.yaml --workspace w/working-dir docker://r.example.com/x",
		"-c a.yaml -d w" + m2m:                                 "mirror -c a.yaml --workspace w/working-dir docker://r.example.com/x",
		"-c a.yaml file://":                                    "mirror -c a.yaml --workspace working-dir file://",
		"-c a.yaml --from file://d" + m2m:                      "mirror -c a.yaml --from file://d --workspace d/working-dir docker://r.example.com/x",
		"-c a.yaml --from file://d --workspace file://w" + m2m: "mirror -c a.yaml --from file://d --workspace w/working-dir docker://r.example.com/x",
		"--from d/mirror_000001.tar" + m2m:                     "refused: d/mirror_000001.tar is a file, not the folder of an archive; name its folder as file://DIR",
		// Levels of the log.
		"-v -c a.yaml file://d":                  "mirror --log-level debug -c a.yaml --workspace d/working-dir file://d",
		"-v3 -c a.yaml file://d":                 "mirror --log-level trace -c a.yaml --workspace d/working-dir file://d",
		"-v=2 -c a.yaml file://d":                "mirror --log-level debug -c a.yaml --workspace d/working-dir file://d",
		"-c a.yaml file://d -v 0":                "mirror -c a.yaml --workspace d/working-dir file://d",
		"-c a.yaml file://d --verbose=x":         `refused: --verbose "x"; give a number from 0 to 9`,
		"--loglevel=debug -v -c a.yaml file://d": "mirror --log-level debug -c a.yaml --workspace d/working-dir file://d | --verbose has no effect: --log-level is given",
		// What depends on the destination.
		"-c a.yaml --since 2026-01-02" + m2m:      "mirror -c a.yaml --workspace oc-mirror-workspace/working-dir docker://r.example.com/x | --since has no effect: it is for file:// destinations",
		"-c a.yaml --since 2" + m2m:               "mirror -c a.yaml --workspace oc-mirror-workspace/working-dir docker://r.example.com/x | --since has no effect: it is for file:// destinations",
		"-c a.yaml --since 2026-02-30" + m2m:      `refused: --since "2026-02-30" is not a date; use a date such as 2026-10-01, or leave it out: it is for file:// destinations`,
		"--from file://d --since 1.10.2026" + m2m: `refused: --since "1.10.2026" is not a date; use a date such as 2026-10-01, or leave it out: it is for file:// destinations`,
		"-c a.yaml --strict-archive" + m2m:        "mirror -c a.yaml --workspace oc-mirror-workspace/working-dir docker://r.example.com/x | --strict-archive has no effect: it is for file:// destinations",
		"-c a.yaml --strict-archive file://d":     "mirror -c a.yaml --strict-archive --workspace d/working-dir file://d",
		"-c a.yaml --max-nested-paths 2 file://d": "mirror -c a.yaml --workspace d/working-dir file://d | --max-nested-paths has no effect: it is for docker:// destinations",
		"-c a.yaml --ignore-history file://d":     "mirror -c a.yaml --full --workspace d/working-dir file://d",
		"-c a.yaml --ignore-history" + m2m:        "mirror -c a.yaml --workspace oc-mirror-workspace/working-dir docker://r.example.com/x | --ignore-history has no effect: the content of the mirror is always checked",
		// Errors.
		"--continue-on-error=false -c a.yaml file://d": "mirror --on-error stop -c a.yaml --workspace d/working-dir file://d",
		"--skip-missing -c a.yaml file://d":            "mirror --on-error continue -c a.yaml --workspace d/working-dir file://d",
		// Dry runs.
		"--dry-run --dry-run-manifest-lists -c a.yaml file://d": "mirror --dry-run -c a.yaml --workspace d/working-dir file://d | --dry-run-manifest-lists is --dry-run: gantry plan --lock FILE lists every manifest",
		"--dry-run-manifest-lists -c a.yaml file://d":           "mirror --dry-run -c a.yaml --workspace d/working-dir file://d | --dry-run-manifest-lists is --dry-run: gantry plan --lock FILE lists every manifest",
		// Registries.
		"--dest-skip-tls --source-skip-tls=false -c a.yaml" + m2m: "mirror --dest-tls-verify=false --src-tls-verify -c a.yaml --workspace oc-mirror-workspace/working-dir docker://r.example.com/x",
		"--tls-verify=false -c a.yaml" + m2m:                      "mirror --src-tls-verify=false --dest-tls-verify=false -c a.yaml --workspace oc-mirror-workspace/working-dir docker://r.example.com/x",
		"--max-per-registry 3 -c a.yaml file://d":                 "mirror --parallel-images 3 --parallel-layers 1 -c a.yaml --workspace d/working-dir file://d",
		"--max-parallel-downloads 300 -c a.yaml file://d":         "mirror --parallel-images 100 --parallel-layers 1 -c a.yaml --workspace d/working-dir file://d",
		"--max-per-registry 3 --parallel-layers 2 file://d":       "mirror --parallel-layers 2 --workspace d/working-dir file://d | --max-per-registry has no effect: --parallel-layers is given",
		"--oci-registries-config r.conf -c a.yaml file://d":       "CONTAINERS_REGISTRIES_CONF=r.conf mirror -c a.yaml --workspace d/working-dir file://d | --oci-registries-config: r.conf is read as registries.conf, for all registries",
		"--dest-creds a:b -c a.yaml" + m2m:                        "refused: the flag --dest-creds of oc mirror is not supported; use gantry registry login: other users of this machine can see command lines",
		// Signatures of images.
		"--secure-policy --policy p.json --registries.d r file://d": "mirror --policy p.json --registries.d r --workspace d/working-dir file://d",
		"--secure-policy file://d":                                  "mirror --secure-policy --workspace d/working-dir file://d",
		"--enable-operator-secure-policy file://d":                  "mirror --secure-policy --workspace d/working-dir file://d",
		"--secure-policy=false --policy p.json file://d":            "mirror --workspace d/working-dir file://d | --policy has no effect: only --secure-policy verifies signatures",
		"--registries.d r file://d":                                 "mirror --workspace d/working-dir file://d | --registries.d has no effect: only --secure-policy verifies signatures",
		"--secure-policy --policy p.json --from file://d" + m2m:     "mirror --from file://d --workspace d/working-dir docker://r.example.com/x | --secure-policy has no effect: oc mirror verifies signatures where images are read from registries, not with --from; gantry mirror --from --policy FILE does",
		// Flags of Gantry.
		"-c a.yaml --name x --check-blobs --resources-only=false -o json file://d": "mirror -c a.yaml --name x --check-blobs --resources-only=false -o json --workspace d/working-dir file://d",
		"-c a.yaml --name":            "refused: --name has no value; give it a value, or leave it out",
		"-c":                          "refused: -c has no value; give it a value, or leave it out",
		"-c a.yaml --dry-rn file://d": `refused: unknown flag: --dry-rn; did you mean "--dry-run"?; run oc-mirror --help`,
		"-c a.yaml -X file://d":       "refused: unknown flag: -X; run oc-mirror --help",
		"--all":                       "refused: --all is for --help; run oc-mirror --help --all",
		"--port x file://d":           `refused: --port "x"; give a number`,
		"--image-timeout 5 file://d":  `refused: --image-timeout "5"; give a duration, such as 20s or 10m`,
		// Deleting.
		"delete --generat --v2": `refused: unknown flag: --generat; did you mean "--generate"?; run oc-mirror --help`,
		"--generate file://d":   "refused: --generate is a flag of delete; leave it out",
		// Lists.
		"list":                               "refused: nothing to list; write list operators, list releases or list updates",
		"list things":                        `refused: unknown command "list things"; write list operators, list releases or list updates`,
		"list --v2 operators --version 4.20": "list operators --version 4.20 --catalogs",
		"list operators --catalogs --version=4.20 --src-tls-verify=false -a auth.json":   "list operators --catalogs --version 4.20 --src-tls-verify=false --authfile auth.json",
		"list operators --catalog quay.io/a/b --version 4.20":                            "list operators --catalog quay.io/a/b --version 4.20",
		"list operators --catalog quay.io/a/b:v1 --workspace w":                          "list operators --catalog quay.io/a/b:v1 --workspace w/working-dir",
		"list operators --catalog quay.io/a/b:v1 --dest-tls-verify=false -c x":           "list operators --catalog quay.io/a/b:v1 | --dest-tls-verify has no effect: list operators does not need it | --config has no effect: list operators does not need it",
		"list releases --version 4.18.3":                                                 "list releases --version 4.18",
		"list releases --channel fast-4.13 --version=4.13 --filter-by-archs amd64,arm64": "list releases --channel fast-4.13 --filter-by-archs amd64,arm64 | --version has no effect: --channel fast-4.13 is given",
		"list releases --channels --version 4.13 --channel fast-4.13":                    "list releases --channels --version 4.13 | --channel has no effect: --channels lists all channels of --version",
		"list updates":                   "refused: list updates needs one configuration; write list updates FILE",
		"list releases --strict-archive": "refused: --strict-archive is a flag of mirroring; leave it out",
		"--strict-archive list releases": "refused: --strict-archive is a flag of mirroring; leave it out",
		// Other commands.
		"describe d":                       "archive inspect file://d",
		"describe file://d":                "archive inspect file://d",
		"describe d/gantry-000001-001.tar": "archive inspect file://d",
		"describe":                         "refused: describe needs one archive; write describe DIR, with the folder of an archive",
		"init --output json":               "config init --output json",
		"-v":                               "version",
		"--v2 --version":                   "version",
		"version --short --v2 -v":          "version --log-level debug",
		"help":                             "help",
		"help list":                        "help",
		"list releases -h":                 "help",
		"delete --help --all":              "help",
	} {
		got := strings.Replace(result(args, testOptions(map[string]string{"HOME": "/home/me"})), " --layout oc-mirror", "", 1)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("oc-mirror %s: %s", args, diff)
		}
	}
}

// TestCacheVariable checks that the variable names the cache, and that it is refused together with the flag, as oc mirror
// does for every command.
func TestCacheVariable(t *testing.T) {
	t.Parallel()
	const refused = "refused: --cache-dir cannot be combined with $OC_MIRROR_CACHE, as in oc mirror; use one of the two: unset OC_MIRROR_CACHE, or leave --cache-dir out"
	o := testOptions(map[string]string{cacheVariable: "v"})
	for args, want := range map[string]string{
		"-c a.yaml file://d":                 "mirror -c a.yaml --workspace d/working-dir --cache-dir v --layout oc-mirror file://d",
		"-c a.yaml --cache-dir= file://d":    "mirror -c a.yaml --workspace d/working-dir --cache-dir v --layout oc-mirror file://d",
		"-c a.yaml --cache-dir c file://d":   refused,
		"-c a.yaml --cache-dir v file://d":   refused,
		"--cache-dir c list operators":       refused,
		"--cache-dir c list releases":        refused,
		"delete --generate --cache-dir c -c": "refused: -c has no value; give it a value, or leave it out",
		"delete --generate --cache-dir c":    refused,
		"version --cache-dir c":              refused,
	} {
		if diff := cmp.Diff(want, result(args, o)); diff != "" {
			t.Errorf("oc-mirror %s: %s", args, diff)
		}
	}
	const only = "mirror -c a.yaml --workspace d/working-dir --cache-dir c --layout oc-mirror file://d"
	if got := result("-c a.yaml --cache-dir c file://d", testOptions(nil)); got != only {
		t.Errorf("without the variable: %s", got)
	}
}

// samples are values of flags, by the kind that they take.
var samples = map[Kind][]string{Text: {"x"}, Bool: {"true", "false"}, Int: {"3"}, Duration: {"5s"}, Level: {"2"}}

// TestEveryFlag checks that each flag changes the command line that runs, is answered with a note that
// names it, or is refused, in every command that has it.
func TestEveryFlag(t *testing.T) {
	t.Parallel()
	arguments := map[Verb]string{Mirror: "docker://r.example.com/x", ListUpdates: "a.yaml", Describe: "d", Delete: "--generate docker://r.example.com/x"}
	for i := range flags {
		f := &flags[i]
		for _, known := range verbs {
			if f.Verbs&known.verb == 0 {
				continue
			}
			base := strings.TrimSpace(known.words + " " + arguments[known.verb])
			if f.Name == "generate" {
				base = known.words
			}
			for _, value := range samples[f.Takes] {
				name := "--" + f.Name
				got := result(base+" "+name+"="+value, testOptions(nil))
				plain := result(base, testOptions(nil))
				switch {
				case f.Effect == Honored, strings.HasPrefix(got, "refused: nothing was deleted"):
					continue
				case got != plain && (f.Effect == Ignored || f.Effect == Refused) && !strings.Contains(got, name):
					t.Errorf("oc-mirror %s %s=%s: %q does not name the flag", base, name, value, got)
				case got == plain && value != "false" && f.Name != "rebuild-catalogs":
					t.Errorf("oc-mirror %s %s=%s has no effect and no note: %s", base, name, value, got)
				}
				if f.Effect == Ignored && value != "false" && !strings.Contains(got, name+" has no effect: "+f.Text) {
					t.Errorf("oc-mirror %s %s=%s: %q, want the note", base, name, value, got)
				}
			}
		}
		if f.Instead() == "" && f.Effect != Same && f.Effect != Special {
			t.Errorf("--%s: nothing to do in its place", f.Name)
		}
	}
}

// TestUniqueFlags checks that no command has two flags of one name or letter.
func TestUniqueFlags(t *testing.T) {
	t.Parallel()
	for _, known := range verbs {
		seen := map[string]bool{}
		for _, f := range flags {
			if f.Verbs&known.verb == 0 {
				continue
			}
			for _, name := range []string{f.Name, f.Short} {
				if name != "" && seen[name] {
					t.Errorf("%q has two flags %s", known.words, name)
				}
				seen[name] = true
			}
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]bool{
		"oc-mirror": true, "/usr/local/bin/oc-mirror": true, "kubectl-mirror": true, "oc-mirror.exe": true, "./kubectl-mirror.EXE": true,
		"gantry": false, "gantry.exe": false, "": false, "oc-mirror2": false, "mirror": false,
	} {
		if name, ok := Name(program); ok != want {
			t.Errorf("%s: %q, %v", program, name, ok)
		}
	}
}

// TestLayout checks that files have the names of oc mirror, unless another layout is given.
func TestLayout(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"file://d":                 "mirror --workspace d/working-dir --layout oc-mirror file://d",
		"--layout gantry file://d": "mirror --layout gantry --workspace d/working-dir file://d",
		"--layout=gantry file://d": "mirror --layout=gantry --workspace d/working-dir file://d",
	} {
		if got := result(args, testOptions(nil)); got != want {
			t.Errorf("oc-mirror %s: %s, want %s", args, got, want)
		}
	}
	o := testOptions(nil)
	o.Typed = true
	if got := result("-c a.yaml --workspace file://w docker://r.example.com", o); got != "mirror -c a.yaml --workspace file://w docker://r.example.com" {
		t.Errorf("typed: %s", got)
	}
}
