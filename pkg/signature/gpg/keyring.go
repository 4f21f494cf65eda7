package gpg

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// maxKeyring is more than any keyring needs, in bytes.
const maxKeyring = 1 << 20

// A Keyring is a set of public keys. Any of them may sign.
type Keyring struct {
	// Name says where the keys come from, for messages: "verifier-public-key-redhat".
	Name     string
	entities openpgp.EntityList
}

// ParseKeyring parses a keyring of at most 1 MiB as gpg exports it: binary, or one or more blocks
// of armored text. A block may hold several keys.
func ParseKeyring(name string, text []byte) (Keyring, error) {
	if len(text) > maxKeyring {
		return Keyring{}, fmt.Errorf("reading keyring %s: more than %d bytes", name, maxKeyring)
	}
	entities, err := readKeys(text)
	if err == nil && len(entities) == 0 {
		err = errors.New("no OpenPGP key found; export one with gpg --armor --export")
	}
	for _, e := range entities {
		if e.PrivateKey != nil {
			err = errors.New("it contains a private key; export the public key with gpg --armor --export")
		}
	}
	if err != nil {
		return Keyring{}, fmt.Errorf("reading keyring %s: %w", name, err)
	}
	return Keyring{Name: name, entities: entities}, nil
}

func readKeys(text []byte) (openpgp.EntityList, error) {
	if !bytes.Contains(text, []byte("-----BEGIN PGP")) {
		return openpgp.ReadKeyRing(bytes.NewReader(text))
	}
	var all openpgp.EntityList
	for r := bufio.NewReader(bytes.NewReader(text)); ; {
		block, err := armor.Decode(r)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if block.Type != openpgp.PublicKeyType {
			return nil, fmt.Errorf("it contains a %s, want a %s", block.Type, openpgp.PublicKeyType)
		}
		some, err := openpgp.ReadKeyRing(block.Body)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, block.Body); err != nil { // up to its checksum
			return nil, err
		}
		all = append(all, some...)
	}
}
