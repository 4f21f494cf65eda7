package sshsig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxKey is the size limit of a key file in bytes.
const maxKey = 64 << 10

// ErrPassphrase means that a key is encrypted and that KeyOptions.Passphrase is nil.
var ErrPassphrase = errors.New("the private key is encrypted")

// KeyOptions give access to keys that are encrypted or in an ssh-agent.
type KeyOptions struct {
	// Agent is the socket of an ssh-agent; "" if none is used.
	Agent string
	// Passphrase returns the passphrase of the key in file. It is called if the key is encrypted
	// and the agent does not have it. It may be nil.
	Passphrase func(ctx context.Context, file string) ([]byte, error)
}

// A Key signs messages.
type Key struct {
	public ssh.PublicKey
	signer ssh.Signer // nil if the agent signs
	agent  string     // its socket
}

// OpenKey opens the key in file: a private key, which only its owner may be able to read, or a
// public key (.pub) whose private key is in the agent.
func OpenKey(ctx context.Context, file string, opts KeyOptions) (*Key, error) {
	k, err := openKey(ctx, file, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the key %s: %w", file, err)
	}
	return k, nil
}

func openKey(ctx context.Context, file string, opts KeyOptions) (*Key, error) {
	text, info, err := readKey(file)
	if err != nil {
		return nil, err
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		if opts.Agent == "" {
			return nil, errors.New("it is a public key, and there is no ssh-agent to sign with: set SSH_AUTH_SOCK, or name the private key")
		}
		if err := checkKey(public); err != nil {
			return nil, err
		}
		return fromAgent(ctx, opts.Agent, public)
	}
	if regular.IsExposed(info) { // as in ssh
		return nil, fmt.Errorf("others can read this private key (mode %04o): chmod 600 it", info.Mode().Perm())
	}
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return &Key{public: signer.PublicKey(), signer: signer}, checkKey(signer.PublicKey())
	case !errors.As(err, &locked):
		return nil, fmt.Errorf("it is not a usable private key: %w", err)
	}
	if opts.Agent != "" && locked.PublicKey != nil {
		if k, err := fromAgent(ctx, opts.Agent, locked.PublicKey); err == nil {
			return k, nil
		}
	}
	if opts.Passphrase == nil {
		return nil, ErrPassphrase
	}
	passphrase, err := opts.Passphrase(ctx, file)
	if err != nil {
		return nil, err
	}
	defer clear(passphrase)
	if signer, err = ssh.ParsePrivateKeyWithPassphrase(text, passphrase); err != nil {
		return nil, fmt.Errorf("the passphrase is wrong: %w", err)
	}
	return &Key{public: signer.PublicKey(), signer: signer}, checkKey(signer.PublicKey())
}

func readKey(file string) ([]byte, os.FileInfo, error) {
	text, info, err := regular.ReadStart(file, maxKey+1)
	if err == nil && len(text) > maxKey {
		err = fmt.Errorf("it has more than %d bytes and is not a key", maxKey)
	}
	return text, info, err
}

// fromAgent returns a key that is in the agent.
func fromAgent(ctx context.Context, socket string, public ssh.PublicKey) (*Key, error) {
	err := askAgent(ctx, socket, public, func(ssh.Signer) error { return nil })
	return &Key{public: public, agent: socket}, err
}

// askAgent calls do with the agent's signer of a key. An agent may ask the user first, or exit.
// Therefore each call opens a new connection, which is closed when ctx ends.
func askAgent(ctx context.Context, socket string, public ssh.PublicKey, do func(ssh.Signer) error) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("asking the ssh-agent: %w", err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	signers, err := agent.NewClient(conn).Signers()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("asking the ssh-agent: %w", err)
	}
	i := slices.IndexFunc(signers, func(s ssh.Signer) bool { return bytes.Equal(s.PublicKey().Marshal(), public.Marshal()) })
	if i < 0 {
		return fmt.Errorf("the ssh-agent does not have the key %s: add it with ssh-add", fingerprint(public))
	}
	err = do(signers[i])
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Signer returns the identity that the key signs as.
func (k *Key) Signer() Signer {
	return Signer{Key: fingerprint(k.public), Type: k.public.Type()}
}

// Sign signs a message in a namespace and returns the signature as text.
func (k *Key) Sign(ctx context.Context, namespace string, message io.Reader) (text []byte, err error) {
	sign := func(signer ssh.Signer) (err error) {
		text, err = Sign(signer, namespace, message)
		return err
	}
	if k.signer != nil {
		err = sign(k.signer)
	} else {
		err = askAgent(ctx, k.agent, k.public, sign)
	}
	if err != nil {
		return nil, fmt.Errorf("signing with the key %s: %w", fingerprint(k.public), err)
	}
	return text, nil
}
