package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

const messagesDoc = "../../docs/reference/messages.md"

// messageFiles are the files that the command lines of docs/reference/messages.md name.
var messageFiles = map[string]string{
	"app.yaml":      "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n  - name: 127.0.0.1:1/org/app:v1\n",
	"platform.yaml": "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  platform:\n    channels:\n    - name: Stable 4.20\n",
	"typo.yaml":     "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  aditionalImages: []\n",
	"range.yaml": "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  operators:\n  - catalog: quay.io/org/index:v1\n    packages:\n" +
		"    - name: kite\n      minVersion: 2.0.0\n      maxVersion: 1.0.0\n",
	"old.yaml":         "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v1alpha3\n",
	"tab.yaml":         "kind: ImageSetConfiguration\n\tapiVersion: x\n",
	"empty.yaml":       "",
	"configmap.yaml":   "kind: ConfigMap\napiVersion: v1\n",
	"text.json":        "no JSON",
	"object.json":      "{}",
	"settings.yaml":    "retry-tmes: 3\n",
	"folder/empty.txt": "",
}

// leaked are words of libraries and of Go, which mean nothing to people.
var leaked = regexp.MustCompile(`strconv\.|accepts \d|invalid syntax|jsontext|: json: |unmarshal|\(yaml: |\bEOF\b|%!|<nil>|goroutine|exec: "|Options\.`)

// remedied are messages that say what to do.
var remedied = regexp.MustCompile(`(?s); .|\n.|exclude each other`)

// TestMessages runs the command lines in docs/reference/messages.md, each of which is wrong, and compares what is said.
// Every message says what is wrong and then what to do, in no library's words.
func TestMessages(t *testing.T) {
	doc, err := os.ReadFile(messagesDoc)
	fail.On(t, err)
	where, err := filepath.Abs(messagesDoc)
	fail.On(t, err)
	dir := t.TempDir()
	fail.On(t, os.MkdirAll(filepath.Join(dir, "folder"), 0o700))
	for name, text := range messageFiles {
		fail.On(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	fail.On(t, os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")))
	t.Chdir(dir)
	var want bytes.Buffer
	n := 0
	wrong, faults, _ := strings.Cut(string(doc), faultsTitle)
	for line := range strings.Lines(wrong) {
		command, isCommand := strings.CutPrefix(line, "$ gantry ")
		if !isCommand {
			if !strings.HasPrefix(line, "gantry: ") && !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "see: ") {
				want.WriteString(line)
			}
			continue
		}
		n++
		o := runGantry(t, "", append([]string{"-q", "--log-level", "error"}, strings.Fields(command)...)...)
		said := o.stderr
		if o.stdout != "" || o.code == exitOK {
			t.Errorf("gantry %s ended with %d and printed %s", strings.TrimSpace(command), o.code, o.stdout)
		}
		if word := leaked.FindString(said); word != "" || !strings.HasPrefix(said, "gantry: ") || !remedied.MatchString(said) {
			t.Errorf("gantry %s: %q does not say what to do, or has the words %q of a library", strings.TrimSpace(command), said, word)
		}
		fmt.Fprintf(&want, "%s%s", line, said)
	}
	if n < 60 {
		t.Errorf("the page has %d command lines", n)
	}
	for _, c := range runnable((&app{}).command(everyVerb), nil) {
		if !strings.Contains(wrong, "$ "+c.CommandPath()+" ") && !strings.Contains(wrong, "$ "+c.CommandPath()+"\n") {
			t.Errorf("no failure of %s is listed", c.CommandPath())
		}
	}
	want.WriteString(faultsTitle + faults)
	if os.Getenv(updateScripts) != "" {
		fail.On(t, os.WriteFile(where, want.Bytes(), 0o644))
		return
	}
	fail.Diff(t, want.String(), string(doc))
}
