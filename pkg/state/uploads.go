package state

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Uploads lists the upload sessions that a run has open at a mirror, so that the next run can cancel
// the sessions of a run that was killed. It also counts those that were requested and whose
// responses did not arrive, which nothing can cancel. It is a hint and is not synced to the disk. It
// implements remote.SessionLog.
type Uploads struct {
	folder *os.Root // the workspace
	name   string   // of the file in the workspace

	mu   sync.Mutex
	open map[string]Upload // by location
	past []Upload          // that earlier runs ended
	lost map[string]int    // requests without a response, by repository and blob: "host/a sha256:…"
	out  *os.File
}

// An Upload is an upload session that was not ended.
type Upload struct {
	Repository string // with host
	Blob       digest.Digest
	Location   string // a secret: it may allow writing to the session
}

// Uploads opens the list of a mirror, which has the same name as for Records. Only the user can read
// the file.
func (w *Workspace) Uploads(mirror string) (*Uploads, error) {
	u := &Uploads{folder: w.disk.Root, name: "journal/" + mirror + ".uploads.txt", open: map[string]Upload{}, lost: map[string]int{}}
	var err error
	u.out, err = openJournal(u.folder, u.name, 0o600, func(line string) {
		switch field := strings.Split(line, " "); {
		case len(field) == 4 && field[0] == "opened":
			u.open[field[3]] = Upload{Repository: field[1], Blob: digest.Digest(field[2]), Location: field[3]}
			u.answered(field[1] + " " + field[2])
		case len(field) == 3 && field[0] == "requested":
			u.lost[field[1]+" "+field[2]]++
		case len(field) == 3 && field[0] == "refused":
			u.answered(field[1] + " " + field[2])
		case len(field) == 2 && field[0] == "ended":
			if ended, ok := u.open[field[1]]; ok {
				u.past = append(u.past, ended)
			}
			delete(u.open, field[1])
		}
	})
	return u, err
}

// Pending returns the sessions that are open, sorted by location. At the start of a run, these are
// the sessions that earlier runs left open.
func (u *Uploads) Pending() []Upload {
	u.mu.Lock()
	defer u.mu.Unlock()
	return elements.Sorted(maps.Values(u.open), func(a, b Upload) int { return strings.Compare(a.Location, b.Location) })
}

// Earlier returns the sessions of earlier runs that did not finish, open or not. Their blobs may be in the mirror: a run can be
// killed after a session ended and before the journal has the blob.
func (u *Uploads) Earlier() []Upload { return append(u.Pending(), u.past...) }

// Lost returns the number of sessions that may be open at an unknown location, and their
// repositories, sorted.
func (u *Uploads) Lost() (n int, repositories []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for request, times := range u.lost {
		repository, _, _ := strings.Cut(request, " ")
		repositories = append(repositories, repository)
		n += times
	}
	slices.Sort(repositories)
	return n, slices.Compact(repositories)
}

// ForgetLost forgets the sessions that Lost returns. Registries expire them.
func (u *Uploads) ForgetLost() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for request, times := range u.lost {
		for range times {
			_, _ = fmt.Fprintf(u.out, "refused %s\n", request) // it is a hint
		}
	}
	clear(u.lost)
}

// answered records a response to a request for a session; u.mu is held.
func (u *Uploads) answered(request string) {
	if u.lost[request]--; u.lost[request] <= 0 {
		delete(u.lost, request)
	}
}

// Requested implements remote.SessionLog.
func (u *Uploads) Requested(repository string, blob digest.Digest) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lost[repository+" "+blob.String()]++
	_, _ = fmt.Fprintf(u.out, "requested %s %s\n", repository, blob) // it is a hint
}

// NotOpened implements remote.SessionLog.
func (u *Uploads) NotOpened(repository string, blob digest.Digest) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answered(repository + " " + blob.String())
	_, _ = fmt.Fprintf(u.out, "refused %s %s\n", repository, blob) // it is a hint
}

// Opened implements remote.SessionLog.
func (u *Uploads) Opened(repository string, blob digest.Digest, location string) {
	if strings.ContainsAny(location, " \n") {
		return // not a URL
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answered(repository + " " + blob.String())
	u.open[location] = Upload{Repository: repository, Blob: blob, Location: location}
	_, _ = fmt.Fprintf(u.out, "opened %s %s %s\n", repository, blob, location) // it is a hint
}

// Ended implements remote.SessionLog.
func (u *Uploads) Ended(location string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, location)
	_, _ = fmt.Fprintf(u.out, "ended %s\n", location) // it is a hint
}

// Close closes the list. If all sessions are ended, it removes the file.
func (u *Uploads) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.out.Close()
	if len(u.open) == 0 && len(u.lost) == 0 {
		err = errors.Join(err, u.folder.Remove(u.name))
	}
	return err
}
