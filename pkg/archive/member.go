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

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// problemMissing is the problem of a volume that no folder has.
const problemMissing = "missing"

// A member is one of the sets that an Archive consists of.
type member struct {
	set *set
	// outer is the set as it is in the set manifest, and key opens its files. If the set is not
	// encrypted, or cannot be opened, they are set and nil.
	outer  *set
	key    age.Identity
	digest digest.Digest // of the set manifest
	name   string        // of the set manifest
	dir    int           // the folder that has it, by its number
	// recovery is not nil if no folder has the set manifest; dir has a volume then.
	recovery *recovery
	volumes  []foundVolume // by volume
}

// volumePosition describes a volume for a person who looks for it.
func (m *member) volumePosition(i int) string {
	kind := ""
	if m.set.Repairs != nil {
		kind = "repair of "
	}
	return fmt.Sprintf("%ssequence %d, volume %d of %d", kind, m.set.Sequence, i+1, len(m.set.Volumes))
}

// needsIdentity reports whether the set is encrypted and no identity opens it.
func (m *member) needsIdentity() bool { return decryption{m.outer, m.key}.needsIdentity() }

func (m *member) close() (err error) {
	for i := range m.volumes {
		err = errors.Join(err, closeAll(m.volumes[i].files))
	}
	return err
}

// closeAll closes all files, whether or not one of them fails.
func closeAll[C io.Closer](files []C) error {
	errs := elements.Map(files, func(f C) error { return f.Close() })
	return errors.Join(errs...)
}

// A foundVolume is a volume as it was found.
type foundVolume struct {
	// files are the files that are the volume, or may be what remains of it. If problem is "", all
	// are equally good.
	files   []file
	problem string
}

// A file is an open volume.
type file struct {
	readAtCloser
	dir    int    // the folder, by its number
	name   string // in the folder
	size   int64
	device uint64 // the device that it is on
}

// readAtCloser is an open file.
type readAtCloser interface {
	io.ReaderAt
	io.Closer
}

// findVolumes looks for the volumes of a member in all folders: by name, then by their labels among files with other
// names. What is damaged in one copy may be intact in another.
func (a *Archive) findVolumes(m *member) {
	if m.volumes == nil {
		m.volumes = make([]foundVolume, len(m.set.Volumes))
		for i := range m.volumes {
			m.volumes[i].problem = problemMissing
		}
	}
	for dir := range a.folders {
		for i := range m.volumes {
			m.volumes[i].tryFile(a.folders[dir], dir, m.set.Volumes[i].Name, &m.set.Volumes[i])
		}
	}
	for dir := range a.folders {
		a.findRenamed(m, dir)
	}
}

// tryFile opens a file that may be the volume. Its content says more than its length.
func (f *foundVolume) tryFile(root *os.Root, dir int, name string, v *volume) {
	if slices.ContainsFunc(f.files, func(have file) bool { return have.dir == dir && have.name == name }) {
		return // it was found before
	}
	opened, info, err := regular.Open(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		if len(f.files) == 0 && name == v.Name {
			f.problem = problemOf(err)
		}
		return
	}
	problem := ""
	switch {
	case name != v.Name && (info.Size() != v.Size || labelProblem(opened, v) != ""):
		_ = opened.Close() // only read from
		return
	case info.Size() < v.Size:
		problem = fmt.Sprintf("truncated: it has %d of %d bytes", info.Size(), v.Size)
	case info.Size() > v.Size:
		problem = fmt.Sprintf("too long: it has %d bytes instead of %d", info.Size(), v.Size)
	}
	if first := &v.Entries[0]; info.Size() >= first.Offset+first.Size {
		if other := labelProblem(opened, v); other != "" {
			problem = other
		}
	}
	f.addFile(file{opened, dir, name, info.Size(), device(info, dir)}, problem)
}

// addFile adds a file. An intact one replaces damaged ones, which are kept only if there is nothing
// better.
func (f *foundVolume) addFile(found file, problem string) {
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

// maxRenamed limits how many files of other names are opened in a folder.
const maxRenamed = 20_000

// findRenamed looks for volumes among the files of a folder that begin with their labels, whatever their names.
func (a *Archive) findRenamed(m *member, dir int) {
	for _, found := range a.labelled[dir] {
		i := found.label.Volume - 1
		if found.id() != m.set.id() || i >= len(m.volumes) || found.name == m.set.Volumes[i].Name {
			continue
		}
		lost := m.volumes[i].problem != ""
		m.volumes[i].tryFile(a.folders[dir], dir, found.name, &m.set.Volumes[i])
		if lost && m.volumes[i].problem == "" {
			a.log.Warn("a volume has another name; it was recognized by its label", "volume", m.set.Volumes[i].Name, "file", found.name, "dir", a.dirs[dir])
		}
	}
}

// labelProblem describes a file that does not begin with the volume's label. It returns "" for the
// volume.
func labelProblem(f io.ReaderAt, v *volume) string {
	first := &v.Entries[0]
	raw := make([]byte, min(first.Size, maxLabel))
	if _, err := f.ReadAt(raw, first.Offset); err != nil && err != io.EOF {
		return fmt.Sprintf("unreadable: %v", err)
	}
	if first.Digest.Algorithm().FromBytes(raw) == first.Digest {
		return ""
	}
	// The label of another volume may be longer or shorter.
	if found, ok := readLabel(f); ok {
		series := ""
		if found.Name != "" {
			series = fmt.Sprintf(" of %.80q", found.Name)
		}
		return fmt.Sprintf("it is not this volume, but volume %d of %d of sequence %d%s with the plan %.20q", found.Volume, found.Volumes, found.Sequence, series, found.Plan)
	}
	return "it does not begin with the label of this volume: it is another file, or damaged"
}

// maxLabel limits a label, in bytes.
const maxLabel = 4096

// readLabel reads the label at the beginning of a volume, which is untrusted. ok is false if there
// is none.
func readLabel(f io.ReaderAt) (l label, ok bool) {
	raw := make([]byte, maxLabel)
	n, _ := f.ReadAt(raw, blockSize)
	err := json.NewDecoder(trimZeros(raw[:n])).Decode(&l)
	ok = err == nil && l.Sequence > 0 && l.Sequence <= maxSequence &&
		l.Volume > 0 && l.Volume <= l.Volumes && l.Volumes <= maxVolumes
	return l, ok
}

func (u decryption) needsIdentity() bool { return u.outer.Encryption != nil && u.key == nil }
