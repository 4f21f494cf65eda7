package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Holdings returns what was saved of a mirror, by the name of the plan.
func (w *Workspace) Holdings(mirror string) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	text, err := w.disk.Root.ReadFile(holdings(mirror))
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the mirror holds: %w", err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading %s: %w; remove it, and the next run of each configuration writes it again", filepath.Join(w.dir, holdings(mirror)), err)
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
	return w.disk.WriteFile(holdings(mirror), append(out, '\n'))
}

// holdings is the file of a mirror.
func holdings(mirror string) string { return "mirrors/" + mirror + ".json" }
