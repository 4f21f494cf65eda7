package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/regular"
)

// missing is the problem of a volume that no folder has.
const missing = "missing"

// A member is one of the sets that an Archive consists of.
type member struct {
	set *set
	// outer is the set as it stands in the set manifest, and key what opens its files:
	// for one that is not encrypted, set and nil; for one that cannot be opened too.
	outer  *set
	key    age.Identity
	digest digest.Digest // of the set manifest
	name   string        // of the set manifest
	dir    int           // the folder that has it, by its number
	media  []medium      // by volume
}

// which says which volume is meant, for a person who looks for it.
func (m *member) which(i int) string {
	kind := ""
	if m.set.Repairs != nil {
		kind = "repair of "
	}
	return fmt.Sprintf("%ssequence %d, volume %d of %d", kind, m.set.Sequence, i+1, len(m.set.Volumes))
}

// locked reports whether the set is encrypted and nothing that is here opens it.
func (m *member) locked() bool { return unsealed{m.outer, m.key}.locked() }

func (m *member) close() error {
	var errs []error
	for i := range m.media {
		for _, f := range m.media[i].files {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// A medium is a volume as it was found.
type medium struct {
	// files are those that are the volume, or may be what is left of it. All are
	// equally good where problem is "".
	files   []file
	problem string
}

// A file is an open volume.
type file struct {
	readable
	dir    int    // the folder, by its number
	name   string // in the folder
	size   int64
	device uint64 // what it lies on
}

// readable is what is asked of an open file.
type readable interface {
	io.ReaderAt
	io.Closer
}

// find looks for the volumes of a member that are not sound yet, by their names in
// the folders from number `from` on, and what is not there under its name, by
// length and label among the other files.
func (a *Archive) find(m *member, from int) {
	if m.media == nil {
		m.media = make([]medium, len(m.set.Volumes))
		for i := range m.media {
			m.media[i].problem = missing
		}
	}
	for dir := from; dir < len(a.folders); dir++ {
		for i := range m.media {
			m.media[i].try(a.folders[dir], dir, m.set.Volumes[i].Name, &m.set.Volumes[i])
		}
	}
	for dir := from; dir < len(a.folders); dir++ {
		if !slices.ContainsFunc(m.media, func(f medium) bool { return f.problem != "" }) {
			return
		}
		a.findRenamed(m, dir)
	}
}

// try takes a file for a volume where it is one. What it holds says more than its
// length.
func (f *medium) try(root *os.Root, dir int, name string, v *volume) {
	if slices.ContainsFunc(f.files, func(have file) bool { return have.dir == dir && have.name == name }) {
		return // it was found before
	}
	opened, info, err := regular.Open(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		if len(f.files) == 0 {
			f.problem = problemOf(err)
		}
		return
	}
	problem := ""
	switch {
	case info.Size() < v.Size:
		problem = fmt.Sprintf("truncated: it has %d of %d bytes", info.Size(), v.Size)
	case info.Size() > v.Size:
		problem = fmt.Sprintf("too long: it has %d bytes instead of %d", info.Size(), v.Size)
	}
	if first := &v.Entries[0]; info.Size() >= first.Offset+first.Size {
		if other := notThis(opened, v); other != "" {
			problem = other
		}
	}
	f.add(file{opened, dir, name, info.Size(), device(info, dir)}, problem)
}

// add takes a file in. A sound one takes the place of those that are not, which
// are kept only where there is nothing better.
func (f *medium) add(found file, problem string) {
	switch {
	case len(f.files) == 0:
		f.problem = problem
	case f.problem == "" && problem != "":
		_ = found.Close() // only read from
		return
	case f.problem != "" && problem == "":
		for _, worse := range f.files {
			_ = worse.Close() // only read from
		}
		f.files, f.problem = nil, ""
	}
	f.files = append(f.files, found)
}

// maxStrange bounds how many files of other names are looked into in a folder.
const maxStrange = 20_000

// findRenamed looks for the volumes that are not sound among the files of a folder
// that have their length, whatever they are called.
func (a *Archive) findRenamed(m *member, dir int) {
	entries, err := fs.ReadDir(a.folders[dir].FS(), ".")
	if err != nil {
		return // what it lacks is named
	}
	sizes := map[int64][]int{}
	for i := range m.media {
		if m.media[i].problem != "" {
			sizes[m.set.Volumes[i].Size] = append(sizes[m.set.Volumes[i].Size], i)
		}
	}
	for _, e := range entries[:min(len(entries), maxStrange)] {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		for _, i := range sizes[info.Size()] {
			v := &m.set.Volumes[i]
			if m.media[i].problem == "" || e.Name() == v.Name {
				continue
			}
			f, opened, err := regular.Open(a.folders[dir], e.Name())
			if err != nil {
				break
			}
			if opened.Size() != v.Size || notThis(f, v) != "" {
				_ = f.Close() // only read from
				continue
			}
			a.log.Warn("a volume is known by its label, its name is another one", "volume", v.Name, "file", e.Name(), "dir", a.dirs[dir])
			m.media[i].add(file{f, dir, e.Name(), v.Size, device(opened, dir)}, "")
			break
		}
	}
}

// notThis says what a file is that does not begin with the volume's label.
func notThis(f io.ReaderAt, v *volume) string {
	first := &v.Entries[0]
	raw := make([]byte, min(first.Size, maxLabel))
	if _, err := f.ReadAt(raw, first.Offset); err != nil && err != io.EOF {
		return fmt.Sprintf("unreadable: %v", err)
	}
	if first.Digest.Algorithm().FromBytes(raw) == first.Digest {
		return ""
	}
	// Another label may be longer or shorter.
	if found, ok := readLabel(f); ok {
		series := ""
		if found.Name != "" {
			series = fmt.Sprintf(" of %.80q", found.Name)
		}
		return fmt.Sprintf("it is not this volume but volume %d of %d of sequence %d%s with the plan %.20q", found.Volume, found.Volumes, found.Sequence, series, found.Plan)
	}
	return "it does not begin as this volume does: it is another file, or damaged"
}

// maxLabel bounds a label, in bytes.
const maxLabel = 4096

// readLabel reads the label that a volume begins with, which may come from
// anybody. ok is false where there is none.
func readLabel(f io.ReaderAt) (l label, ok bool) {
	raw := make([]byte, maxLabel)
	n, _ := f.ReadAt(raw, blockSize)
	err := json.NewDecoder(bytesUntilZero(raw[:n])).Decode(&l)
	ok = err == nil && l.Sequence > 0 && l.Sequence <= maxSequence &&
		l.Volume > 0 && l.Volume <= l.Volumes && l.Volumes <= maxVolumes
	return l, ok
}
