package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

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
	if err != nil {
		w.t.Fatal(err)
	}
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
	reader := &rawReader{url: w.mirror.URL(), read: map[string]*rawManifest{}}
	manifests := reader.tree(w.t, "site/org/app", "stable")
	if len(manifests) != 1 || manifests[0].Digest != want {
		w.t.Fatalf("the mirror has %+v, want %s", manifests, want)
	}
	for _, b := range append(manifests[0].Layers, manifests[0].Config) {
		status, _, body := rawRequest(w.t, http.MethodGet, w.mirror.URL()+"/v2/site/org/app/blobs/"+b.Digest)
		if status != http.StatusOK || digest.FromBytes(body).String() != b.Digest {
			w.t.Errorf("the mirror answers %d and %d bytes for %s", status, len(body), b.Digest)
		}
	}
}

// layer returns the layer of an image that changes each month.
func (w *deltaFixture) layer(image string) string {
	w.t.Helper()
	reader := &rawReader{url: w.source.URL(), read: map[string]*rawManifest{}}
	layers := reader.tree(w.t, "org/app", image)[0].Layers
	return layers[len(layers)-1].Digest
}
