package faults

import (
	"archive/tar"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// An aim is what a fault affects.
type aim int

const (
	reads   aim = iota // requests that read content
	writes             // requests that change a registry
	disks              // the disk that the last command reads
	machine            // the process
)

// An ending is how a run with a fault ends.
type ending int

const (
	either ending = iota
	fine          // the run recovers
	fails
)

// A fault is a line of the matrix.
type fault struct {
	name string
	aim  aim
	ends ending // unless the workflow has another one
	// times is how often the fault happens: 0 is always.
	times  int
	action func(c *cell) rt.Action
	// damage changes a volume of a disk.
	damage func(t *testing.T, volume string)
	// slow means that the registry needs longer to recover.
	slow bool
	// limit is the maximum size of the files that the program writes, in KiB.
	limit int
	// killed means that the process has no chance to clean up.
	killed bool
	// lost means that the program can't know of an upload that stays open.
	lost bool
}

func always(a rt.Action) func(*cell) rt.Action { return func(*cell) rt.Action { return a } }

// faults are the lines of the matrix.
func faults() []fault {
	return []fault{
		{name: "read: 503 once", aim: reads, ends: fine, times: 1, action: always(rt.Status(http.StatusServiceUnavailable))},
		{name: "read: 503 forever", aim: reads, ends: fails, action: always(rt.Status(http.StatusServiceUnavailable))},
		{name: "read: 429 with Retry-After once", aim: reads, ends: fine, times: 1, action: always(rt.Status(http.StatusTooManyRequests, "Retry-After", "0"))},
		{name: "read: 404 forever", aim: reads, ends: fails, action: always(rt.Status(http.StatusNotFound))},
		{name: "read: reset once", aim: reads, ends: fine, times: 1, action: always(rt.Reset())},
		{name: "read: cut once", aim: reads, ends: fine, times: 1, action: always(rt.Cut(200))},
		{name: "read: wrong bytes once", aim: reads, ends: fine, times: 1, action: always(rt.WrongBytes())},
		{name: "read: wrong bytes forever", aim: reads, ends: fails, action: always(rt.WrongBytes())},
		{name: "read: shorter forever", aim: reads, ends: fails, action: always(rt.ShortBody(100))},
		{name: "read: stalls once", aim: reads, ends: fine, times: 1, action: always(rt.Stall(200))},
		{name: "read: token expired once", aim: reads, ends: fine, times: 1, action: always(deny)},
		{name: "read: a page to log in forever", aim: reads, ends: fails, action: always(rt.Page())},
		{name: "read: redirected to storage", aim: reads, ends: fine, action: func(c *cell) rt.Action { return rt.Redirect(c.at.CDN()) }},
		{name: "read: registry restarts once", aim: reads, ends: fine, times: 1, slow: true, action: func(c *cell) rt.Action { return c.at.RestartAfter(200) }},
		{name: "write: 503 once", aim: writes, ends: fine, times: 1, action: always(rt.Status(http.StatusServiceUnavailable))},
		{name: "write: 503 forever", aim: writes, ends: fails, action: always(rt.Status(http.StatusServiceUnavailable))},
		{name: "write: 403 forever", aim: writes, ends: fails, action: always(rt.Refuse(http.StatusForbidden, "DENIED"))},
		{name: "write: cut once", aim: writes, ends: fine, times: 1, lost: true, action: always(rt.CutUpload(100_000))},
		{name: "write: response lost once", aim: writes, ends: fine, times: 1, lost: true, action: always(rt.LoseResponse())},
		{name: "write: 201 and nothing stored once", aim: writes, ends: fine, times: 1, lost: true, action: always(rt.Pretend())},
		{name: "write: reset forever", aim: writes, ends: fails, lost: true, action: always(rt.Reset())},
		{name: "write: stalls once", aim: writes, ends: fine, times: 1, lost: true, action: always(rt.StallUpload(100_000))},
		{name: "write: registry restarts once", aim: writes, ends: fine, times: 1, slow: true, lost: true, action: func(c *cell) rt.Action { return c.at.RestartAfter(100_000) }},
		{name: "disk: one bit differs", aim: disks, ends: fails, damage: flip},
		{name: "disk: cut", aim: disks, ends: fails, damage: func(t *testing.T, volume string) {
			t.Helper()
			info, err := os.Stat(volume)
			fail.On(t, err)
			fail.On(t, os.Truncate(volume, info.Size()/2))
		}},
		{name: "disk: a volume is missing", aim: disks, ends: fails, damage: func(t *testing.T, volume string) {
			t.Helper()
			fail.On(t, os.Remove(volume))
		}},
		{name: "machine: kill -9", aim: machine, ends: fails, times: 1, killed: true, lost: true, action: signaled(syscall.SIGKILL)},
		{name: "machine: Ctrl-C", aim: machine, ends: fails, times: 1, action: signaled(syscall.SIGINT)},
		{name: "machine: no space", aim: machine, limit: 200},
	}
}

// signaled ends the process in the middle of a request, which gets no response.
func signaled(s syscall.Signal) func(*cell) rt.Action {
	return func(c *cell) rt.Action {
		return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
			if p := c.process.Load(); p != nil {
				_ = p.Signal(s) // it may have ended
			}
			<-r.Context().Done()
		}
	}
}

// flip changes one bit of the largest blob of a volume.
func flip(t *testing.T, volume string) {
	t.Helper()
	f, err := os.OpenFile(volume, os.O_RDWR, 0)
	fail.On(t, err)
	defer f.Close()
	var largest, middle int64
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		fail.On(t, err)
		at, err := f.Seek(0, io.SeekCurrent) // the reader has no buffer
		fail.On(t, err)
		if strings.HasPrefix(h.Name, "blobs/") && h.Size > largest {
			largest, middle = h.Size, at+h.Size/2
		}
	}
	b := make([]byte, 1)
	_, err = f.ReadAt(b, middle)
	fail.On(t, err)
	b[0] ^= 4
	_, err = f.WriteAt(b, middle)
	fail.On(t, err)
}

// volumes returns the volumes on a disk.
func volumes(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "gantry-*.tar"))
	fail.On(t, err)
	return all
}

// deny removes the credentials from the request, like a registry that no longer accepts its token.
func deny(w http.ResponseWriter, r *http.Request, next http.Handler) {
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	next.ServeHTTP(w, r)
}
