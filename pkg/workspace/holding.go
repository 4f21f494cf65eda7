package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/durable"
)

// Holdings returns what was saved of a mirror, by the name of the plan.
func (w *Workspace) Holdings(mirror string) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	path := w.holdingsPath(mirror)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the mirror holds: %w", err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading %s: %w; remove it, and the next run of each configuration writes it again", path, err)
	}
	return all, nil
}

// SaveHolding replaces what the mirror holds of one plan.
func (w *Workspace) SaveHolding(mirror, plan string, text json.RawMessage) error {
	all, err := w.Holdings(mirror)
	if err != nil {
		return err
	}
	all[plan] = text
	out, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("writing what the mirror holds: %w", err)
	}
	return durable.WriteFile(w.holdingsPath(mirror), append(out, '\n'))
}

func (w *Workspace) holdingsPath(mirror string) string {
	return filepath.Join(w.dir, "mirrors", mirror+".json")
}
