package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/regular"
)

// A listing is what a folder has of archives, by sequence.
type listing struct {
	sets    []int            // sequences with a set manifest, ascending
	repairs []int            // sequences with the set manifest of a repair, ascending
	files   map[int][]string // all files of a sequence, those of its repair too
	partial bool             // a run is, or was, writing
}

// list looks through a folder.
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

// highest is the highest sequence that any file has; 0 where there is none.
func (l *listing) highest() int {
	high := 0
	for sequence := range l.files {
		high = max(high, sequence)
	}
	return high
}

// newest is the highest sequence of which there is a set manifest.
func (l *listing) newest() (sequence int, ok bool) {
	if len(l.sets) == 0 {
		return 0, false
	}
	return l.sets[len(l.sets)-1], true
}

// readSet is readManifest for a set that repairs none.
func readSet(root *os.Root, sequence int) (*set, digest.Digest, error) {
	return readManifest(root, setID{sequence: sequence})
}

// readManifest reads a set manifest and compares it with its sum. The digest is
// that of its text. What is wrong with it is a *DamageError.
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
		return nil, "", damaged(id.sum(), missing)
	case err != nil:
		return nil, "", damaged(id.sum(), problemOf(err))
	case bytes.Equal(text, sum(id, d)):
	case nearly(text, sum(id, d)):
		return nil, "", damaged(id.sum(), fmt.Sprintf("it was altered; %s is sound. What it should say: %s", name, d.Encoded()))
	default:
		return nil, "", damaged(name, fmt.Sprintf("its digest is %s, which is not what %s says: one of the two was altered", d, id.sum()))
	}
	s, err := parse(whole, false, nil)
	if is, readErr := whole.digest(); readErr != nil || is != d {
		return nil, "", damaged(name, "it was altered while it was read")
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading %s in %s: %w", name, root.Name(), err)
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

// digest reads what is left of the text. It is the digest of all of it.
func (h *hashed) digest() (digest.Digest, error) {
	_, err := io.Copy(io.Discard, h)
	return h.sum.Digest(), err
}

// nearly reports whether a text is another but for a few bytes. The digests of
// two texts agree in one character of sixteen, so a sum that is nearly right tells
// that it was altered and not the text.
func nearly(have, want []byte) bool {
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
