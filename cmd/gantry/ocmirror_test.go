package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/ocmirror"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// ocMirror runs the program like main under the name of oc mirror.
func (w *fixture) ocMirror(args ...string) outcome {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	code := (&app{stdout: &stdout, stderr: &stderr, env: w.env, calledAs: "/usr/bin/oc-mirror"}).run(args)
	return outcome{stdout.String(), stderr.String(), code}
}

// asOcMirror runs a command line without a fixture and without registries.
func asOcMirror(t *testing.T, line string) outcome {
	t.Helper()
	w := &fixture{t: t, env: map[string]string{"HOME": t.TempDir(), "CONTAINERS_REGISTRIES_CONF": os.DevNull}}
	return w.ocMirror(strings.Fields(line)...)
}

// TestOcMirrorWithoutRegistry runs commands that need no registry. Package ocmirror tests the translation, the help, the
// completion and the version.
func TestOcMirrorWithoutRegistry(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line           string
		code           int
		stdout, stderr string
	}{
		{"--v2 --help", exitOK, "oc-mirror -c FILE file://DIR", ""},
		{"version --short --cpu-prof", exitOK, "Client Version: ", "--cpu-prof has no effect"},
		{"version --output json", exitOK, `"gitVersion"`, ""},
		{"init --registry localhost:5000/test:latest", exitOK, "kind: ImageSetConfiguration", "--registry has no effect: state is kept in the workspace"},
		{"init --output json", exitOK, `"kind": "ImageSetConfiguration"`, ""},
		{"describe mirror_seq1_000000.tar", exitUsage, "", "an archive of oc mirror version 1"},
		{"delete --v2 --generate --delete-id a -c absent.yaml --workspace file://w docker://r.example.com", exitUsage, "", "absent.yaml"},
		{"delete --v2 docker://r.example.com", exitUsage, "", "nothing was deleted"},
		{"delete --v2 --delete-yaml-file x --force-cache-delete true docker://r.example.com", exitUsage, "", "reading the list: "},
		{"", exitUsage, "", "no destination"},
		{"completion bash", exitOK, "__start_oc-mirror", ""},
		{"__complete -c x doc", exitOK, "docker://", ""},
	} {
		o := asOcMirror(t, tc.line)
		if o.code != tc.code || !strings.Contains(o.stdout, tc.stdout) || !strings.Contains(o.stderr, tc.stderr) || tc.code != exitOK && o.stdout != "" {
			t.Errorf("oc-mirror %s ended with %d, want %d, %q and %q\n%s%s", tc.line, o.code, tc.code, tc.stdout, tc.stderr, o.stdout, o.stderr)
		}
	}
}

// TestOwnFlagsAsOcMirror checks that every flag of gantry mirror is accepted under the name of oc
// mirror, and that those that the translation writes exist.
func TestOwnFlagsAsOcMirror(t *testing.T) {
	t.Parallel()
	root := (&app{}).command(everyVerb)
	own := flagsOf(root)
	var written []string
	for line := range strings.SplitSeq(`
-c a --from d --workspace w --cache-dir x --dry-run --manifests-only --max-nested-paths 2 --continue-on-error --max-per-registry 2 docker://r.example.com
--since 2026-01-01 --ignore-history --strict-archive file://d
--tls-verify=false --source-skip-tls --dest-skip-tls --source-use-http --dest-use-http docker://r.example.com
--loglevel info --parallel-batch-images 2 -q file://d
`, "\n") {
		c, err := ocmirror.Translate(strings.Fields(line), ocmirror.Options{Name: "oc-mirror", Flags: own})
		fail.On(t, err)
		written = append(written, c.Args...)
	}
	for _, word := range written {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if strings.HasPrefix(word, "--") && own("mirror").Lookup(name) == nil {
			t.Errorf("gantry mirror has no flag %s", word)
		}
	}
	for _, name := range []string{"name", "plan", "release-key", "failures", "check-blobs", "output", "progress"} {
		flag := own("mirror").Lookup(name)
		args := []string{"--" + name, "x", "file://d"}
		if flag.NoOptDefVal != "" {
			args = slices.Delete(args, 1, 2)
		}
		c, err := ocmirror.Translate(args, ocmirror.Options{Name: "oc-mirror", Flags: own})
		if err != nil || !slices.Contains(c.Args, "--"+name) {
			t.Errorf("%v: %v, %v", args, c.Args, err)
		}
	}
}

// TestResourcesOnly checks the flag. Package cluster tests that the cluster resources are those of a copy.
func TestResourcesOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.config("isc.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", w.path("isc.yaml"), disk)
	w.says(w.must("mirror", "--from", disk, "--resources-only", w.docker("/ocp"), "--workspace", w.path("only")).stdout, "Nothing was copied")
	w.read("only/cluster-resources/itms-generic-0.yaml")
	if o := w.gantry("status", "--workspace", w.path("only")); strings.Contains(o.stdout, w.mirror.Host) || len(w.mirror.Log()) > 0 {
		t.Errorf("the run is recorded, or the mirror got %d requests:\n%s", len(w.mirror.Log()), o.stdout)
	}
	w.refuse(exitUsage, []string{"--resources-only is for docker:// destinations"}, "mirror", "-c", w.path("isc.yaml"), "--resources-only", disk)
	w.refuse(exitUsage, []string{"--resources-only copies nothing"}, "mirror", "-c", w.path("isc.yaml"), "--resources-only", "--dry-run", w.docker("/ocp"))
}

// TestCacheDir checks that workspaces share a cache.
func TestCacheDir(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.config("isc.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	plan := func(workspace string) int {
		w.source.ResetLog()
		w.must("plan", "-c", w.path("isc.yaml"), "--cache-dir", w.path("shared"), "--workspace", w.path(workspace))
		return len(w.source.Log())
	}
	if first, second := plan("one"), plan("two"); second >= first {
		t.Errorf("%d requests, and %d with the cache of another workspace", first, second)
	}
	for _, name := range []string{"one/cache", "two/cache"} {
		if _, err := os.Stat(w.path(name)); err == nil {
			t.Errorf("%s exists", name)
		}
	}
	// The variable of oc mirror names it, too.
	w.env["OC_MIRROR_CACHE"] = w.path("named")
	if o := w.ocMirror("-c", w.path("isc.yaml"), "file://"+w.path("disk"), "--dry-run"); o.code != exitOK {
		t.Fatal(o.stderr)
	}
	if _, err := os.Stat(w.path("named/gantry-cache/index.json")); err != nil {
		t.Error(err)
	}
	w.write("file", "")
	w.refuse(exitError, []string{"--cache-dir"}, "plan", "-c", w.path("isc.yaml"), "--cache-dir", w.path("file"))
}
