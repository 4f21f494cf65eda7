package archive

import (
	"bytes"
	"errors"
	"fmt"
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

// readSet reads the set manifest of a sequence and compares it with its sum.
// The digest is that of its
// text. What is wrong with it is a *DamageError.
func readSet(root *os.Root, sequence int) (*set, digest.Digest, error) {
	name := setName(sequence)
	damaged := func(file, problem string) error {
		return &DamageError{Dir: root.Name(), Damage: []Damage{{File: file, Problem: problem}}}
	}
	raw, err := regular.Read(root, name, maxSet)
	if err != nil {
		return nil, "", damaged(name, problemOf(err))
	}
	d := digest.FromBytes(raw)
	text, err := regular.Read(root, sumName(sequence), blockSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", damaged(sumName(sequence), "missing")
	case err != nil:
		return nil, "", damaged(sumName(sequence), problemOf(err))
	case !bytes.Equal(text, sum(setID{sequence: sequence}, d)):
		return nil, "", damaged(name, fmt.Sprintf("its digest is %s, which is not what %s says: one of the two was altered", d, sumName(sequence)))
	}
	s, err := parseSet(raw)
	if err != nil {
		return nil, "", fmt.Errorf("reading %s in %s: %w", name, root.Name(), err)
	}
	if s.Sequence != sequence {
		return nil, "", damaged(name, fmt.Sprintf("it is the set manifest of sequence %d: it was renamed", s.Sequence))
	}
	return s, d, nil
}
