package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The functions in this file are what happens in single weeks of the year.

// disks returns the flags that read all disks of the year.
func (y *year) disks(week int) (args []string) {
	for n := 1; n <= week; n++ {
		disk := y.path("disk" + strconv.Itoa(n))
		if archives, err := filepath.Glob(filepath.Join(disk, "gantry-*.json")); err != nil {
			y.t.Fatal(err)
		} else if len(archives) > 0 {
			args = append(args, "--from", fileScheme+disk)
		}
	}
	return args
}

// pruneInterrupted sends the signal of Ctrl-C to prune at several deletions. Nothing that is wanted is gone
// after each, and the prune of this week, which follows, does the rest.
func (y *year) pruneInterrupted() {
	y.t.Helper()
	for _, nth := range []int{1, 2, 4, 8} {
		cmd := y.process(y.t.Context(), "prune", "--yes", y.docker("/site"), "--workspace", y.path("near"))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		interrupt, run := interruptible(cmd)
		y.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Nth: nth, Action: withoutResponse(interrupt)})
		err := run()
		y.mirror.Script()
		var exit *exec.ExitError
		switch {
		case err == nil && nth > 1: // there were fewer deletions
		case !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted:
			y.t.Errorf("interrupted at deletion %d: %v\n%s", nth, err, &stderr)
		}
		y.check("a prune that was interrupted at deletion " + strconv.Itoa(nth))
		y.must("verify", y.docker("/site"), "--workspace", y.path("inside"))
	}
}

// pruneRefused prunes a registry that deletes nothing.
func (y *year) pruneRefused() {
	y.t.Helper()
	before, err := y.mirror.Repositories("site")
	if err != nil {
		y.t.Fatal(err)
	}
	y.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Action: registrytest.Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED")})
	y.refuse(exitPartial, []string{"refuses to delete content, so nothing was deleted"}, "prune", "--yes", y.docker("/site"), "--workspace", y.path("near"))
	y.mirror.Script()
	after, err := y.mirror.Repositories("site")
	if err != nil {
		y.t.Fatal(err)
	}
	tags := func(list []registrytest.Repository) (all []string) {
		for _, r := range list {
			for tag := range r.Tags {
				if isContent(r.Name) {
					all = append(all, r.Name+":"+tag)
				}
			}
		}
		slices.Sort(all)
		return all
	}
	if !slices.Equal(tags(before), tags(after)) {
		y.t.Errorf("a refused prune changed tags:\n%v\n%v", tags(before), tags(after))
	}
	y.check("a refused prune")
}

// twoRuns mirrors and prunes while another process mirrors. Then that one is killed, and prune takes its
// lease over.
func (y *year) twoRuns() {
	y.t.Helper()
	ctx, kill := context.WithCancel(y.t.Context())
	defer kill()
	cmd := y.process(ctx, "mirror", "-c", y.sets[0].isc, y.docker("/site"), "--workspace", y.path("near"))
	y.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/site/redhat/redhat-operator-index/manifests/", Nth: 1, Action: withoutResponse(func() {
		y.refuse(exitLocked, []string{"is used by another run"}, append([]string{"mirror", y.docker("/site"), "--workspace", y.path("third")}, y.disks(23)...)...)
		y.refuse(exitLocked, []string{"is used by another run"}, "prune", "--yes", y.docker("/site"), "--workspace", y.path("third"))
		kill()
	})})
	if err := cmd.Run(); err == nil {
		y.t.Error("the run was not killed")
	}
	y.mirror.Script()
	if o := y.must("prune", "--yes", y.docker("/site"), "--workspace", y.path("third")); !strings.Contains(o.stderr, "did not end properly") {
		y.t.Errorf("no message about the run that was killed:\n%s", o.stderr)
	}
}

// loseStorage deletes everything that the mirror has.
func (y *year) loseStorage() {
	y.t.Helper()
	list, err := y.mirror.Repositories("site")
	if err != nil {
		y.t.Fatal(err)
	}
	for _, r := range list {
		for _, d := range r.Manifests {
			if status, _, body := rawRequest(y.t, http.MethodDelete, y.mirror.URL()+"/v2/"+r.Name+"/manifests/"+d.String()); status != http.StatusAccepted {
				y.t.Fatalf("deleting %s@%s: %d\n%s", r.Name, d, status, body)
			}
		}
	}
	y.collectGarbage("site")
	for _, s := range y.sets {
		s.week = 0
	}
}

