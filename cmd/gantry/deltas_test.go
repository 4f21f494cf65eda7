package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// deltaFixture is a source with an image that changes a little each month, a site, and disks between them.
type deltaFixture struct {
	*fixture
	isc string
}

func newDeltaFixture(t *testing.T) *deltaFixture {
	t.Helper()
	w := &deltaFixture{fixture: newFixture(t, registrytest.Options{})}
	w.isc = w.config("ops.yaml", "  additionalImages:\n  - name: "+w.source.Host+"/org/app:stable\n")
	return w
}

// program returns the bytes of a file that changes a little each month: some words differ, and some are new.
func program(seed uint64, size, month int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%x %d\n", r.Uint64(), i)
		if i%500 == 250 {
			fmt.Fprintf(&b, "month %d\n", month)
		}
	}
	return b.Bytes()
}

// publish pushes the image of a month, with more files, and returns its digest.
func (w *deltaFixture) publish(month int, more ...registrytest.File) string {
	w.t.Helper()
	base := []registrytest.File{{Name: "usr/", Mode: 0o755}, {Name: "usr/base", Data: program(1, 200<<10, 0)}}
	files := append([]registrytest.File{
		{Name: "app/", Mode: 0o755},
		{Name: "app/server", Data: program(2, 900<<10, month), Mode: 0o755},
		{Name: "app/same", Data: program(3, 100<<10, 0)},
		{Name: fmt.Sprintf("app/lib.so.%d", month), Data: program(4, 300<<10, month)},
	}, more...)
	img, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{Labels: map[string]string{"month": fmt.Sprint(month)}}, base, files)
	fail.On(w.t, err)
	_, digest, _ := strings.Cut(w.push("org/app:stable", img), "@")
	return digest
}

// written writes the disk of a month.
func (w *deltaFixture) written(disk string, args ...string) airgap.ExportResult {
	w.t.Helper()
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--delta") }) {
		args = append(args, "--delta-time", "1m") // however busy the machine is
	}
	o := w.must(append([]string{"mirror", "-c", w.isc, fileScheme + w.path(disk), "--workspace", w.path("outside"), "--output", "json"}, args...)...)
	var result struct{ Archive *airgap.ExportResult }
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.Archive == nil {
		w.t.Fatalf("%v\n%s", err, o.stdout)
	}
	return *result.Archive
}

// imported imports disks into the mirror.
func (w *deltaFixture) imported(disks ...string) {
	w.t.Helper()
	w.must(append(w.from(disks...), "--workspace", w.path("inside"))...)
}

// from returns the command that imports disks.
func (w *deltaFixture) from(disks ...string) []string {
	args := []string{"mirror", w.docker("/site")}
	for _, d := range disks {
		args = append(args, "--from", fileScheme+w.path(d))
	}
	return args
}

// has checks that the mirror has the image of a month, with all its blobs.
func (w *deltaFixture) has(want string) {
	w.t.Helper()
	if got, err := w.mirror.Client().Pull(w.t.Context(), "site/org/app", "stable"); err != nil || got.Digest.String() != want {
		w.t.Errorf("the mirror has %s, want %s: %v", got.Digest, want, err)
	}
}

// layer returns the layer of an image that changes each month.
func (w *deltaFixture) layer(image string) string {
	w.t.Helper()
	reader := &rawReader{url: w.source.URL(), read: map[string]*rawManifest{}}
	layers := reader.tree(w.t, "org/app", image)[0].Layers
	return layers[len(layers)-1].Digest
}

