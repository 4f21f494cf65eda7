package faults

import (
	"archive/tar"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A state is what a cell has made.
type state struct {
	Repositories []rt.Repository
	Disk         map[string]digest.Digest // by the name of the file
}

// state reads what the cell has made. Names are those of the reference.
func (c *cell) state() (s state) {
	c.t.Helper()
	for _, r := range mirrortest.ContentBelow(c.t, c.mirror, c.name) {
		r.Name, r.Uploads = strings.TrimPrefix(r.Name, c.name), 0
		s.Repositories = append(s.Repositories, r)
	}
	entries, err := os.ReadDir(c.disk())
	if !errors.Is(err, os.ErrNotExist) {
		fail.On(c.t, err)
	}
	for _, e := range entries {
		if s.Disk == nil {
			s.Disk = map[string]digest.Digest{}
		}
		s.Disk[e.Name()] = "a folder"
		if !e.IsDir() {
			text, err := os.ReadFile(filepath.Join(c.disk(), e.Name()))
			fail.On(c.t, err)
			s.Disk[e.Name()] = digest.FromBytes(text)
		}
	}
	return s
}

// afterFault checks that the fault did no harm, and returns which blobs the run completed, by where they are.
func (c *cell) afterFault(o outcome, began state, reference *cell) map[string]bool {
	c.t.Helper()
	c.says(o)
	c.consistent()
	if c.workflow.changeless {
		c.same("a run that changes nothing did", began)
	}
	if o.code == 0 {
		c.same("the run ended with 0, and this differs from an undisturbed one", reference.state())
	}
	if left := c.files("temporary-" + c.name); len(left) > 0 && !c.fault.killed {
		c.t.Errorf("%q was left", left)
	}
	for _, r := range mirrortest.ContentBelow(c.t, c.mirror, c.name) {
		if r.Uploads > 0 && !c.fault.lost {
			c.t.Errorf("%s: %d uploads were left open", r.Name, r.Uploads)
		}
	}
	return c.written(c.copied())
}

// written leaves out what a killed run received and had not yet written down.
func (c *cell) written(all map[string]bool) map[string]bool {
	c.t.Helper()
	if !c.fault.killed {
		return all
	}
	journal, err := os.ReadFile(filepath.Join(c.disk(), ".gantry-partial", "journal"))
	if !errors.Is(err, os.ErrNotExist) {
		fail.On(c.t, err)
	}
	maps.DeleteFunc(all, func(blob string, _ bool) bool {
		_, hex, _ := strings.Cut(blob, "sha256:")
		return strings.HasPrefix(blob, "GET ") && !strings.Contains(string(journal), hex[:12])
	})
	return all
}

// afterAnother checks the run after the one with the fault.
func (c *cell) afterAnother(o outcome, before map[string]bool, reference *cell) {
	c.t.Helper()
	c.says(o)
	c.consistent()
	c.same("the next run made something else than an undisturbed one", reference.state())
	for blob := range c.copied() {
		base := c.workflow.rereads && strings.HasPrefix(blob, "GET ")
		if before[blob] && c.fault.limit == 0 && !base { // what has no space is not complete
			c.t.Errorf("the next run copied %s again", blob)
		}
	}
	if left := c.files("temporary-" + c.name); len(left) > 0 {
		c.t.Errorf("%q was left", left)
	}
	for _, r := range mirrortest.ContentBelow(c.t, c.mirror, c.name) {
		if r.Uploads > 0 && !c.fault.lost {
			c.t.Errorf("%s: %d uploads were left open", r.Name, r.Uploads)
		}
	}
}

func (c *cell) same(what string, want state) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.state()); diff != "" {
		c.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// says checks what the program printed: why it failed, no secret, and no stack.
func (c *cell) says(o outcome) {
	c.t.Helper()
	if o.code > 0 && !strings.Contains(o.output, "gantry: ") && !strings.Contains(o.output, "error") {
		c.t.Errorf("it ended with %d, and does not say why:\n%s", o.code, o.output)
	}
	for _, word := range []string{"panic: ", "goroutine ", "eyJ", c.mirror.Password, base64.StdEncoding.EncodeToString([]byte(c.mirror.Username + ":" + c.mirror.Password))} {
		if word != "" && strings.Contains(o.output, word) {
			c.t.Errorf("%q was printed:\n%s", word, o.output)
		}
	}
}

// consistent checks that no content has the wrong digest, and that nothing that can be reached is missing.
func (c *cell) consistent() {
	c.t.Helper()
	for _, r := range mirrortest.ContentBelow(c.t, c.mirror, c.name) {
		if err := c.mirror.Client().CheckRepository(c.t.Context(), r); err != nil {
			c.t.Errorf("%s: %v", r.Name, err)
		}
	}
	sets, _ := filepath.Glob(filepath.Join(c.disk(), "gantry-*.json"))
	all := volumes(c.t, c.disk())
	if len(sets) != len(all) && (!c.fault.killed || len(sets) > len(all)) { // the set gets its name last
		c.t.Errorf("%d sets, and the volumes %q", len(sets), all)
	}
	for _, volume := range all {
		c.checkVolume(volume)
	}
}

// checkVolume reads a volume like any program that reads tar files.
func (c *cell) checkVolume(volume string) {
	c.t.Helper()
	f, err := os.Open(volume)
	fail.On(c.t, err)
	defer f.Close()
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			c.t.Errorf("%s: %v", volume, err)
			return
		}
		got, err := digest.FromReader(tr)
		if rest, ok := strings.CutPrefix(h.Name, "blobs/"); err != nil || ok && got.String() != strings.Replace(rest, "/", ":", 1) {
			c.t.Errorf("%s: the name of %s is not its digest: %v", volume, h.Name, err)
		}
	}
}

// copied returns the blobs that were copied since the logs were reset, by where they came from or went to.
func (c *cell) copied() map[string]bool {
	c.t.Helper()
	all := map[string]bool{}
	add := func(log []rt.Request, complete func(rt.Request) bool) {
		for _, r := range log {
			if r.Faulted || !complete(r) || !mirrortest.IsContent(r.Repository()) {
				continue
			}
			where := r.Kind() + " " + r.Repository() + " " + string(r.Digest())
			if all[where] {
				c.t.Errorf("%s was copied twice", where)
			}
			all[where] = true
		}
	}
	add(c.mirror.Log(), func(r rt.Request) bool {
		return r.Status == http.StatusCreated && (r.Kind() == "PUT upload" || r.Kind() == "POST mount")
	})
	if c.workflow.writesDisk {
		add(c.source.Log(), func(r rt.Request) bool {
			return r.Kind() == "GET blob" && r.Whole && (r.Status == http.StatusOK || r.Status == http.StatusPartialContent)
		})
	}
	return all
}
