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

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// An encrypted set has its own key. The public half encrypts. The secret half is in the set
// manifest, encrypted to the recipients, before anything else is written: the writer forgets it at
// once, and continues after an interruption without it. Every file in the volumes but the labels is
// an age file to that key, named by a number. The outer set manifest, which is not encrypted, lists
// these files with their digests and locations, so that anyone can check a disk, but without a
// key cannot read its content. The inner set manifest describes the content. It is an age file beside the
// outer one and, decrypted, the manifest of a plain set.

// An encryption is the part of a set manifest about its encryption.
type encryption struct {
	// Recipient is the public half of the set's key. Key is an armored age file with the secret
	// half.
	Recipient string `json:"recipient"`
	Key       string `json:"key"`
	// Manifest is the digest of the age file with the inner set manifest. It is empty until that is
	// written.
	Manifest digest.Digest `json:"manifest"`
	// Tag tells its writer which content and recipients the set is for, and tells others nothing.
	// It is empty without Encryption.Secret.
	Tag string `json:"tag,omitempty"`
}

// Limits of texts in an encryption, in bytes.
const (
	maxRecipient    = 4 << 10
	maxEncryptedKey = 256 << 10
	maxTag          = 128
)

// Encryption names the recipients of an encrypted archive.
type Encryption struct {
	// Recipients are age recipients: the identity of any of them can read the archive. Either all
	// or none of them are post-quantum.
	Recipients []age.Recipient
	// Secret lets a later Writer recognize the set, to continue it after an interruption or to find
	// that it is complete. It is not written anywhere. Without it, each run starts again.
	Secret []byte
}

// Check refuses recipients that do not go together or cannot be encrypted to.
func (e *Encryption) Check() error {
	if len(e.Recipients) == 0 {
		return errors.New("there are no recipients to encrypt it to")
	}
	if _, err := encryptTo([]byte("x"), e.Recipients...); err != nil {
		return err
	}
	return nil
}

