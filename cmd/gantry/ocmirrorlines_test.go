package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// fooCatalog is a catalog with a package foo.
const fooCatalog = `{"schema":"olm.package","name":"foo","defaultChannel":"stable"}
{"schema":"olm.channel","package":"foo","name":"stable","entries":[{"name":"foo.v1.0.0"}]}
{"schema":"olm.bundle","package":"foo","name":"foo.v1.0.0","image":"quay.io/org/foo@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.0.0"}}]}
`

// ocMirrorFixture returns a fixture for the command lines that people run: its mirror has a catalog, its
// source the catalogs that OpenShift configures, and its update service the small releases.
func ocMirrorFixture(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t, registrytest.Options{})
	_, service := releasetest.Serve(t, releasetest.Small(), registrytest.Options{})
	w.env[updates.UpdateURLVariable] = service.URL() + releasetest.GraphPath
	w.write("registries.conf", w.read("registries.conf")+fmt.Sprintf("\n\n[[registry]]\nprefix = \"registry.redhat.io\"\nlocation = %q\ninsecure = true\n", w.source.Host+"/registry.redhat.io"))
	fail.On(t, os.Mkdir(w.path("catalog"), 0o755))
	w.write("catalog/catalog.json", fooCatalog)
	w.must("catalog", "build", w.path("catalog"), w.docker("/redhat/my-index:v4.20"))
	w.must("catalog", "build", w.path("catalog"), "docker://"+w.source.Host+"/registry.redhat.io/redhat/redhat-operator-index:v4.20")
	w.config("isc.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	w.must("mirror", "-c", w.path("isc.yaml"), "file://"+w.path("D"))
	w.write("disc.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete:\n  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	fail.On(t, os.Mkdir(w.path("w"), 0o755))
	w.write("w/delete-images.yaml", "apiVersion: mirror.openshift.io/v2alpha1\nitems:\n- imageName: docker://images.example.net/tools/netcheck:1.4\n  imageReference: "+w.docker("/x/tools/netcheck:1.4")+"\n  type: generic\nkind: DeleteImageList\n")
	w.write("auth.json", `{"auths":{}}`)
	return w
}

// folder returns a new folder with the files that the command lines name.
func (w *fixture) folder() string {
	w.t.Helper()
	dir := registrytest.TempDir(w.t)
	for from, to := range map[string]string{"isc.yaml": "isc.yaml", "disc.yaml": "disc.yaml", "auth.json": "auth.json", "D": "D", "w": "w"} {
		fail.On(w.t, os.Symlink(w.path(from), filepath.Join(dir, to)))
	}
	fail.On(w.t, os.Symlink(w.path("isc.yaml"), filepath.Join(dir, "imageset-config-save.yaml")))
	return dir
}

// versionShown matches what differs between builds in the line of the version.
var versionShown = regexp.MustCompile(`GitVersion:.*`)

// logLine matches the lines of oc mirror during a copy, which are the same for all.
var logLine = regexp.MustCompile(`(?m)^[0-9/]{10} [0-9:]{8} .*\n`)

// TestOcMirrorLines runs all command lines that people run under the name of oc mirror, and compares the
// exit status and the first line with the table in the documentation.
func TestOcMirrorLines(t *testing.T) {
	t.Parallel()
	long(t)
	w := ocMirrorFixture(t)
	program, err := os.Executable()
	fail.On(t, err)
	fail.On(t, os.Symlink(program, w.path("oc-mirror")))
	const example = "mirror.example.com:5000"
	lines, err := os.ReadFile("internal/ocmirror/testdata/commands.tsv")
	fail.On(t, err)
	var table strings.Builder
	table.WriteString("| `oc-mirror` with | status | first line |\n|---|---|---|\n")
	for line := range strings.Lines(string(lines)) {
		line, _, _ = strings.Cut(line, "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		cmd := exec.CommandContext(t.Context(), w.path("oc-mirror"), strings.Fields(strings.ReplaceAll(line, example, w.mirror.Host))...)
		cmd.Dir, cmd.Env = w.folder(), w.environ()
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		text := stdout.String()
		if err != nil {
			text = stderr.String()
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(logLine.ReplaceAllString(text, ""), "---\n"), "\n")
		first = versionShown.ReplaceAllString(strings.NewReplacer(w.mirror.Host, example, cmd.Dir, "/home/ann").Replace(first), "GitVersion:...")
		if cmd.ProcessState.ExitCode() != exitOK {
			first, _, _ = strings.Cut(strings.TrimPrefix(lastError(text, w.mirror.Host, example), "gantry: "), "; ")
		}
		fmt.Fprintf(&table, "| `%s` | %d | `%s` |\n", line, cmd.ProcessState.ExitCode(), strings.TrimSpace(first))
	}
	compareDocumentation(t, "../../docs/reference/oc-mirror.md", "outcomes", table.String())
}

// lastError returns the line with the error, which follows the notes.
func lastError(text, host, shown string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "gantry: ") {
			return strings.ReplaceAll(strings.TrimSuffix(line, "\n"), host, shown)
		}
	}
	return ""
}

// compareDocumentation compares a table of a chapter, between <!-- name --> and <!-- end of name -->.
// With updateScripts, it writes the table.
func compareDocumentation(t *testing.T, file, name, table string) {
	t.Helper()
	text, err := os.ReadFile(file)
	fail.On(t, err)
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(string(text), begin)
	have, after, ends := strings.Cut(rest, end)
	if !ok || !ends {
		t.Fatalf("%s has no table of %s", file, name)
	}
	if diff := cmp.Diff(table, have); diff != "" && os.Getenv(updateScripts) == "" {
		t.Errorf("%s (-run +documented): %s", file, diff)
	} else if diff != "" {
		if err := os.WriteFile(file, []byte(before+begin+table+end+after), 0o600); err != nil {
			t.Error(err)
		}
	}
}
