package archive

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// How the set manifest of a set was found if it is in no folder.
const (
	// RecoveredCopy means that the copy in a volume was read. It is the set manifest, byte for byte.
	RecoveredCopy = "copy"
	// RecoveredHeaders means that it was made from the headers of the volumes, which earlier versions
	// wrote without a copy. The content is known by its digests. Which sets it builds on, and whether it
	// was signed, is not known.
	RecoveredHeaders = "headers"
)

// A recovery is a set manifest that was found in volumes.
type recovery struct {
	kind   string // RecoveredCopy or RecoveredHeaders
	text   []byte // the set manifest
	copied []byte // the text that signature is of
	// signature and inner are the signature and the inner set manifest; nil if there are none.
	signature, inner []byte
}

// fromHeaders reports whether the set manifest was made from the headers of the volumes.
func (c *manifestCopy) fromHeaders() bool {
	return c.recovery != nil && c.recovery.kind == RecoveredHeaders
}

// errNoSet means that the folders have neither the set manifest of a set nor volumes of it.
var errNoSet = fmt.Errorf("there is no such set: %w", fs.ErrNotExist)

// recoverSet returns the set manifest of a set that has volumes in the folders and no set manifest. It
// returns errNoSet if there are no volumes either.
func (a *Archive) recoverSet(lists []*listing, id setID) (manifestCopy, error) {
	volumes := a.volumesOf(lists, id)
	if len(volumes) == 0 {
		return manifestCopy{}, errNoSet
	}
	if v := ofAnotherSet(volumes); v != nil {
		return manifestCopy{}, mixedSets("opening the archive in %s: %s and %s are volumes of two different sets with the sequence %d, and %s, which would tell them apart, is missing",
			a.dirNames(), volumes[0].name, v.name, id.sequence, id.manifest())
	}
	found, bad := a.findCopies(volumes)
	if found.set != nil {
		a.log.Warn("the set manifest is missing; its copy in a volume is used", "missing", id.manifest(), "dir", a.dirs[found.dir])
		return found, nil
	}
	c, err := a.fromHeaders(id, volumes)
	if err != nil {
		return manifestCopy{}, errors.Join(append(bad, err)...)
	}
	a.log.Warn("the set manifest is missing, and the volumes have no copy of it; the content is known from their headers, but not the signature, and not what it builds on",
		"missing", id.manifest(), "dir", a.dirs[volumes[0].dir])
	return c, nil
}

// volumesOf returns the volumes of a set that are recognized by their labels, by number.
func (a *Archive) volumesOf(lists []*listing, id setID) (volumes []labelled) {
	for _, l := range lists {
		for i := range l.labelled {
			if v := &l.labelled[i]; v.id() == id {
				volumes = append(volumes, *v)
			}
		}
	}
	elements.Sort(volumes, func(v, w labelled) int { return cmp.Compare(v.label.Volume, w.label.Volume) })
	return volumes
}

// ofAnotherSet returns a volume that is of another set than the first, or nil.
func ofAnotherSet(volumes []labelled) *labelled {
	for i := range volumes {
		same := volumes[0].label
		if same.Volume = volumes[i].label.Volume; volumes[i].label != same {
			return &volumes[i]
		}
	}
	return nil
}

// findCopies returns the first usable copy of the set manifest in volumes, and the problems of others before it.
func (a *Archive) findCopies(volumes []labelled) (found manifestCopy, bad []error) {
	for i := range volumes {
		v := &volumes[i]
		c, err := a.readCopy(v)
		switch {
		case err == nil:
			return c, bad
		case !errors.Is(err, fs.ErrNotExist):
			bad = append(bad, err)
		}
	}
	return manifestCopy{}, bad
}

