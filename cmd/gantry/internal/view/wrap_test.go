package view

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestWrap wraps sentences between words, and leaves whole what people copy.
func TestWrap(t *testing.T) {
	t.Parallel()
	const long = "https://mirror.example.com:5000/a/path/that/is/longer/than/the/screen/is/wide/index.html"
	for text, want := range map[string]string{
		"short\n":   "short\n",
		"no end":    "no end",
		long + "\n": long + "\n",
		"  oc apply -k /home/user/a/gantry-workspace/cluster-resources/of/a/long/path\n": "  oc apply -k /home/user/a/gantry-workspace/cluster-resources/of/a/long/path\n",
		"gantry: the mirror refused the password for user \"ci\"; run gantry registry login mirror.example.com:5000\n": `gantry: the mirror refused the password for user
  "ci"; run
  gantry registry login mirror.example.com:5000
`,
		"    package x: a note that is too long for one line of this screen\n\n": `    package x: a note that is too long for one
      line of this screen

`,
		"one two three four five six seven eight nine " + long + " ten":             "one two three four five six seven eight nine\n  " + long + "\n  ten",
		"name one  becomes another name:v1  with a size of 100.0 MiB":               "name one  becomes another name:v1  with a size of\n  100.0 MiB",
		"gantry prune deletes what is no longer needed by any cluster there":        "gantry prune deletes what is no longer needed by\n  any cluster there",
		"Run gantry prune, which deletes what is no longer needed by any cluster":   "Run gantry prune, which deletes what is no longer\n  needed by any cluster",
		"apply them now with this: oc apply -k 'my workspace/cluster-resources'; x": "apply them now with this:\n  oc apply -k 'my workspace/cluster-resources'; x",
		"set the key of the signer with --verify-key KEY.pub or --allowed-signers":  "set the key of the signer with\n  --verify-key KEY.pub or --allowed-signers",
	} {
		fail.Diff(t, want, Wrap(text, 50))
		fail.Diff(t, text, Wrap(text, 0))
		for width := range 100 {
			if got := Wrap(text, width); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
				t.Errorf("at %d columns, %q is %q", width, text, got)
			}
		}
	}
	for line := range strings.Lines(Wrap(strings.Repeat("größe ", 100), 60)) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 60 || n < 40 && !strings.HasSuffix(line, " ") {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
}