// afterLoss imports all disks of the year again: the newest alone is refused.
func (y *year) afterLoss(week int) {
	y.t.Helper()
	s := y.sets[1]
	disk := fileScheme + y.path("disk"+strconv.Itoa(week))
	y.must("mirror", "-c", s.isc, disk, "--workspace", y.path("outside"))
	y.checkArchive(week, strings.TrimPrefix(disk, fileScheme))
	before := storedManifests(y.t, y.mirror, "site")
	y.refuse(exitMismatch, []string{"--from"}, "mirror", "--from", disk, y.docker("/site"), "--workspace", y.path("inside"))
	if added := without(storedManifests(y.t, y.mirror, "site"), before); len(added) > 0 {
		y.t.Errorf("a refused import added %v", added)
	}
	y.mirror.ResetLog()
	y.must(append([]string{"mirror", y.docker("/site"), "--workspace", y.path("inside")}, y.disks(week)...)...)
	s.week = week
	y.checkAdded("the import after the loss", s, before)
}

// diskFull writes the archive of a week to a disk that is full, and uses a workspace on it.
func (y *year) diskFull() {
	y.t.Helper()
	dir := y.medium("full", 4)
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		y.t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4<<10))
	}
	_ = f.Close() // the disk is full
	y.refuse(exitNoSpace, []string{"space"}, "mirror", "-c", y.sets[1].isc, fileScheme+filepath.Join(dir, "disk"), "--workspace", y.path("outside"), "--allow-older")
	y.refuse(exitNoSpace, []string{"space"}, "mirror", "-c", y.sets[0].isc, y.docker("/site"), "--workspace", filepath.Join(dir, "workspace"), "--allow-older")
	y.refuse(exitNoSpace, []string{"space"}, "prune", "--yes", y.docker("/site"), "--workspace", filepath.Join(dir, "workspace"))
	y.check("runs on a full disk")
	if err := os.Remove(filler); err != nil {
		y.t.Fatal(err)
	}
	y.must("prune", y.docker("/site"), "--workspace", filepath.Join(dir, "workspace"))
}

// nothingNew counts the requests of a week with nothing new.
func (y *year) nothingNew(week int) {
	y.t.Helper()
	y.fixture.source.ResetLog()
	y.mirror.ResetLog()
	y.must("mirror", "-c", y.sets[0].isc, y.docker("/site"), "--workspace", y.path("near"))
	source, to := len(y.fixture.source.Log()), len(y.mirror.Log())
	y.t.Logf("week %d, nothing new: %d requests to the source %v, %d to the mirror %v", week, source, y.fixture.source.Requests(), to, y.mirror.Requests())
	repositories, images, named := map[string]bool{y.index: true}, weeklyImages(y.t, y.sets[0].packages, week), 1 // the catalog
	for _, ref := range images {
		repositories[ref.Path] = true
		if ref.Digest == "" {
			named++
		}
	}
	// The source is asked whether it responds and whether it has the referrers API, for the tags of each repository,
	// and for each manifest that only a tag names.
	if want := 2 + len(repositories) + named; source != want {
		y.t.Errorf("week %d: %d requests to the source for %d repositories, %d tags and nothing new, want %d", week, source, len(repositories), named, want)
	}
	// The mirror has at most 12 requests for the lease, the records and the last of them, its API and up to 4 samples of blobs, at most one for the tags of each
	// repository and of the records, and at most one for each image and the catalog.
	kinds := y.mirror.Requests()
	tags, heads := kinds["GET tags"], kinds["HEAD manifest"]
	if to-tags-heads > 12 || tags > 1+len(repositories) || heads > 1+len(images) {
		y.t.Errorf("week %d: requests to the mirror for %d repositories, %d images and nothing new: %v", week, len(repositories), len(images), kinds)
	}
}
