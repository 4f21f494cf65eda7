package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
)

// A Journal remembers which blobs an unfinished run brought to a mirror. It is
// a hint: what it says is looked up before it is believed, so that a line that
// was lost or never became true does no harm. It implements mirror.Journal.
type Journal struct {
	folder *os.Root // of the workspace
	name   string   // in it

	mu      sync.Mutex
	arrived map[string]bool
	out     *os.File
}

// maxJournal bounds what is read of a journal, in bytes; the rest is forgotten.
const maxJournal = 256 << 20

// Journal opens the journal of the mirror that key names ("host-prefix").
func (w *Workspace) Journal(key string) (*Journal, error) {
	j := &Journal{folder: w.disk.Root, name: "journal/" + key + ".txt", arrived: map[string]bool{}}
	f, err := j.folder.OpenFile(j.name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxJournal))
	for lines.Scan() {
		j.arrived[lines.Text()] = true
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, errors.Join(fmt.Errorf("reading the journal %s: %w", f.Name(), err), f.Close())
	}
	j.out = f
	return j, nil
}

// Has reports whether an earlier run brought the blob to the repository.
func (j *Journal) Has(repository string, d digest.Digest) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.arrived[line(repository, d)]
}

// Add notes that the blob arrived.
func (j *Journal) Add(repository string, d digest.Digest) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := j.out.WriteString(line(repository, d) + "\n")
	return err
}

// Suppose has Has report a blob of which an earlier run did not learn whether it
// arrived.
func (j *Journal) Suppose(repository string, d digest.Digest) error {
	j.mu.Lock()
	j.arrived[line(repository, d)] = true
	j.mu.Unlock()
	return j.Add(repository, d)
}

// Done closes the journal; where the run was finished, it is removed.
func (j *Journal) Done(finished bool) error {
	err := j.out.Close()
	if finished {
		err = errors.Join(err, j.folder.Remove(j.name))
	}
	return err
}

func line(repository string, d digest.Digest) string {
	return strings.ReplaceAll(repository, "\n", "") + " " + d.String()
}
