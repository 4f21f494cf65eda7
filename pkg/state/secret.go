package state

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

const (
	secretName = "secret"
	secretSize = 32
	maxSecret  = 1 << 10 // bytes that are read
)

// Secret returns 32 random bytes, which are created once. With them, a run recognizes what an earlier
// run encrypted. They never leave the workspace, in no form that allows computing them.
func (w *Workspace) Secret() ([]byte, error) {
	secret, err := regular.Read(w.disk.Root, secretName, maxSecret)
	if err == nil && len(secret) == secretSize {
		return secret, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the secret of the workspace: %w", err)
	}
	secret = make([]byte, secretSize)
	_, _ = rand.Read(secret) // never returns an error
	if err := durable.WritePrivate(filepath.Join(w.dir, secretName), secret); err != nil {
		return nil, fmt.Errorf("saving the secret of the workspace: %w", err)
	}
	return secret, nil
}
