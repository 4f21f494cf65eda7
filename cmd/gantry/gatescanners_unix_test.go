//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The scanners accept the options that the real programs have, and end as these do: with the status that was set, or
// with 2, if they find something, and with 1 after an error.
const (
	fakeTrivy = `#!/bin/sh
[ "$1" = image ] || { echo "unknown command \"$1\" for \"trivy\"" >&2; exit 1; }
shift
code=0
while [ $# -gt 1 ]; do
	case "$1" in
	--quiet|--ignore-unfixed) shift;;
	--severity) [ "$2" = CRITICAL ] || exit 1; shift 2;;
	--exit-code) code=$2; shift 2;;
	--platform) case "$2" in linux/*) ;; *) exit 1;; esac; shift 2;;
	*) echo "FATAL Fatal error unknown flag: $1" >&2; exit 1;;
	esac
done
case "$1" in
*/lantern/store@sha256:*) echo "Total: 1 (CRITICAL: 1) CVE-2026-1"; exit "$code";;
*/tools/netcheck@sha256:*) echo "FATAL Fatal error image scan error: unable to initialize a scanner" >&2; exit 1;;
*@sha256:*) echo "Total: 0 (CRITICAL: 0)"; exit 0;;
esac
echo "FATAL no image" >&2; exit 1
`
	fakeGrype = `#!/bin/sh
limit=
while [ $# -gt 1 ]; do
	case "$1" in
	--quiet) shift;;
	--fail-on) limit=$2; shift 2;;
	--platform) case "$2" in linux/*) ;; *) exit 1;; esac; shift 2;;
	*) echo "unknown flag: $1" >&2; exit 1;;
	esac
done
[ "$limit" = critical ] || exit 1
case "$1" in
registry:*/lantern/store@sha256:*) echo "openssl 3.0.1 CVE-2026-1 Critical"; exit 2;;
registry:*/tools/netcheck@sha256:*) echo "failed to catalog: unable to load image" >&2; exit 1;;
registry:*@sha256:*) echo "No vulnerabilities found"; exit 0;;
esac
echo "could not determine source" >&2; exit 1
`
)

// documentedScript returns a script of docs/deploy/gates without its first line.
func documentedScript(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/deploy/gates/" + name + ".sh")
	if err != nil {
		t.Fatal(err)
	}
	script, ok := strings.CutPrefix(string(text), "#!/bin/sh\n")
	if !ok {
		t.Fatalf("%s.sh begins with %.20q", name, text)
	}
	return script
}

// TestDocumentedScanners runs the scripts of docs/deploy/gates as gates, with programs that behave as Trivy and Grype.
func TestDocumentedScanners(t *testing.T) {
	t.Parallel()
	long(t) // TestGate runs programs of the user
	for name, program := range map[string]string{"trivy": fakeTrivy, "grype": fakeGrype} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, registrytest.Options{})
			w.mkdir("bin")
			bin := w.write("bin/"+name, program)
			if err := os.Chmod(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			w.env["PATH"] = filepath.Dir(bin) + string(os.PathListSeparator) + os.Getenv("PATH")
			scan := w.program("scan.sh", documentedScript(t, name))
			cmd := w.process(t.Context(), "mirror", "-c", w.path("imageset.yaml"), w.docker("/a"), "--workspace", w.path("workspace"), "--gate", scan, "--on-error", "package")
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != exitPartial {
				t.Fatalf("ended with %d, %v\n%s", code, err, out)
			}
			w.says(string(out), "CVE-2026-1", "lantern/store", "tools/netcheck")
			if !strings.Contains(string(out), "unable to ") {
				t.Errorf("an error of the scanner is not printed:\n%s", out)
			}
			have := w.contentOf("a")
			for _, refused := range []string{"lantern/store", "tools/netcheck"} {
				if _, ok := have[refused]; ok {
					t.Errorf("the mirror has %s, which %s refused", refused, name)
				}
			}
			if _, ok := have["support/must-gather"]; !ok {
				t.Error("the mirror has nothing that the scanner accepted")
			}
		})
	}
}
