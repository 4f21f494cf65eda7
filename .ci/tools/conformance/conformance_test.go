// Package conformance runs the conformance tests of the OCI distribution specification with what gantry archive serve
// serves, with the profiles of registries that other tests use, and with a real registry.
//
// It is a module of its own because the tests are a program of their own. Start with TestConformance in page_test.go.
package conformance

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
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
				for lines.Scan() {
				}
			}()
			return address
		}
	}
	t.Fatal("serve prints no address")
	return ""
}

// served runs the tests that read with what gantry archive serve serves, and returns the outcomes. Those that write are
// disabled, since an archive is read-only.
func served(t *testing.T, tests string) outcomes {
	t.Helper()
	dir := t.TempDir()
	gantry := filepath.Join(dir, "gantry")
	build(t, "../../..", "./cmd/gantry", gantry)
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
	return run(t, tests, serve(t, gantry, disk), 3, "OCI_REPO1=org/app", "OCI_REPO2=org/app",
		"OCI_API_PUSH=false", "OCI_API_BLOBS_DELETE=false", "OCI_API_MANIFESTS_DELETE=false", "OCI_API_TAGS_DELETE=false", "OCI_API_BLOBS_DIGEST_HEADER=true",
		"OCI_RO_DATA_TAGS="+strings.Join(c.tags, " "), "OCI_RO_DATA_MANIFESTS="+strings.Join(c.manifests, " "),
		"OCI_RO_DATA_BLOBS="+strings.Join(c.blobs, " "), "OCI_RO_DATA_REFERRERS="+c.subject)
}

// Outcomes of a test. The worst of its parts counts.
const (
	disabled = iota // or not part of a run
	passes
	skips
	fails
)

// outcomes are those of a run, by test.
type outcomes struct {
	names []string // in their order, without those that are disabled
	by    map[string]int
	text  string // what the tests print
}

// verdict is a line of the results: what was tested, and how that ended.
var verdict = regexp.MustCompile(`(?m)^ *OCI Conformance Test/([^:\n]*): ([A-Za-z]+)$`)

// read reads what the tests print. The parts of a test below some depth of groups count as it.
func read(text string, depth int) outcomes {
	o := outcomes{by: map[string]int{}, text: text}
	results := verdict.FindAllStringSubmatch(text, -1)
	for i, r := range results {
		if i+1 < len(results) && strings.HasPrefix(results[i+1][1], r[1]+"/") {
			continue // its parts count
		}
		parts := strings.Split(r[1], "/")
		name := strings.Join(parts[:min(depth, len(parts))], "/")
		how, ok := map[string]int{"Disabled": disabled, "Pass": passes, "Skip": skips}[r[2]]
		if !ok {
			how = fails
		}
		if _, known := o.by[name]; !known && how != disabled {
			o.names = append(o.names, name)
		}
		if how != disabled {
			o.by[name] = max(o.by[name], how)
		}
	}
	return o
}

// run runs the tests. Their exit status says nothing: without content to push, they fail to write one of their reports.
func run(t *testing.T, program, address string, depth int, settings ...string) outcomes {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program)
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(os.Environ(), "OCI_VERSION=1.1", "OCI_REGISTRY="+address, "OCI_TLS=disabled"), settings...)
	out, _ := cmd.CombinedOutput()
	text, _, _ := strings.Cut(string(out), "\nConfiguration:\n")
	return read(text, depth)
}