// TestDeltaOutput checks what is printed about deltas: before an archive is written, and about the archive.
func TestDeltaOutput(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.publish(2)
	dry := []string{"mirror", "-c", w.isc, fileScheme + w.path("disk2"), "--workspace", w.path("outside"), "--dry-run"}
	w.says(w.must(dry...).stdout, "Deltas   1.3 MiB", "(1 blob to copy, whole; writing the archive compares them")
	for _, args := range [][]string{{"--delta", "off"}, {"--full"}} {
		if o := w.must(append(dry, args...)...); strings.Contains(o.stdout, "Deltas") {
			t.Errorf("with %v:\n%s", args, o.stdout)
		}
	}
	o := w.must("mirror", "-c", w.isc, fileScheme+w.path("disk2"), "--workspace", w.path("outside"))
	w.says(o.stdout, "1 blob of 1.3 MiB is carried as a delta of ", "The site needs a Gantry that reads deltas")
	if strings.Contains(o.stderr, "/s;") {
		t.Errorf("a rate that includes the time for deltas:\n%s", o.stderr)
	}
	one, two := fileScheme+w.path("disk1"), fileScheme+w.path("disk2")
	for _, tc := range []struct {
		code int
		args []string
		want string
	}{
		{exitOK, []string{"verify", two}, "whose folder was not named: 1 blob or manifest (202.5 KiB) of its images and 1 blob (1.3 MiB) that deltas are based on are there"},
		{exitOK, []string{"archive", "inspect", two}, "carries 1 blob (1.3 MiB) as deltas ("},
		{exitOK, []string{"archive", "list", "--blobs", two}, "delta of " + w.layer("stable")},
		{exitSomething, []string{"archive", "diff", one, two}, "Changed: 1 image"},
	} {
		w.says(w.looked(tc.code, tc.args...).stdout, tc.want)
	}
	w.refuseLook(exitMismatch, []string{"name the folders of the archives"}, "serve", two, "--listen", "127.0.0.1:0")
}

// TestDeltaEnds kills a run while deltas are made, and one while a blob that was made from a delta is sent. The same
// commands continue. Then the archive is served, to clients that go away, and to one that stays.
func TestDeltaEnds(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	first := w.publish(1)
	w.written("disk1")
	w.imported("disk1")
	second := w.publish(2)
	killed := func(server *registrytest.Server, rule registrytest.Rule, args ...string) {
		t.Helper()
		ctx, kill := context.WithCancel(t.Context()) // which ends the process with SIGKILL
		defer kill()
		rule.Nth, rule.Action = 1, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			_, _ = io.CopyN(io.Discard, r.Body, 100)
			kills(kill)(rw, r, next)
		}
		server.Script(rule)
		if err := w.process(ctx, args...).Run(); err == nil {
			t.Fatal("the run was not killed")
		}
		server.Script()
		if left := append(w.glob(w.path("*/cache/deltas/gantry-*")), w.glob(w.path("disk2/gantry-000002.json"))...); len(left) > 0 && server == w.source {
			t.Errorf("the run left %v", left)
		}
	}
	write := []string{"mirror", "-c", w.isc, fileScheme + w.path("disk2"), "--workspace", w.path("outside")}
	killed(w.source, registrytest.Rule{Method: http.MethodGet, Path: "/blobs/" + w.layer(first)}, write...)
	if r := w.written("disk2"); r.Sequence != 2 || r.Deltas == nil || r.Deltas.Blobs != 1 {
		t.Errorf("%+v", r)
	}
	killed(w.mirror, registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/"}, append(w.from("disk2"), "--workspace", w.path("inside"))...)
	w.imported("disk2")
	w.has(second)

	s := serveDisk(w.fixture, fileScheme+w.path("disk2"), fileScheme+w.path("disk1"))
	url := "http://" + s.Address + "/v2/org/app/blobs/" + w.layer(second)
	for range 6 {
		resp, err := http.Get(url)
		fail.On(t, err)
		_, _ = io.CopyN(io.Discard, resp.Body, 100)
		_ = resp.Body.Close() // the client goes away
	}
	if status, header, body := rawRequest(t, http.MethodGet, url); status != http.StatusOK || len(body) < 1<<20 {
		t.Errorf("%d, %v, %d bytes", status, header, len(body))
	}
	s.end(syscall.SIGINT)
}

// TestExtractDeltasWithTar extracts an archive with deltas as someone who has no Gantry.
func TestExtractDeltasWithTar(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.publish(2)
	w.written("disk2")
	w.mkdir("plain")
	sh := exec.CommandContext(t.Context(), "sh", "-c", "for f in ../disk2/*.tar; do tar -xf $f || exit 9; done; sha256sum -c SHA256SUMS")
	sh.Dir = w.path("plain")
	out, err := sh.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("1 listed file could not be read")) || !strings.Contains(w.read("plain/gantry/deltas.txt"), "gantry archive extract") {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}
