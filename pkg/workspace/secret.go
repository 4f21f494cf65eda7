package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/durable"
)

const (
	secretName = "secret"
	secretSize = 32
)

// Secret is made once, and leaves the workspace in no form from which it could be
// found: by it, a run knows again what an earlier one has encrypted.
func (w *Workspace) Secret() ([]byte, error) {
	secret, err := w.disk.Root.ReadFile(secretName)
	if err == nil && len(secret) == secretSize {
		return secret, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the secret of the workspace: %w", err)
	}
	secret = make([]byte, secretSize)
	_, _ = rand.Read(secret) // it never returns an error
	if err := durable.WritePrivate(filepath.Join(w.dir, secretName), secret); err != nil {
		return nil, fmt.Errorf("keeping the secret of the workspace: %w", err)
	}
	return secret, nil
}
