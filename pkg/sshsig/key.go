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
)

// maxKey bounds a file with a key, in bytes.
const maxKey = 64 << 10

// ErrPassphrase is that of a key that is encrypted, where there is nobody to ask
// for its passphrase.
var ErrPassphrase = errors.New("the private key is encrypted")

// KeyOptions say how to get at a key that is not simply in a file.
type KeyOptions struct {
	// Agent is the socket of an ssh-agent; "" where there is none.
	Agent string
	// Passphrase is asked for that of the key in file, where that is encrypted and
	// the agent does not have it; nil where there is nobody to ask.
	Passphrase func(ctx context.Context, file string) ([]byte, error)
}

// A Key signs.
type Key struct {
	public ssh.PublicKey
	signer ssh.Signer // nil where the agent signs
	agent  string     // its socket
}

// OpenKey opens the key in file: a private key, which nobody else may be able to
// read, or a public key (.pub) whose private key the agent has.
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
	if err := private(info); err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return &Key{public: signer.PublicKey(), signer: signer}, checkKey(signer.PublicKey())
	case !errors.As(err, &locked):
		return nil, fmt.Errorf("it is no private key that can be used: %w", err)
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
		return nil, fmt.Errorf("the passphrase does not open it: %w", err)
	}
	return &Key{public: signer.PublicKey(), signer: signer}, checkKey(signer.PublicKey())
}

func readKey(file string) ([]byte, os.FileInfo, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	if n, err := text.ReadFrom(io.LimitReader(f, maxKey+1)); err != nil {
		return nil, nil, err
	} else if n > maxKey {
		return nil, nil, fmt.Errorf("it has more than %d bytes and is no key", maxKey)
	}
	return text.Bytes(), info, nil
}

// fromAgent is a key that an agent has.
func fromAgent(ctx context.Context, socket string, public ssh.PublicKey) (*Key, error) {
	err := askAgent(ctx, socket, public, func(ssh.Signer) error { return nil })
	return &Key{public: public, agent: socket}, err
}

// askAgent has an agent's key do something. An agent may ask somebody first, or go
// away, so that each time it is connected to anew, and left where ctx ends.
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
		return fmt.Errorf("the ssh-agent does not have the key %s: add it with ssh-add", Fingerprint(public))
	}
	err = do(signers[i])
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Signer is who the key signs as.
func (k *Key) Signer() Signer {
	return Signer{Key: Fingerprint(k.public), Type: k.public.Type()}
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
		return nil, fmt.Errorf("signing with the key %s: %w", Fingerprint(k.public), err)
	}
	return text, nil
}