// readCopy returns the copy of the set manifest in a volume. If the volume has none, the error wraps
// fs.ErrNotExist.
func (a *Archive) readCopy(v *labelled) (manifestCopy, error) {
	f, info, err := regular.Open(a.folders[v.dir], v.name)
	if err != nil {
		return manifestCopy{}, err
	}
	defer f.Close() // only read from
	at, err := findCopy(f, info.Size(), v.label.Key != "", a.entryLimit)
	if err != nil {
		return manifestCopy{}, err
	}
	damaged := func(problem string) error {
		return &DamageError{Dir: a.dirs[v.dir], Damage: []Damage{{File: v.name, Entry: copyPath, Offset: at.Offset, Problem: problem}}}
	}
	r, sum, err := readCopyFiles(io.NewSectionReader(f, at.Offset, at.Size))
	if err != nil {
		return manifestCopy{}, damaged(problemOf(err))
	}
	if r.text, err = withCopySum(r.copied, sum); err != nil {
		return manifestCopy{}, damaged(err.Error())
	}
	s, err := parse(bytes.NewReader(r.text), false, nil)
	switch {
	case err != nil:
		return manifestCopy{}, damaged(err.Error())
	case s.id() != v.id() || len(s.Volumes) != v.label.Volumes:
		return manifestCopy{}, damaged("it is of another set than the volume")
	}
	if problem := labelProblem(f, &s.Volumes[v.label.Volume-1]); problem != "" {
		return manifestCopy{}, damaged(problem)
	}
	return manifestCopy{dir: v.dir, set: s, digest: digest.FromBytes(r.text), recovery: r}, nil
}

// findCopy returns the location of the copy of the set manifest in a volume: the last file.
func findCopy(f io.ReaderAt, size int64, encrypted bool, limit int) (entry, error) {
	var last tarFile
	if err := eachFile(f, size, limit, func(t tarFile) bool { last = t; return true }); err != nil {
		return entry{}, fs.ErrNotExist // it is cut off, or damaged elsewhere
	}
	if last.path != copyPath && (!encrypted || !startsCopy(f, last)) {
		return entry{}, fs.ErrNotExist
	}
	return entry{Path: last.path, Offset: last.offset, Size: last.size}, nil
}

// startsCopy reports whether a file of an encrypted set begins like the copy of its set manifest.
func startsCopy(f io.ReaderAt, at tarFile) bool {
	head := make([]byte, len(copyManifest)+1)
	_, err := f.ReadAt(head, at.offset)
	return err == nil && string(head) == copyManifest+"\x00" && strings.HasPrefix(at.path, "e/")
}

// A copyField is where a file of the copy is read to, and how long it may be.
type copyField struct {
	name  string
	to    *[]byte
	limit int64
}

// readCopyFiles reads the copy of a set manifest, and returns its digest. The copy must have exactly the
// bytes that are written for what is in it, so that none is covered by nothing.
func readCopyFiles(from *io.SectionReader) (*recovery, digest.Digest, error) {
	sum, err := digest.SHA256.FromReader(from)
	if err != nil {
		return nil, "", err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return nil, "", err
	}
	r := &recovery{kind: RecoveredCopy}
	var checksum []byte
	fields := []copyField{{copyManifest, &r.copied, maxSet}, {copySum, &checksum, blockSize}, {copySignature, &r.signature, sshsig.MaxSize}, {copyInner, &r.inner, maxInner}}
	var parts []io.Reader
	left := from.Size()
	for in := tar.NewReader(from); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, "", err
		}
		i := slices.IndexFunc(fields, func(f copyField) bool { return f.name == h.Name })
		if i < 0 || *fields[i].to != nil || h.Size > fields[i].limit {
			return nil, "", fmt.Errorf("%.100q with %d bytes does not belong in it", h.Name, h.Size)
		}
		if *fields[i].to, err = io.ReadAll(in); err != nil {
			return nil, "", err
		}
		f := copiedFile{name: h.Name, size: h.Size}
		parts = append(parts, f.reader(bytes.NewReader(*fields[i].to)))
		left -= f.length()
	}
	again, err := digest.SHA256.FromReader(io.MultiReader(append(parts, io.LimitReader(zeros{}, max(left, 0)))...))
	switch {
	case err != nil:
		return nil, "", err
	case again != sum, !bytes.Equal(checksum, copySumLine(digest.FromBytes(r.copied))):
		return nil, "", errors.New("it was altered")
	}
	return r, sum, nil
}
