// Package conformance runs the conformance tests of the OCI distribution specification with what gantry archive serve
// serves.
//
// It is a module of its own because the tests are a program of their own.
package conformance

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

const (
	suite = "github.com/opencontainers/distribution-spec/conformance"
	page  = "../../../docs/reference/conformance.md"
)

// content is what the archive has, as the tests need to know it.
type content struct {
	tags             []string
	manifests, blobs []string
	subject          string
}

// push fills the source.
func push(t *testing.T, source *registrytest.Server) content {
	t.Helper()
	client, ctx := source.Client(), t.Context()
	index, err := registrytest.Index("multi")
	fail.On(t, err)
	root, err := client.Push(ctx, "org/app", "multi", index)
	fail.On(t, err)
	img, err := registrytest.LayeredImage(v1.Platform{OS: "linux", Architecture: "amd64"}, true, v1.Config{}, registrytest.RandomLayer{Seed: "layer", Size: 50_000})
	fail.On(t, err)
	image, err := client.Push(ctx, "org/app", "v1", img)
	fail.On(t, err)
	subject, err := registrytest.Descriptor(img)
	fail.On(t, err)
	referrer, err := client.PushReferrer(ctx, "org/app", registrytest.Referrer{Subject: subject, ArtifactType: "application/vnd.example.sbom", Text: "parts"})
	fail.On(t, err)
	fail.On(t, client.PushReferrersTag(ctx, "org/app", subject.Digest, referrer))
	c := content{tags: []string{"v1", "multi"}, manifests: []string{image.String(), root.String()}, subject: subject.Digest.String()}
	layers, err := img.Layers()
	fail.On(t, err)
	config, err := img.ConfigName()
	fail.On(t, err)
	for _, l := range layers {
		h, err := l.Digest()
		fail.On(t, err)
		c.blobs = append(c.blobs, h.String())
	}
	c.blobs = append(c.blobs, config.String())
	return c
}

// build builds a program.
func build(t *testing.T, dir, pkg, to string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// serve serves an archive, and returns the address.
func serve(t *testing.T, gantry, disk string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), gantry, "archive", "serve", "file://"+disk, "--listen", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	fail.On(t, err)
	cmd.Stderr = cmd.Stdout
	fail.On(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Wait() // the context ended; its exit status says more
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("after TERM, serve ended with %d", code)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(lines.Text()); address != "" {
			go func() {
				for lines.Scan() { //nolint:revive // what it prints later is not read
				}
			}()
			return address
		}
	}
	t.Fatal("serve prints no address")
	return ""
}

// verdict is a line of the results: what was tested, and how that ended.
var verdict = regexp.MustCompile(`(?m)^ *OCI Conformance Test/?([^:\n]*): ([A-Za-z]+)$`)

// TestServe runs the tests that read. Those that write are disabled, since an archive is read-only.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	gantry, tests := filepath.Join(dir, "gantry"), filepath.Join(dir, "conformance")
	build(t, "../../..", "./cmd/gantry", gantry)
	build(t, ".", suite, tests)
	source := registrytest.Start(t, registrytest.Options{})
	c := push(t, source)
	config := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n"
	for _, tag := range c.tags {
		config += "  - name: " + source.Host + "/org/app:" + tag + "\n"
	}
	fail.On(t, os.WriteFile(filepath.Join(dir, "imageset.yaml"), []byte(config), 0o600))
	disk := filepath.Join(dir, "disk")
	out, err := exec.CommandContext(t.Context(), gantry, "mirror", "-c", filepath.Join(dir, "imageset.yaml"), "--src-tls-verify=false",
		"--workspace", filepath.Join(dir, "work"), "file://"+disk).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := run(t, tests, dir, serve(t, gantry, disk), c)
	results := verdict.FindAllStringSubmatch(text, -1)
	var failed, table []string
	for _, r := range results {
		name, how := r[1], r[2]
		group := slices.ContainsFunc(results, func(other []string) bool { return name == "" || strings.HasPrefix(other[1], name+"/") })
		row := "| " + name + " | passes |\n"
		switch {
		case how == "Disabled":
		case how != "Pass":
			failed = append(failed, name)
		case !group && !slices.Contains(table, row):
			table = append(table, row)
		}
	}
	if len(failed) > 0 || len(table) < 12 {
		t.Fatalf("%q failed, and %d passed:\n%s", failed, len(table), text)
	}
	version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", suite).Output()
	fail.On(t, err)
	want := fmt.Sprintf("<!-- Generated by .ci/tools/conformance. -->\n# Conformance of gantry archive serve\n\n"+
		"The tests of the OCI distribution specification 1.1 (`%s` %s),\nwith an archive of two images, one of them for several platforms, and a referrer. "+
		"Tests that push and delete are left out: an archive is read-only.\n\n| test | |\n|---|---|\n%s", suite, strings.TrimSpace(string(version)), strings.Join(table, ""))
	if os.Getenv("GANTRY_TEST_UPDATE_SCRIPTS") != "" {
		fail.On(t, os.WriteFile(page, []byte(want), 0o644))
	}
	got, err := os.ReadFile(page)
	fail.On(t, err)
	fail.Diff(t, want, string(got))
}

// run runs the tests and returns what they print. Their exit status says nothing: without content to push, they
// fail to write one of their reports.
func run(t *testing.T, program, dir, address string, c content) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OCI_VERSION=1.1", "OCI_REGISTRY="+address, "OCI_TLS=disabled", "OCI_REPO1=org/app", "OCI_REPO2=org/app",
		"OCI_API_PUSH=false", "OCI_API_BLOBS_DELETE=false", "OCI_API_MANIFESTS_DELETE=false", "OCI_API_TAGS_DELETE=false", "OCI_API_BLOBS_DIGEST_HEADER=true",
		"OCI_RO_DATA_TAGS="+strings.Join(c.tags, " "), "OCI_RO_DATA_MANIFESTS="+strings.Join(c.manifests, " "),
		"OCI_RO_DATA_BLOBS="+strings.Join(c.blobs, " "), "OCI_RO_DATA_REFERRERS="+c.subject)
	out, _ := cmd.CombinedOutput()
	text, _, _ := strings.Cut(string(out), "\nConfiguration:\n")
	return text
}
