package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

const (
	// checksumFile lists the SHA-256 checksums of the state files, as sha256sum --check reads them.
	// A file that it does not list was written by an older version and is not verified.
	checksumFile = "SHA256SUMS"
	// maxChecksums is how many bytes of the list are read.
	maxChecksums = 16 << 20
)

// errAltered means that a state file is not as Gantry wrote it.
var errAltered error = alteredError{}

type alteredError struct{}

// Error names the list of checksums.
func (alteredError) Error() string {
	return "the file was altered or damaged since Gantry wrote it: its checksum in " + checksumFile + " is another one"
}

// Advice returns advice.Mismatch, without a hint.
func (alteredError) Advice() (advice.Kind, string) { return advice.Mismatch, "" }

// Remedy is the advice for files that can be written again.
func (alteredError) Remedy() string {
	return "remove it, or remove its line from " + checksumFile + " to use it as it is"
}

// checksums are the checksums of state files, by name. While a file is replaced, it has two: the old
// one and the new one, so that a run that is killed at any time leaves a file that matches.
type checksums struct {
	disk durable.Folder

	mu     sync.Mutex
	byName map[string][]string
	// stale means that the list has checksums of files that were replaced since.
	stale bool
}

func unreadableChecksums(disk durable.Folder, err error) error {
	return advice.Wrap(advice.Mismatch, fmt.Errorf("reading %s: %w", filepath.Join(disk.Root.Name(), checksumFile), err),
		"remove it; state files are then not verified until they are written again")
}

// readChecksums reads the list of a workspace, which need not exist.
func readChecksums(disk durable.Folder) (*checksums, error) {
	c := &checksums{disk: disk, byName: map[string][]string{}}
	f, _, err := regular.Open(disk.Root, checksumFile)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, unreadableChecksums(disk, err)
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxChecksums))
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if raw, notHex := hex.DecodeString(sum); !ok || notHex != nil || len(raw) != sha256.Size {
			err = fmt.Errorf("%.80q is not a checksum and a file name", lines.Text())
			break
		}
		c.byName[name] = append(c.byName[name], sum)
	}
	if err = errors.Join(err, lines.Err(), f.Close()); err != nil {
		return nil, unreadableChecksums(disk, err)
	}
	for name := range c.byName {
		if _, err := disk.Root.Lstat(name); err != nil {
			delete(c.byName, name) // the user removed it, a run was killed before it was written, or no file has such a name
			c.stale = true
		}
	}
	return c, nil
}

// verify compares a file with its checksum, if it has one, and goes back to the start of the file.
func (c *checksums) verify(name string, f io.ReadSeeker) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := c.byName[name]
	if want == nil {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	have := hex.EncodeToString(sum.Sum(nil))
	if !slices.Contains(want, have) {
		return errAltered
	}
	c.set(name, have)
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// set makes sum the only checksum of a file. The list is written later.
func (c *checksums) set(name, sum string) {
	if len(c.byName[name]) > 1 {
		c.byName[name] = []string{sum}
		c.stale = true
	}
}

// replace adds the checksum that a file will have, and calls commit, which replaces the file.
func (c *checksums) replace(name, sum string, commit func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.byName[name], sum) {
		c.byName[name] = append(c.byName[name], sum)
		if err := c.write(); err != nil {
			return err
		}
	}
	if err := commit(); err != nil {
		return err
	}
	c.set(name, sum)
	return nil
}

// announce adds the checksums that files will have. confirm is called for each when it has it.
func (c *checksums) announce(sums map[string]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	added := false
	for name, sum := range sums {
		if !slices.Contains(c.byName[name], sum) {
			c.byName[name] = append(c.byName[name], sum)
			added = true
		}
	}
	if !added {
		return nil
	}
	return c.write()
}

// confirm makes sum the only checksum of a file that was replaced.
func (c *checksums) confirm(name, sum string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(name, sum)
}

