package archive

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/regular"
)

// An encrypted set has a key of its own. The public half encrypts, and the secret
// half is in the set manifest, encrypted to the recipients, before anything else is
// written: who writes forgets it at once, and goes on after an interruption without
// it. Every file in the volumes but the labels is an age file to that key, under a
// number. The set manifest that lies in the open, the outer one, names those, their
// digests and places, so that everybody can check a medium and nobody can tell what
// is on it. What they are says the inner set manifest, which is an age file beside
// it and, decrypted, that of a plain set.

// An encryption is what a set manifest says of how the set is encrypted.
type encryption struct {
	// Recipient is the public half of the set's key, and Key an armored age file with
	// the secret one.
	Recipient string `json:"recipient"`
	Key       string `json:"key"`
	// Manifest is the digest of the age file with the inner set manifest; "" until
	// that is there.
	Manifest digest.Digest `json:"manifest"`
	// Tag tells its writer which content and recipients the set is for, and nobody
	// else anything; "" where nobody should be told.
	Tag string `json:"tag,omitempty"`
}

// Bounds of texts in an encryption, in bytes.
const (
	maxRecipient = 4 << 10
	maxSealedKey = 256 << 10
	maxTag       = 128
)

// Encryption says whom an archive is encrypted to.
type Encryption struct {
	// Recipients are age's: whoever has the identity of one can read the archive. They
	// are all of the kind that withstands quantum computers, or none is.
	Recipients []age.Recipient
	// Secret lets a later Writer know the set again, to go on with it after an
	// interruption, or to find that it is complete. It is not written anywhere. Without
	// it, each run begins anew.
	Secret []byte
}

// Check looks for recipients that do not go together, or cannot be encrypted to.
func (e *Encryption) Check() error {
	if len(e.Recipients) == 0 {
		return errors.New("there is nobody to encrypt it to")
	}
	if _, err := sealTo([]byte("x"), e.Recipients...); err != nil {
		return err
	}
	return nil
}

// sealTo encrypts a text that is held in memory.
func sealTo(text []byte, recipients ...age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, recipients...)
	if err == nil {
		_, err = w.Write(text)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("encrypting: %w", err)
	}
	return out.Bytes(), nil
}

// A setKey is an age identity that can be written down.
type setKey interface {
	age.Identity
	fmt.Stringer
}

// newKey makes the key of a set. One for recipients that withstand quantum
// computers does so too.
func (e *Encryption) newKey() (secret setKey, recipient string, err error) {
	if slices.ContainsFunc(e.Recipients, func(r age.Recipient) bool { _, ok := r.(*age.HybridRecipient); return ok }) {
		id, err := age.GenerateHybridIdentity()
		if err != nil {
			return nil, "", err
		}
		return id, id.Recipient().String(), nil
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, "", err
	}
	return id, id.Recipient().String(), nil
}

// encryption makes a key and encrypts its secret half to the recipients.
func (e *Encryption) encryption() (*encryption, error) {
	secret, recipient, err := e.newKey()
	if err != nil {
		return nil, err
	}
	raw, err := sealTo([]byte(secret.String()+"\n"), e.Recipients...)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	w := armor.NewWriter(&text)
	_, err = w.Write(raw)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return &encryption{Recipient: recipient, Key: text.String()}, nil
}

// parseRecipient reads the public half of a set's key.
func parseRecipient(text string) (age.Recipient, error) {
	all, err := age.ParseRecipients(strings.NewReader(text))
	if err == nil && len(all) != 1 {
		err = errors.New("it is not one recipient")
	}
	if err != nil {
		return nil, fmt.Errorf("the recipient of the set: %w", err)
	}
	return all[0], nil
}

