package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// readMap reads a state file with a JSON object. One that does not exist is empty. hint says what to do if it
// is damaged.
func readMap[T any](w *Workspace, name, hint string) (map[string]T, error) {
	all := map[string]T{}
	text, err := w.readState(name)
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, advice.Wrap(advice.Failure, fmt.Errorf("reading %s: %w", filepath.Join(w.dir, name), err), hintFor(err, hint))
	}
	if all == nil { // "null"
		all = map[string]T{}
	}
	return all, nil
}

// saveMap writes what readMap reads.
func saveMap[T any](w *Workspace, name string, all map[string]T) error {
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return w.keepText(name, append(text, '\n'))
}
