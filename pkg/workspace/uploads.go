package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
)

// Uploads remembers which upload sessions a run has open at a mirror, so that the
// next can have those cancelled that a run which was killed left behind. It is a
// hint, and nobody waits for it to be durable. It implements remote.SessionLog.
type Uploads struct {
	folder *os.Root // of the workspace
	name   string   // in it

	mu   sync.Mutex
	open map[string]Upload // by location
	out  *os.File
}

// An Upload is a session that was not ended.
type Upload struct {
	Repository string // with host
	Blob       digest.Digest
	Location   string // may let who knows it write to the session
}

// Uploads opens what is remembered of the mirror that key names. Only the user can
// read it.
func (w *Workspace) Uploads(key string) (*Uploads, error) {
	u := &Uploads{folder: w.disk.Root, name: "journal/" + key + ".uploads.txt", open: map[string]Upload{}}
	f, err := u.folder.OpenFile(u.name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the list of uploads: %w", err)
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxJournal))
	for lines.Scan() {
		switch field := strings.Split(lines.Text(), " "); {
		case len(field) == 4 && field[0] == "opened":
			u.open[field[3]] = Upload{Repository: field[1], Blob: digest.Digest(field[2]), Location: field[3]}
		case len(field) == 2 && field[0] == "ended":
			delete(u.open, field[1])
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, errors.Join(fmt.Errorf("reading the list of uploads %s: %w", f.Name(), err), f.Close())
	}
	u.out = f
	return u, nil
}

// Left are the sessions that are open, before a run begins those that earlier ones
// left, sorted by location.
func (u *Uploads) Left() []Upload {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.SortedFunc(maps.Values(u.open), func(a, b Upload) int { return strings.Compare(a.Location, b.Location) })
}

// Opened implements remote.SessionLog.
func (u *Uploads) Opened(repository string, blob digest.Digest, location string) {
	if strings.ContainsAny(location, " \n") {
		return // no URL
	}
	u.mu.Lock()
	defer u.mu.Unlock()
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

// Close ends the list. Where all sessions are ended, nothing of it stays.
func (u *Uploads) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.out.Close()
	if len(u.open) == 0 {
		err = errors.Join(err, u.folder.Remove(u.name))
	}
	return err
}