// recognition is the tag of a set with that inner set manifest.
func (e *Encryption) recognition(inner Text) (string, error) {
	if len(e.Secret) == 0 {
		return "", nil
	}
	h := hmac.New(sha256.New, e.Secret)
	var to []string
	for _, r := range e.Recipients {
		to = append(to, fmt.Sprint(r))
	}
	slices.Sort(to)
	_, _ = fmt.Fprintf(h, "%q\n", to) // never an error
	if err := inner(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sealedPath is the name of an encrypted file: its number in the set, from 1 on.
func sealedPath(number int) string { return fmt.Sprintf("e/%06d", number) }

// seal makes the outer set, of which digests of what is encrypted are not known yet.
func (p *packing) seal(o *Options, e *encryption) error {
	s := p.set
	p.outer = &set{
		Format: s.Format, Sequence: s.Sequence, Parent: s.Parent, VolumeSize: s.VolumeSize,
		BuildsOn: s.BuildsOn, Repairs: s.Repairs, Encryption: e, Volumes: make([]volume, len(s.Volumes)),
	}
	number := 0
	for i := range s.Volumes {
		in, out := &s.Volumes[i], &p.outer.Volumes[i]
		*out = volume{Name: in.Name, Size: in.Size, Entries: make([]entry, len(in.Entries))}
		for j := range in.Entries {
			if j == 0 { // the label
				in.Entries[j].Sealed = nil
				out.Entries[j] = in.Entries[j]
				continue
			}
			number++
			out.Entries[j] = *in.Entries[j].Sealed
			out.Entries[j].Path = sealedPath(number)
			in.Entries[j].Sealed = &out.Entries[j]
		}
		out.Frame = frame(out.Entries)
	}
	p.outer.Features = p.outer.features()
	tag, err := o.Encrypt.recognition(s.write)
	if err != nil {
		return err
	}
	p.outer.Encryption.Tag = tag
	if p.digest, p.size, err = Text(p.outer.write).measure(); err != nil {
		return err
	}
	p.size += int64(number * len(digest.FromString("")))
	if p.size > maxSet {
		return fmt.Errorf("a set manifest of %d bytes: the limit is %d", p.size, maxSet)
	}
	_, inner, err := Text(s.write).measure()
	if err == nil && inner > maxSet {
		err = fmt.Errorf("a set manifest of %d bytes: the limit is %d", inner, maxSet)
	}
	p.size += p.sealer.stored(inner)
	return err
}

// keyOf is how a set is encrypted, which is as it was where it is taken up, and the
// recipient that its files are encrypted to; nil and "" where nothing is encrypted.
func (o *Options) keyOf(was *encryption) (now *encryption, recipient string, err error) {
	switch {
	case o.Encrypt == nil:
		return nil, "", nil
	case was == nil:
		now, err = o.Encrypt.encryption()
	default:
		copied := *was
		now = &copied
	}
	if err != nil {
		return nil, "", err
	}
	return now, now.Recipient, nil
}

// sealer is that of the recipient, or of one like it for "".
func (o *Options) sealer(recipient string) (*sealer, error) {
	if o.Encrypt == nil {
		return nil, nil
	}
	if recipient == "" {
		var err error
		if _, recipient, err = o.Encrypt.newKey(); err != nil {
			return nil, err
		}
	}
	r, err := parseRecipient(recipient)
	if err != nil {
		return nil, err
	}
	return newSealer(r, o.VolumeSize)
}

// sealManifest encrypts the inner set manifest. It is filled up with blanks, so
// that its length tells less and it stays JSON.
func (p *packing) sealManifest(w io.Writer) error {
	out, err := age.Encrypt(w, p.sealer.recipient)
	if err != nil {
		return err
	}
	n := counter{w: out}
	if err := p.set.write(&n); err != nil {
		return err
	}
	blanks := bytes.Repeat([]byte{' '}, blockSize)
	for left := padme(max(n.n, minSealed)) - n.n; left > 0; {
		m, err := out.Write(blanks[:min(left, blockSize)])
		if err != nil {
			return err
		}
		left -= int64(m)
	}
	return out.Close()
}

// resembles reports whether a set is this one, as far as is known before content
// is written.
func (p *packing) resembles(s *set, d digest.Digest) bool {
	e := p.outer.Encryption
	if e == nil || s.Encryption == nil {
		return e == nil && s.Encryption == nil && p.digest == d
	}
	return e.Tag != "" && hmac.Equal([]byte(e.Tag), []byte(s.Encryption.Tag))
}

// checkOuter looks at what an encrypted set says in the open.
func (s *set) checkOuter() error {
	e := s.Encryption
	switch {
	case s.Name != "" || s.Plan != "" || len(s.Elsewhere) > 0:
		return errors.New("it is encrypted, and says in the open what it holds")
	case len(e.Recipient) > maxRecipient || len(e.Key) > maxSealedKey || len(e.Tag) > maxTag:
		return errors.New("encryption: a text is too long")
	case !strings.HasPrefix(e.Key, armor.Header):
		return errors.New("encryption: key is no armored age file")
	}
	if _, err := parseRecipient(e.Recipient); err != nil {
		return fmt.Errorf("encryption: %w", err)
	}
	if err := layout.CheckDigest(e.Manifest); err != nil || e.Manifest.Algorithm() != digest.SHA256 {
		return fmt.Errorf("encryption: the digest %.100q of the inner set manifest is no sha256", e.Manifest)
	}
	return nil
}

// sealed checks an encrypted file.
func (c *checker) sealed(e *entry) error {
	c.files++
	if want := sealedPath(c.files); e.Path != want || e.MediaType != "" || e.Part != nil {
		return fmt.Errorf("path %q is not %s", e.Path, want)
	}
	if c.unfinished && e.Digest == "" {
		return nil
	}
	if err := layout.CheckDigest(e.Digest); err != nil || e.Digest.Algorithm() != digest.SHA256 {
		return fmt.Errorf("the digest %.100q of %s is no sha256", e.Digest, e.Path)
	}
	return nil
}

// inner checks the entries of a volume, which are encrypted.
func (c *checker) inner(i int) error {
	v, out := &c.set.Volumes[i], &c.outer.Volumes[i]
	if v.Size != out.Size || len(v.Entries) != len(out.Entries) {
		return fmt.Errorf("%d entries in %d bytes, not %d in %d", len(v.Entries), v.Size, len(out.Entries), out.Size)
	}
	for j := range v.Entries {
		e, file := &v.Entries[j], &out.Entries[j]
		if err := c.entry(e, i, j); err != nil {
			return fmt.Errorf("entries[%d]: %w", j, err)
		}
		if j == 0 {
			if e.Digest != file.Digest || e.Size != file.Size || e.Offset != file.Offset {
				return fmt.Errorf("entries[0]: another label")
			}
			continue
		}
		if e.Offset != file.Offset || e.Size < 0 || e.Size > file.Size {
			return fmt.Errorf("entries[%d]: %d bytes at %d are not in %s of %d bytes at %d", j, e.Size, e.Offset, file.Path, file.Size, file.Offset)
		}
		e.Sealed = file
	}
	return nil
}

// matches compares what an inner set manifest says of the set with the outer.
func (s *set) matches(outer *set) error {
	same := s.id() == outer.id() && s.Parent == outer.Parent && s.VolumeSize == outer.VolumeSize &&
		slices.Equal(s.BuildsOn, outer.BuildsOn) && (s.Repairs == nil || *s.Repairs == *outer.Repairs)
	if !same {
		return fmt.Errorf("it is that of another set than %s", outer.id().manifest())
	}
	return nil
}

// checkSealed compares the file with the inner set manifest with its digest.
func (s *set) checkSealed(root *os.Root) error {
	_, err := s.readSealed(root)
	return err
}

// maxInner bounds the age file with an inner set manifest, in bytes.
const maxInner = maxSet + maxSet/4

// readSealed reads the age file with the inner set manifest. What is wrong with it is
// a *DamageError.
func (s *set) readSealed(root *os.Root) ([]byte, error) {
	name := s.id().sealed()
	raw, err := regular.Read(root, name, maxInner)
	problem := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		problem = missing
	case err != nil:
		problem = problemOf(err)
	default:
		if d := digest.FromBytes(raw); d != s.Encryption.Manifest {
			problem = "its digest is " + string(d)
		}
	}
	if problem != "" {
		return nil, &DamageError{Dir: root.Name(), Damage: []Damage{{File: name, Problem: problem}}}
	}
	return raw, nil
}
