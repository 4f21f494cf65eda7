package ocmirror

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// The parts of the help that several commands share.
const (
	helpListOperators = `  oc-mirror list operators
      gantry list operators
  oc-mirror list operators --catalogs --version X.Y
      gantry list operators --catalogs --version X.Y
  oc-mirror list operators --catalog IMAGE [--package NAME [--channel NAME]]
      gantry list operators with the same flags
`
	helpListOthers = `  oc-mirror list releases
      gantry list releases
  oc-mirror list releases --version X.Y [--channels]
      gantry list releases with the same flags
  oc-mirror list releases --channel NAME
      gantry list releases --channel NAME
  oc-mirror list updates FILE
      gantry plan -c FILE
`
	helpDelete = `  oc-mirror delete --generate -c FILE --workspace file://DIR docker://HOST/PREFIX
      gantry delete --generate -c FILE --workspace DIR docker://HOST/PREFIX
  oc-mirror delete --delete-yaml-file FILE docker://HOST/PREFIX
      gantry delete --delete-yaml-file FILE docker://HOST/PREFIX
`
	helpMirror = `  oc-mirror -c FILE file://DIR
      gantry mirror -c FILE file://DIR
  oc-mirror -c FILE --from file://DIR docker://HOST/PREFIX
      gantry mirror --from file://DIR docker://HOST/PREFIX
  oc-mirror -c FILE --workspace file://DIR docker://HOST/PREFIX
      gantry mirror -c FILE --workspace DIR docker://HOST/PREFIX
` + helpListOperators + helpListOthers + `  oc-mirror describe DIR
      gantry archive inspect file://DIR
  oc-mirror init
      gantry config init
  oc-mirror version [--output json|yaml]
      gantry version [-o json|yaml]
` + helpDelete
	helpFlags = "\nFlags, and what they are in Gantry:\n"
)

// TestHelp checks the help of commands: their forms, and the flags that only some commands have.
func TestHelp(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct{ forms, rest string }{
		"--help":      {helpMirror, "\noc-mirror --help --all lists every flag.\n"},
		"help":        {helpMirror, "\noc-mirror --help --all lists every flag.\n"},
		"-v --v2 -h":  {helpMirror, "\noc-mirror --help --all lists every flag.\n"},
		"help --wait": {"", ""},
		"list --help": {helpListOperators + helpListOthers, helpFlags +
			`  --catalogs                           the same
  --catalog TEXT                       the same
  --package TEXT                       the same
  --channel TEXT                       the same
  --channels                           the same
  --version TEXT                       --version; no effect beside --channel or a --catalog with a tag
  --filter-by-archs TEXT               the same

oc-mirror list --help --all lists every flag.
`},
		"list operators --catalogs -h": {helpListOperators, helpFlags +
			`  --catalogs                           the same
  --catalog TEXT                       the same
  --package TEXT                       the same
  --channel TEXT                       the same
  --version TEXT                       --version; no effect beside --channel or a --catalog with a tag

oc-mirror list operators --help --all lists every flag.
`},
		"help delete": {helpDelete, helpFlags +
			`  --generate                           the same
  --delete-yaml-file TEXT              the same
  --delete-id TEXT                     the same
  --force-cache-delete                 no effect: ` + noCacheToDelete + `
  --delete-signatures                  nothing to do: ` + deletedAnyway + `
  --delete-v1-images                   no effect: ` + noV1Images + `

oc-mirror delete --help --all lists every flag.
`},
		"init --help": {"  oc-mirror init\n      gantry config init\n", helpFlags +
			`  --registry TEXT                      no effect: state is kept in the workspace, not in a registry
  --output TEXT                        the same

oc-mirror init --help --all lists every flag.
`},
	} {
		c, err := Translate(strings.Fields(args), testOptions(nil))
		if want.forms == "" {
			if err == nil {
				t.Errorf("oc-mirror %s: an unknown flag is accepted: %s", args, c.Help)
			}
			continue
		}
		fail.On(t, err)
		fail.Diff(t, "Usage, and what it runs:\n"+want.forms+"\n"+helpAbout+want.rest, c.Help)
	}
}

