// Package archive keeps content in volumes that are carried by hand.
//
// An archive is a set: volumes, which are plain tar files of limited size, and
// a set manifest, which says what is in them: the volume, offset and length of
// every entry, and digests that together cover every byte. All volumes
// extracted into one folder are an OCI image layout. The format is written down
// in docs/archive-format.md.
//
// Since the sizes of all entries are known beforehand, the place of every entry
// is too. A Writer takes content in any order, from several goroutines, and
// writes each byte once, where it belongs. It works in a folder beside the
// final names; the set manifest, which makes the files an archive, comes last.
// A Writer that was interrupted is followed by another that finds what is
// there. An Archive reads content in place, out of the volumes, and compares it
// with its digest: nothing is extracted.
//
// The package knows nothing of catalogs. The plan, which tells the far side
// what the content is for, is bytes to it.
package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/regular"
)

// An Archive is a set of volumes, open for reading. It is safe for concurrent
// use.
type Archive struct {
	root    *os.Root
	set     *set
	volumes []*os.File // nil where there is none
	unfit   []string   // what is wrong with a volume as a whole, or ""
	blobs   []place    // manifests and blobs, by digest
	files   map[string]place
}

// A place is an entry and the volume it lies in.
type place struct {
	volume int
	entry  *entry
}

// place finds content by its digest.
func (a *Archive) place(d digest.Digest) (place, bool) {
	i, ok := slices.BinarySearchFunc(a.blobs, d, func(p place, d digest.Digest) int {
		return strings.Compare(string(p.entry.Digest), string(d))
	})
	if !ok {
		return place{}, false
	}
	return a.blobs[i], true
}

// Digests are those of all manifests and blobs.
func (a *Archive) Digests() iter.Seq[digest.Digest] {
	return func(yield func(digest.Digest) bool) {
		for _, p := range a.blobs {
			if !yield(p.entry.Digest) {
				return
			}
		}
	}
}

// Open opens the newest set in dir. Each of its volumes has to be there, in its
// length, and to begin as that volume does; what is not so is a *DamageError.
// A folder without a set manifest is an error that wraps fs.ErrNotExist.
func Open(dir string) (*Archive, error) {
	a, err := Inspect(dir)
	if err != nil {
		return nil, err
	}
	var damage []Damage
	for i, problem := range a.unfit {
		if problem != "" {
			damage = append(damage, Damage{File: a.set.Volumes[i].Name, Problem: problem})
		}
	}
	if len(damage) > 0 {
		return nil, errors.Join(&DamageError{Dir: a.root.Name(), Damage: damage}, a.Close())
	}
	return a, nil
}

// Inspect is Open for an archive that may be damaged: volumes may be missing or
// be something else, which Verify tells and reading what lies in them meets. The
// set manifest has to be whole.
func Inspect(dir string) (*Archive, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, absentError(fmt.Sprintf("opening the archive %s: it is a file; name the folder that it lies in", dir))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the archive in %s: %w", dir, err)
	}
	l, err := list(root)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the archive in %s: %w", dir, err), root.Close())
	}
	sequence, ok := l.newest()
	if !ok {
		return nil, errors.Join(fmt.Errorf("opening the archive in %s: %w", dir, l.absent()), root.Close())
	}
	s, _, err := readSet(root, sequence)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return open(root, s), nil
}

// absent says why a folder without a set manifest is no archive.
func (l *listing) absent() error {
	switch {
	case l.partial:
		return absentError("writing it was not finished: run that again")
	case len(l.files) > 0:
		return absentError("it has volumes and no set manifest: bring " + setName(l.highest()) + " too")
	}
	return absentError("there is none, its set manifest would be called like " + setName(1))
}

// An absentError says why there is no archive, and is fs.ErrNotExist.
type absentError string

func (e absentError) Error() string { return string(e) }
func (absentError) Unwrap() error   { return fs.ErrNotExist }

// open opens the volumes of a set; root becomes the Archive's.
func open(root *os.Root, s *set) *Archive {
	a := &Archive{root: root, set: s, files: map[string]place{}}
	n := 0
	for i := range s.Volumes {
		n += len(s.Volumes[i].Entries)
	}
	a.blobs = make([]place, 0, n)
	for i := range s.Volumes {
		v := &s.Volumes[i]
		f, problem := openVolume(root, v)
		a.volumes = append(a.volumes, f)
		a.unfit = append(a.unfit, problem)
		for j := range v.Entries {
			e := &v.Entries[j]
			if e.Path != "" {
				a.files[e.Path] = place{i, e}
			} else {
				a.blobs = append(a.blobs, place{i, e})
			}
		}
	}
	slices.SortFunc(a.blobs, func(x, y place) int { return strings.Compare(string(x.entry.Digest), string(y.entry.Digest)) })
	return a
}

// openVolume opens a volume; problem is "" when it looks like that volume.
func openVolume(root *os.Root, v *volume) (f *os.File, problem string) {
	f, info, err := regular.Open(root, v.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "missing"
	case err != nil:
		return nil, problemOf(err)
	case info.Size() < v.Size:
		problem = fmt.Sprintf("truncated: it has %d of %d bytes", info.Size(), v.Size)
	case info.Size() > v.Size:
		problem = fmt.Sprintf("too long: it has %d bytes instead of %d", info.Size(), v.Size)
	}
	// What is in it says more than its length.
	if first := &v.Entries[0]; info.Size() < first.Offset+first.Size {
		return f, problem
	}
	if other := notThis(f, v); other != "" {
		problem = other
	}
	return f, problem
}

// notThis says what a file is that does not begin with the volume's label.
func notThis(f *os.File, v *volume) string {
	first := &v.Entries[0]
	raw := make([]byte, min(first.Size, blockSize))
	if _, err := f.ReadAt(raw, first.Offset); err != nil && err != io.EOF {
		return fmt.Sprintf("unreadable: %v", err)
	}
	if first.Digest.Algorithm().FromBytes(raw) == first.Digest {
		return ""
	}
	// Another label may be longer or shorter.
	raw = make([]byte, blockSize)
	n, _ := f.ReadAt(raw, blockSize)
	var found label
	if err := json.NewDecoder(bytesUntilZero(raw[:n])).Decode(&found); err == nil && found.Sequence > 0 && found.Volume > 0 {
		return fmt.Sprintf("it is not this volume but volume %d of %d of sequence %d with the plan %.20q", found.Volume, found.Volumes, found.Sequence, found.Plan)
	}
	return "it does not begin as this volume does: it is another file, or damaged"
}

// VolumeSize is the limit in bytes that its volumes were laid out for.
func (a *Archive) VolumeSize() int64 { return a.set.VolumeSize }

// Has reports whether the archive has the content. What its volume holds is
// not looked at.
func (a *Archive) Has(desc ocispec.Descriptor) bool {
	p, ok := a.place(desc.Digest)
	return ok && p.entry.Size == desc.Size
}

// Close closes the volumes.
func (a *Archive) Close() error {
	var errs []error
	for _, f := range a.volumes {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(append(errs, a.root.Close())...)
}
