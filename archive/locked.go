package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// A LockedError says that an archive is encrypted, and that no identity that was
// given opens it.
type LockedError struct {
	Dir  string
	File string // its set manifest
	// Tried is how many identities were tried.
	Tried int
	// Kinds are what kinds of recipients it is encrypted to, one for each. Who they
	// are, age does not tell.
	Kinds []string
	Err   error // why it does not open, where that is not simply another's; else nil
}

func (e *LockedError) Error() string {
	to := ""
	if len(e.Kinds) > 0 {
		to = fmt.Sprintf(", to %s (%s)", plural(len(e.Kinds), "recipient", "recipients"), strings.Join(e.Kinds, ", "))
	}
	switch {
	case e.Err != nil:
		return fmt.Sprintf("the archive in %s is encrypted%s, and %s does not open: %v", e.Dir, to, e.File, e.Err)
	case e.Tried == 0:
		return fmt.Sprintf("the archive in %s is encrypted%s, and there is no identity to open %s with", e.Dir, to, e.File)
	}
	return fmt.Sprintf("the archive in %s is encrypted%s, and none of %s opens %s; whose would, the file does not tell", e.Dir, to, plural(e.Tried, "identity", "identities"), e.File)
}

func (e *LockedError) Unwrap() error { return e.Err }

func plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// unsealed is what an encrypted set is read with.
type unsealed struct {
	outer *set         // as it stands in the set manifest
	key   age.Identity // nil where nothing is encrypted, or nothing opens it
}

func (u unsealed) locked() bool { return u.outer.Encryption != nil && u.key == nil }

// unseal opens a set, where it is encrypted and there are identities. Its inner set
// manifest has to be whole in any case.
func (a *Archive) unseal(c *manifestCopy) error {
	c.outer = c.set
	if c.set.Encryption == nil {
		return nil
	}
	raw, err := c.set.readSealed(a.folders[c.dir])
	if err != nil || len(a.identities) == 0 {
		return err
	}
	key, err := c.set.Encryption.open(a.identities)
	if err != nil {
		return a.lockedError(c.set, a.dirs[c.dir], err)
	}
	text, err := age.Decrypt(bytes.NewReader(raw), key)
	if err != nil {
		return a.lockedError(c.set, a.dirs[c.dir], fmt.Errorf("its key is not that of %s: %w", c.set.id().sealed(), err))
	}
	plain, err := io.ReadAll(io.LimitReader(text, maxInner))
	var inner *set
	if err == nil {
		inner, err = parseInner(plain, c.outer)
	}
	if err != nil {
		return fmt.Errorf("reading %s in %s: %w", c.set.id().sealed(), a.dirs[c.dir], err)
	}
	c.set, c.key = inner, key
	return nil
}

// lockedError says that a set does not open, or why.
func (a *Archive) lockedError(s *set, dir string, why error) error {
	e := &LockedError{Dir: dir, File: s.id().manifest(), Tried: len(a.identities)}
	var other *age.NoIdentityMatchError
	if why == nil { // nobody tried
		_, why = s.Encryption.open([]age.Identity{nobody{}})
	}
	if errors.As(why, &other) {
		e.Kinds = other.StanzaTypes
	} else {
		e.Err = why
	}
	return e
}

// Locked is a *LockedError where the set that was opened is encrypted and there was no
// identity; nil where it can be read.
func (a *Archive) Locked() error {
	if m := a.newest(); m.locked() {
		return a.lockedError(m.outer, a.dirs[m.dir], nil)
	}
	return nil
}

// nobody opens nothing.
type nobody struct{}

func (nobody) Unwrap([]*age.Stanza) ([]byte, error) { return nil, age.ErrIncorrectIdentity }

// open decrypts the key of a set.
func (e *encryption) open(identities []age.Identity) (age.Identity, error) {
	text, err := age.Decrypt(armor.NewReader(strings.NewReader(e.Key)), identities...)
	if err != nil {
		return nil, err
	}
	all, err := age.ParseIdentities(io.LimitReader(text, maxSealedKey))
	if err == nil && len(all) != 1 {
		err = errors.New("it is not one identity")
	}
	if err != nil {
		return nil, fmt.Errorf("the key of the set: %w", err)
	}
	return all[0], nil
}

// inside are the entries that encrypted files of a volume hold.
func (m *member) inside(volume int, files []*entry) []*entry {
	if m.set == m.outer {
		return files
	}
	entries := m.set.Volumes[volume].Entries
	inside := make([]*entry, len(files))
	for i, f := range files {
		// They are in the same places, so that it is there.
		inside[i] = &entries[sort.Search(len(entries), func(j int) bool { return entries[j].Offset >= f.Offset })]
	}
	return inside
}

// sealedBuffer is how much of an encrypted file is read at once: a few chunks.
const sealedBuffer = 4 * (sealedChunk + sealedTag)

// decrypt reads on in the piece that j is in.
func (j *joined) decrypt(b []byte) (int, error) {
	p := &j.pieces[0]
	if j.opened == nil {
		var err error
		if j.opened, err = p.decrypted(j.at - p.at()); err != nil {
			return 0, p.undecrypted(err)
		}
	}
	n, err := j.opened.Read(b)
	if err != nil && err != io.EOF {
		err = p.undecrypted(err)
	}
	return n, err
}

// decrypted reads what an encrypted piece holds, from a place in it on.
func (p *piece) decrypted(from int64) (io.Reader, error) {
	file := p.entry.Sealed
	section := io.NewSectionReader(p.file, file.Offset, file.Size)
	if from == 0 {
		return age.Decrypt(bufio.NewReaderSize(section, int(min(sealedBuffer, file.Size))), p.member.key)
	}
	plain, size, err := age.DecryptReaderAt(section, file.Size, p.member.key)
	if err != nil {
		return nil, err
	}
	if size < p.entry.Size {
		return nil, fmt.Errorf("it holds %d of %d bytes", size, p.entry.Size)
	}
	return io.NewSectionReader(plain, from, p.entry.Size-from), nil
}

// undecrypted is an error of decrypting, where it is not the medium's.
func (p *piece) undecrypted(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return err
	}
	e := p.entry
	return &layout.CorruptError{Digest: e.Digest, Where: e.Sealed.path(), Problem: "it does not decrypt: " + err.Error()}
}