// TestCompleteHelp checks how the complete help describes flags of each kind and effect.
func TestCompleteHelp(t *testing.T) {
	t.Parallel()
	c, err := Translate([]string{"--help", "--all"}, testOptions(nil))
	fail.On(t, err)
	_, rest, _ := strings.Cut(c.Help, helpFlags)
	lines := strings.Split(rest, "\n")
	described := map[string]bool{}
	for _, line := range lines {
		described[line] = true
	}
	for _, want := range []string{
		"  -c, --config TEXT                    the same",
		"  --parallel-batch-images N            --parallel-images",
		"  --retry-delay DURATION               the same",
		"  --source-skip-tls                    --src-tls-verify=false",
		"  -p, --port N                         no effect: the cache needs no registry",
		"  -v, --verbose [N]                    --log-level debug; from 3 on --log-level trace; 0 has no effect",
		"  --dest-creds TEXT                    refused: " + useLogin,
		"  --skip-pruning                       nothing to do: nothing is removed from a mirror",
		"  --dest-oci-accept-uncompressed-layers no effect: " + copiedAsTheyAre,
	} {
		if !described[want] {
			t.Errorf("no line %q in\n%s", want, rest)
		}
	}
	count := 0
	for i := range flags {
		if flags[i].Verbs&Mirror != 0 {
			count++
		}
	}
	if len(lines) != count+1 || strings.Contains(c.Help, "--all lists every flag") {
		t.Errorf("%d lines for %d flags:\n%s", len(lines), count, c.Help)
	}
}

// TestCompletion completes words of command lines.
func TestCompletion(t *testing.T) {
	t.Parallel()
	destinations := func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return []string{"docker://", typed + "..."}, cobra.ShellCompDirectiveNoSpace
	}
	const noFiles = ":4\nCompletion ended with directive: ShellCompDirectiveNoFileComp\n"
	const noSpace = ":2\nCompletion ended with directive: ShellCompDirectiveNoSpace\n"
	for args, want := range map[string]string{
		"li":                  "list\tlist operators, releases or updates\ndocker://\nli...\n" + noSpace,
		"--v2 del":            "delete\tgantry delete --generate -c FILE --workspace DIR docker://HOST/PREFIX\ndocker://\ndel...\n" + noSpace,
		"list ":               "operators\tgantry list operators\nreleases\tgantry list releases\nupdates\tgantry plan -c FILE\n" + noFiles,
		"--dest-sk":           "--dest-skip-tls\t--dest-tls-verify=false\n" + noFiles,
		"delete --gen":        "--generate\tthe same\n" + noFiles,
		"list releases --ver": "--verbose\t--log-level debug; from 3 on --log-level trace; 0 has no effect\n--version\t--version; no effect beside --channel or a --catalog with a tag\n" + noFiles,
		"describe --co":       "--config\tthe same\n" + noFiles,
		"--from fi":           "docker://\nfi...\n" + noSpace,
		"-c x doc":            "docker://\ndoc...\n" + noSpace,
	} {
		var b strings.Builder
		root := Completion("oc-mirror", destinations)
		root.SetOut(&b)
		root.SetErr(&b)
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, strings.Split(args, " ")...))
		if err := root.Execute(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		fail.Diff(t, want, b.String())
	}
	for shell, want := range map[string]string{"bash": "__start_oc-mirror", "zsh --v2": "#compdef oc-mirror", "fish": "complete -c oc-mirror"} {
		var b strings.Builder
		root := Completion("oc-mirror", destinations)
		root.SetOut(&b)
		root.SetArgs(append([]string{"completion"}, strings.Fields(shell)...))
		if err := root.Execute(); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %v, a script of %d bytes without %q", shell, err, b.Len(), want)
		}
	}
}

// TestIsCompletion checks which command lines complete, wherever the version is.
func TestIsCompletion(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"completion bash": true, "--v2 completion zsh": true, "__complete --v2 li": true, "--v1 __completeNoDesc x": true,
		"": false, "--v2": false, "list completion": false, "-c completion": false, "mirror": false,
	} {
		if got := IsCompletion(strings.Fields(args)); got != want {
			t.Errorf("oc-mirror %s: %v", args, got)
		}
	}
}
