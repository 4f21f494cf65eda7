package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

const (
	// sumsFile has the checksums of all other files, as sha256sum reads them.
	sumsFile = "SHA256SUMS"
	// namespace is the purpose of the signature. It is the usual one for files.
	namespace = "file"
)

// openKey opens the key that signs. Without a name, it returns nil.
func openKey(ctx context.Context, name string) (*sshsig.Key, error) {
	if name == "" {
		return nil, nil
	}
	key, err := sshsig.OpenKey(ctx, name, sshsig.KeyOptions{Agent: os.Getenv("SSH_AUTH_SOCK")})
	if errors.Is(err, sshsig.ErrPassphrase) {
		return nil, fmt.Errorf("%w; add it to ssh-agent (ssh-add %s)", err, name)
	}
	return key, err
}

// writeSums writes the checksums of all files, and their signature.
func (r *release) writeSums(ctx context.Context) error {
	files, err := os.ReadDir(r.to)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(r.to, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), f.Name())
	}
	if r.key != nil {
		signature, err := r.key.Sign(ctx, namespace, bytes.NewReader(sums.Bytes()))
		if err != nil {
			return fmt.Errorf("signing the checksums: %w", err)
		}
		if err := os.WriteFile(filepath.Join(r.to, sumsFile+".sig"), signature, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(r.to, sumsFile), sums.Bytes(), 0o644)
}

// list prints the files, and who signed them.
func (r *release) list(w io.Writer) error {
	files, err := os.ReadDir(r.to)
	if err != nil {
		return err
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%11d  %s\n", info.Size(), filepath.Join(r.to, f.Name()))
	}
	if r.key == nil {
		_, err = fmt.Fprintln(w, "SHA256SUMS is not signed: RELEASE_KEY names no key")
	} else {
		_, err = fmt.Fprintln(w, "SHA256SUMS is signed by", r.key.Signer())
	}
	return err
}