// has reports whether a text is what a file should be. That is unknown, and true, of files without a checksum.
func (c *checksums) has(name string, text []byte) bool {
	want := c.byName[name]
	return want == nil || slices.Contains(want, checksum(text))
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// close writes the list without the checksums of files that were replaced.
func (c *checksums) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stale {
		return nil
	}
	return c.write()
}

// write writes the list.
func (c *checksums) write() error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		for _, sum := range c.byName[name] {
			b.WriteString(sum + "  " + name + "\n")
		}
	}
	c.stale = false
	return c.disk.WriteFile(checksumFile, []byte(b.String()))
}

// keep replaces a state file by the text that fill writes, in a folder that it makes, and lists its checksum.
func (w *Workspace) keep(name string, fill func(io.Writer) error) error {
	w.noteDamage(name)
	err := w.disk.MkdirAll(path.Dir(name))
	var d *durable.Draft
	if err == nil {
		d, err = w.disk.Draft(path.Dir(name))
	}
	if err == nil {
		sum := sha256.New()
		if err = fill(io.MultiWriter(d, sum)); err != nil {
			err = errors.Join(err, d.Discard())
		} else {
			committed := false
			err = w.sums.replace(name, hex.EncodeToString(sum.Sum(nil)), func() error {
				committed = true
				return d.Commit(name)
			})
			if !committed {
				err = errors.Join(err, d.Discard())
			}
		}
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Join(w.dir, filepath.FromSlash(name)), err)
	}
	return nil
}

// noteDamage calls OnDamage if a file that is going to be replaced does not match its checksum.
func (w *Workspace) noteDamage(name string) {
	if w.OnDamage == nil {
		return
	}
	f, err := w.openState(name)
	switch {
	case err == nil:
		_ = f.Close() // only read
	case errors.Is(err, errAltered):
		w.OnDamage(name)
	}
}

// keepText is keep for a text. It does not write a file that has that text.
func (w *Workspace) keepText(name string, text []byte) error {
	sum := sha256.Sum256(text)
	if have, err := regular.Read(w.disk.Root, name, int64(len(text))); err == nil && bytes.Equal(have, text) {
		return w.sums.replace(name, hex.EncodeToString(sum[:]), func() error { return nil })
	}
	return w.keep(name, func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	})
}

// openState opens a state file that matches its checksum.
func (w *Workspace) openState(name string) (*os.File, error) {
	f, _, err := regular.Open(w.disk.Root, name)
	if err != nil {
		return nil, err
	}
	if err := w.sums.verify(name, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readState reads a small state file that matches its checksum.
func (w *Workspace) readState(name string) ([]byte, error) {
	f, err := w.openState(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	return text, errors.Join(err, f.Close())
}

// VerifyPlan compares the file of a plan with its checksum if it is one of a workspace, which need
// not be locked. Other files are not read.
func VerifyPlan(path string) error {
	folder, base := filepath.Split(filepath.Clean(path))
	if filepath.Base(folder) != "plans" {
		return nil
	}
	root, err := os.OpenRoot(filepath.Dir(filepath.Clean(folder)))
	if err != nil {
		return nil //nolint:nilerr // it is not in a workspace
	}
	err = verifyFile(durable.Folder{Root: root}, "plans/"+base)
	if errors.Is(err, errAltered) { // unless another run replaced it at that moment
		err = verifyFile(durable.Folder{Root: root}, "plans/"+base)
	}
	return errors.Join(err, root.Close())
}

// verifyFile compares a file of a workspace with its checksum, if it has one.
func verifyFile(disk durable.Folder, name string) error {
	sums, err := readChecksums(disk)
	if err != nil || sums.byName[name] == nil {
		return err
	}
	f, _, err := regular.Open(disk.Root, name)
	if err != nil {
		return err
	}
	return errors.Join(sums.verify(name, f), f.Close())
}

// hintFor returns a hint for a state file that cannot be read, with what else is possible if it was
// altered on purpose.
func hintFor(err error, hint string) string {
	if errors.Is(err, errAltered) {
		hint += "; if it was altered on purpose, remove its line from " + checksumFile + " in the workspace instead"
	}
	return hint
}
