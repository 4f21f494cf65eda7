package archive

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// A listing is the files of archives in a folder, by sequence.
type listing struct {
	sets      []int            // sequences with a set manifest, ascending
	repairs   []int            // sequences with the set manifest of a repair, ascending
	files     map[int][]string // all files of a sequence, those of its repair too
	partial   bool             // a run is, or was, writing
	foreign   string           // a volume with a name of oc mirror, or ""
	foreignIs notFoundError    // what it is, if listWithVolumes looked
	labelled  []labelled       // volumes by their labels, if listWithVolumes looked for them
	// highestVolume is the highest number of mirror_000001.tar and so on, or 0.
	highestVolume int
}

// foreignVolume matches the volumes of archives that oc mirror writes, version 1 and 2.
var foreignVolume = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^mirror_(seq[0-9]+_)?[0-9]{6}\.tar$`) })

// list lists a folder.
func list(root *os.Root) (*listing, error) {
	names, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	l := &listing{files: map[int][]string{}}
	for _, e := range names {
		if e.Name() == partialName {
			l.partial = true
		}
		id, suffix, ok := parseName(e.Name())
		if !ok && strings.HasPrefix(e.Name(), "mirror_") {
			if foreignVolume().MatchString(e.Name()) {
				l.foreign = e.Name()
			}
			if m := volumeFile().FindStringSubmatch(e.Name()); m != nil {
				if number, err := strconv.Atoi(m[1]); err == nil {
					l.highestVolume = max(l.highestVolume, number)
				}
			}
		}
		if !ok {
			continue
		}
		l.files[id.sequence] = append(l.files[id.sequence], e.Name())
		switch {
		case suffix != ".json":
		case id.repair:
			l.repairs = append(l.repairs, id.sequence)
		default:
			l.sets = append(l.sets, id.sequence)
		}
	}
	slices.Sort(l.sets)
	slices.Sort(l.repairs)
	return l, nil
}

// volumesOf returns the volumes of a set that have names of oc mirror, which the listing does not know by
// sequence, and are in the folder.
func (l *listing) volumesOf(root *os.Root, sequence int) (names []string) {
	if l.highestVolume == 0 {
		return nil // without reading the set manifest
	}
	s, _, err := readSet(root, sequence)
	if err != nil || s.FirstVolume == 0 {
		return nil
	}
	for i := range s.Volumes {
		if s.Volumes[i].checkLabel(root) == nil {
			names = append(names, s.Volumes[i].Name)
		}
	}
	return names
}

// highest returns the highest sequence of any file, or 0.
func (l *listing) highest() int {
	high := 0
	for sequence := range l.files {
		high = max(high, sequence)
	}
	return high
}

// newest returns the highest sequence with a set manifest.
func (l *listing) newest() (sequence int, ok bool) {
	if len(l.sets) == 0 {
		return 0, false
	}
	return l.sets[len(l.sets)-1], true
}

// readSet is readManifest for a set that is not a repair.
func readSet(root *os.Root, sequence int) (*set, digest.Digest, error) {
	return readManifest(root, setID{sequence: sequence})
}

// readManifest reads a set manifest and compares it with its checksum file. It returns the digest
// of the text. A problem with it is a *DamageError, except for a set of another version of Gantry.
func readManifest(root *os.Root, id setID) (*set, digest.Digest, error) {
	name := id.manifest()
	damaged := func(file, problem string) error {
		return &DamageError{Dir: root.Name(), Damage: []Damage{{File: file, Problem: problem}}}
	}
	f, info, err := regular.Open(root, name)
	if err != nil {
		return nil, "", damaged(name, problemOf(err))
	}
	defer f.Close() // only read from
	if info.Size() > maxSet {
		return nil, "", damaged(name, fmt.Sprintf("it has more than the %d bytes that are allowed", maxSet))
	}
	whole := &hashed{io.NewSectionReader(f, 0, info.Size()), digest.SHA256.Digester()}
	d, err := whole.digest()
	if err != nil {
		return nil, "", damaged(name, problemOf(err))
	}
	text, err := regular.Read(root, id.sum(), blockSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", damaged(id.sum(), problemMissing)
	case err != nil:
		return nil, "", damaged(id.sum(), problemOf(err))
	case bytes.Equal(text, sum(id, d)):
	case differsLittle(text, sum(id, d)):
		return nil, "", damaged(id.sum(), fmt.Sprintf("it was altered; %s is sound. What it should say: %s", name, d.Encoded()))
	default:
		return nil, "", damaged(name, fmt.Sprintf("its digest is %s, which differs from %s: one of the two was altered", d, id.sum()))
	}
	s, err := parse(whole, false, nil)
	if is, readErr := whole.digest(); readErr != nil || is != d {
		return nil, "", damaged(name, "it was altered while it was read")
	}
	if errors.As(err, new(versionError)) {
		return nil, "", fmt.Errorf("reading %s in %s: %w", name, root.Name(), err)
	}
	if err != nil {
		return nil, "", damaged(name, err.Error())
	}
	if s.id() != id {
		return nil, "", damaged(name, fmt.Sprintf("it is the set manifest %s: it was renamed", s.id().manifest()))
	}
	return s, d, nil
}

// hashed computes the digest of a text that is read from its beginning.
type hashed struct {
	io.ReadSeeker
	sum digest.Digester
}

func (h *hashed) Seek(offset int64, whence int) (int64, error) {
	h.sum = digest.SHA256.Digester()
	return h.ReadSeeker.Seek(offset, whence)
}

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.ReadSeeker.Read(p)
	_, _ = h.sum.Hash().Write(p[:n]) // never an error
	return n, err
}

// digest reads the rest of the text and returns the digest of all of it.
func (h *hashed) digest() (digest.Digest, error) {
	_, err := io.Copy(io.Discard, h)
	return h.sum.Digest(), err
}

// differsLittle reports whether two texts differ in a few bytes only. The digests of two texts
// agree in one of sixteen characters, so a checksum that is almost right was altered itself, and
// not the text.
func differsLittle(have, want []byte) bool {
	if len(have) != len(want) {
		return false
	}
	differ := 0
	for i := range have {
		if have[i] != want[i] {
			differ++
		}
	}
	return differ <= 8
}

// checkLabel checks whether a file in folder has the volume's length and label.
func (v *volume) checkLabel(folder *os.Root) error {
	f, info, err := regular.Open(folder, v.Name)
	if err != nil {
		return err
	}
	defer f.Close() // only read from
	first := &v.Entries[0]
	raw := make([]byte, min(first.Size, blockSize))
	if _, err := f.ReadAt(raw, first.Offset); err != nil {
		return err
	}
	if info.Size() != v.Size || first.Digest.Algorithm().FromBytes(raw) != first.Digest {
		return fmt.Errorf("%s is not that volume, or was altered", v.Name)
	}
	return nil
}

// remove removes the files of a set, the set manifest first.
func remove(folder *os.Root, names []string) error {
	manifestFirst := func(a, b string) int { return cmp.Compare(len(a), len(b)) } // its name is the shortest
	for _, name := range elements.Sorted(slices.Values(names), manifestFirst) {
		if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", name, err)
		}
	}
	return nil
}
