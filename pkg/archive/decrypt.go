package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// An EncryptedError reports that an archive is encrypted and that none of the given identities
// opens it.
type EncryptedError struct {
	Dir  string
	File string // its set manifest
	// Tried is the number of identities that were tried.
	Tried int
	// RecipientKinds are the kinds of the recipients that it is encrypted to, one for each. An age
	// file does not tell who they are.
	RecipientKinds []string
	Err            error // why it does not open; nil if it is only encrypted to other keys
}

func (e *EncryptedError) Error() string {
	to := ""
	if len(e.RecipientKinds) > 0 {
		to = fmt.Sprintf(", to %s (%s)", plural(len(e.RecipientKinds), "recipient", "recipients"), strings.Join(e.RecipientKinds, ", "))
	}
	switch {
	case e.Err != nil:
		return fmt.Sprintf("the archive in %s is encrypted%s, and %s does not open: %v", e.Dir, to, e.File, e.Err)
	case e.Tried == 0:
		return fmt.Sprintf("the archive in %s is encrypted%s, and no identity opens %s", e.Dir, to, e.File)
	}
	return fmt.Sprintf("the archive in %s is encrypted%s, and none of %s opens %s; the file does not tell whose identity would", e.Dir, to, plural(e.Tried, "identity", "identities"), e.File)
}

func (e *EncryptedError) Unwrap() error { return e.Err }

// Advice implements advice.Adviser.
func (e *EncryptedError) Advice() (advice.Kind, string) {
	if e.Tried > 0 {
		return advice.Input, "ask its author which recipients Options.EncryptTo named"
	}
	return advice.Input, "give the identity of a recipient with Options.Identity"
}

func plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// A decryption is what is needed to read an encrypted set.
type decryption struct {
	outer *set         // as in the set manifest
	key   age.Identity // nil if the set is not encrypted or no identity opens it
}

// decryptSet opens a set if it is encrypted and there are identities. Its inner set manifest must
// be intact in any case.
func (a *Archive) decryptSet(c *manifestCopy) error {
	c.outer = c.set
	if c.set.Encryption == nil {
		return nil
	}
	raw, err := a.readInner(c)
	if err != nil || len(a.identities) == 0 {
		return err
	}
	key, err := c.set.Encryption.open(a.identities)
	if err != nil {
		return a.encryptedError(c.set, a.dirs[c.dir], err)
	}
	text, err := age.Decrypt(bytes.NewReader(raw), key)
	if err != nil {
		return a.encryptedError(c.set, a.dirs[c.dir], fmt.Errorf("its key differs from that in %s: %w", c.set.id().inner(), err))
	}
	plain, err := io.ReadAll(io.LimitReader(text, maxInner))
	var inner *set
	if err == nil {
		inner, err = parseInner(plain, c.outer)
	}
	if errors.As(err, new(versionError)) {
		return fmt.Errorf("reading %s in %s: %w", c.set.id().inner(), a.dirs[c.dir], err)
	}
	if err != nil {
		return &DamageError{Dir: a.dirs[c.dir], Damage: []Damage{{File: c.set.id().inner(), Problem: err.Error()}}}
	}
	c.set, c.key = inner, key
	return nil
}

// readInner returns the age file with the inner set manifest of an encrypted set.
func (a *Archive) readInner(c *manifestCopy) ([]byte, error) {
	if c.recovery == nil {
		return c.set.readInnerFile(a.folders[c.dir])
	}
	if digest.FromBytes(c.recovery.inner) != c.set.Encryption.Manifest {
		return nil, &DamageError{Dir: a.dirs[c.dir], Damage: []Damage{{File: c.set.id().inner(), Problem: "it is missing, and the copy in a volume differs from it"}}}
	}
	return c.recovery.inner, nil
}

// encryptedError returns an EncryptedError for a set. why is the reason that it does not open, or
// nil if no identity was tried.
func (a *Archive) encryptedError(s *set, dir string, why error) error {
	e := &EncryptedError{Dir: dir, File: s.id().manifest(), Tried: len(a.identities)}
	var other *age.NoIdentityMatchError
	if why == nil { // no identity was tried
		_, why = s.Encryption.open([]age.Identity{noIdentity{}})
	}
	if errors.As(why, &other) {
		e.RecipientKinds = other.StanzaTypes
	} else {
		e.Err = why
	}
	return e
}

// CheckReadable returns an *EncryptedError if the selected set is encrypted and no identity was
// given, otherwise nil.
func (a *Archive) CheckReadable() error {
	if m := a.selected(); m.needsIdentity() {
		return a.encryptedError(m.outer, a.dirs[m.dir], nil)
	}
	return nil
}

// noIdentity is an identity that opens nothing.
type noIdentity struct{}

func (noIdentity) Unwrap([]*age.Stanza) ([]byte, error) { return nil, age.ErrIncorrectIdentity }

// open decrypts the key of a set.
func (e *encryption) open(identities []age.Identity) (age.Identity, error) {
	text, err := age.Decrypt(armor.NewReader(strings.NewReader(e.Key)), identities...)
	if err != nil {
		return nil, err
	}
	all, err := age.ParseIdentities(io.LimitReader(text, maxEncryptedKey))
	if err == nil && len(all) != 1 {
		err = errors.New("it is not one identity")
	}
	if err != nil {
		return nil, fmt.Errorf("the key of the set: %w", err)
	}
	return all[0], nil
}

// innerEntries returns the entries that encrypted files of a volume contain.
func (m *member) innerEntries(volume int, files []*entry) []*entry {
	if m.set == m.outer {
		return files
	}
	entries := m.set.Volumes[volume].Entries
	inside := make([]*entry, len(files))
	for i, f := range files {
		// The offsets are the same, so the search always finds it.
		inside[i] = &entries[sort.Search(len(entries), func(j int) bool { return entries[j].Offset >= f.Offset })]
	}
	return inside
}

// decryptBuffer is how many bytes of an encrypted file are read at once: a few chunks.
const decryptBuffer = 4 * (ageChunk + ageTag)