// encryptTo encrypts a text in memory.
func encryptTo(text []byte, recipients ...age.Recipient) ([]byte, error) {
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

// A setKey is an age identity that can be written as text.
type setKey interface {
	age.Identity
	fmt.Stringer
}

// newKey creates the key of a set. It is post-quantum if the recipients are.
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

// newEncryption creates a key and encrypts its secret half to the recipients.
func (e *Encryption) newEncryption() (*encryption, error) {
	secret, recipient, err := e.newKey()
	if err != nil {
		return nil, err
	}
	raw, err := encryptTo([]byte(secret.String()+"\n"), e.Recipients...)
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

// tag returns the tag of a set with this inner set manifest.
func (e *Encryption) tag(inner WriteFunc) (string, error) {
	if len(e.Secret) == 0 {
		return "", nil
	}
	h := hmac.New(sha256.New, e.Secret)
	to := elements.Map(e.Recipients, func(r age.Recipient) string { return fmt.Sprint(r) })
	slices.Sort(to)
	_, _ = fmt.Fprintf(h, "%q\n", to) // never an error
	if err := inner(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// encryptedPath returns the name of an encrypted file: its number in the set, from 1.
func encryptedPath(number int) string { return fmt.Sprintf("e/%06d", number) }

// encryptLayout creates the outer set. The digests of encrypted files are not known yet.
func (p *packing) encryptLayout(o *Options, e *encryption) error {
	s := p.set
	p.outer = &set{
		Format: s.Format, Sequence: s.Sequence, Parent: s.Parent, VolumeSize: s.VolumeSize, FirstVolume: s.FirstVolume,
		BuildsOn: s.BuildsOn, Repairs: s.Repairs, Encryption: e, Volumes: make([]volume, len(s.Volumes)),
	}
	number := 0
	for i := range s.Volumes {
		in, out := &s.Volumes[i], &p.outer.Volumes[i]
		*out = volume{Name: in.Name, Size: in.Size, Entries: make([]entry, len(in.Entries))}
		for j := range in.Entries {
			if j == 0 { // the label
				in.Entries[j].Encrypted = nil
				out.Entries[j] = in.Entries[j]
				continue
			}
			number++
			out.Entries[j] = *in.Entries[j].Encrypted
			out.Entries[j].Path = encryptedPath(number)
			in.Entries[j].Encrypted = &out.Entries[j]
		}
		out.Frame = frame(out.Entries)
	}
	p.outer.Features = p.outer.features()
	tag, err := o.Encrypt.tag(s.write)
	if err != nil {
		return err
	}
	p.outer.Encryption.Tag = tag
	if p.digest, p.size, err = WriteFunc(p.outer.write).measure(); err != nil {
		return err
	}
	p.size += int64(number * len(digest.FromString("")))
	if p.size > maxSet {
		return fmt.Errorf("a set manifest of %d bytes: the limit is %d", p.size, maxSet)
	}
	_, inner, err := WriteFunc(s.write).measure()
	if err == nil && inner > maxSet {
		err = fmt.Errorf("a set manifest of %d bytes: the limit is %d", inner, maxSet)
	}
	p.size += p.encrypter.paddedSize(inner)
	return err
}

// encryptionOf returns how a set is encrypted and the recipient of its files. It keeps the
// encryption of a set that is continued, and returns nil and "" if nothing is encrypted.
func (o *Options) encryptionOf(was *encryption) (now *encryption, recipient string, err error) {
	switch {
	case o.Encrypt == nil:
		return nil, "", nil
	case was == nil:
		now, err = o.Encrypt.newEncryption()
	default:
		copied := *was
		now = &copied
	}
	if err != nil {
		return nil, "", err
	}
	return now, now.Recipient, nil
}

// encrypter returns the encrypter for a recipient, or for a new one of the same kind if recipient
// is "".
func (o *Options) encrypter(recipient string) (*encrypter, error) {
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
	return newEncrypter(r, o.VolumeSize)
}

// writeInner encrypts the inner set manifest. It is padded with blanks, so that its length reveals
// less and it stays valid JSON.
func (p *packing) writeInner(w io.Writer) error {
	out, err := age.Encrypt(w, p.encrypter.recipient)
	if err != nil {
		return err
	}
	n := countingWriter{w: out}
	if err := p.set.write(&n); err != nil {
		return err
	}
	blanks := bytes.Repeat([]byte{' '}, blockSize)
	for left := padme(max(n.n, minPadded)) - n.n; left > 0; {
		m, err := out.Write(blanks[:min(left, blockSize)])
		if err != nil {
			return err
		}
		left -= int64(m)
	}
	return out.Close()
}

// matches reports whether a set is this one, as far as is known before content is written.
func (p *packing) matches(s *set, d digest.Digest) bool {
	e := p.outer.Encryption
	if e == nil || s.Encryption == nil {
		return e == nil && s.Encryption == nil && p.digest == d
	}
	return e.Tag != "" && hmac.Equal([]byte(e.Tag), []byte(s.Encryption.Tag))
}

// checkOuter checks the unencrypted part of an encrypted set.
func (s *set) checkOuter() error {
	e := s.Encryption
	switch {
	case s.Name != "" || s.Plan != "" || len(s.Omitted) > 0 || len(s.Deltas) > 0:
		return errors.New("it is encrypted, but its content is listed unencrypted")
	case len(e.Recipient) > maxRecipient || len(e.Key) > maxEncryptedKey || len(e.Tag) > maxTag:
		return errors.New("encryption: a text is too long")
	case !strings.HasPrefix(e.Key, armor.Header):
		return errors.New("encryption: key is not an armored age file")
	}
	if _, err := parseRecipient(e.Recipient); err != nil {
		return fmt.Errorf("encryption: %w", err)
	}
	if err := layout.CheckDigest(e.Manifest); err != nil || e.Manifest.Algorithm() != digest.SHA256 {
		return fmt.Errorf("encryption: the digest %.100q of the inner set manifest is not a sha256", e.Manifest)
	}
	return nil
}

// checkInnerFile compares the file with the inner set manifest with its digest.
func (s *set) checkInnerFile(root *os.Root) error {
	_, err := s.readInnerFile(root)
	return err
}

// maxInner limits the age file with an inner set manifest, in bytes.
const maxInner = maxSet + maxSet/4

// readInnerFile reads the age file with the inner set manifest. A problem with it is a
// *DamageError.
func (s *set) readInnerFile(root *os.Root) ([]byte, error) {
	name := s.id().inner()
	raw, err := regular.Read(root, name, maxInner)
	problem := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		problem = problemMissing
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
