package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// A Journal lists the blobs that an unfinished run copied to a mirror. It is a hint: the next run
// asks the mirror for each of them, so that a lost or wrong line does no harm. It implements
// mirror.Journal.
type Journal struct {
	folder *os.Root // the workspace
	name   string   // of the file in the workspace

	mu     sync.Mutex
	copied map[string]bool
	out    *os.File
}

// maxJournal is how many bytes of a journal are read. The rest is ignored.
const maxJournal = 256 << 20

// Journal opens the journal of a mirror, which has the same name as for Records.
func (w *Workspace) Journal(mirror string) (*Journal, error) {
	j := &Journal{folder: w.disk.Root, name: "journal/" + mirror + ".txt", copied: map[string]bool{}}
	var err error
	j.out, err = openJournal(j.folder, j.name, 0o644, func(line string) { j.copied[line] = true })
	return j, err
}

// openJournal opens a file of hints for appending, after it called read for each line.
func openJournal(folder *os.Root, name string, mode os.FileMode, read func(line string)) (*os.File, error) {
	f, err := regular.Edit(folder, name, os.O_CREATE|os.O_APPEND, mode)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxJournal))
	for lines.Scan() {
		read(lines.Text())
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, errors.Join(fmt.Errorf("reading the journal %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// Has reports whether an earlier run copied the blob to the repository.
func (j *Journal) Has(repository string, d digest.Digest) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.copied[line(repository, d)]
}

// Add records that the blob was copied.
func (j *Journal) Add(repository string, d digest.Digest) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := j.out.WriteString(line(repository, d) + "\n")
	return err
}

// Assume makes Has report a blob that an earlier run may have copied: it ended before the registry
// confirmed the upload.
func (j *Journal) Assume(repository string, d digest.Digest) error {
	j.mu.Lock()
	j.copied[line(repository, d)] = true
	j.mu.Unlock()
	return j.Add(repository, d)
}

// Done closes the journal. If the run was finished, it removes the file.
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
