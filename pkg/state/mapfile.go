package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// readJSON reads a state file with a JSON value, and reports whether it exists.
func (w *Workspace) readJSON(name string, to any) (exists bool, err error) {
	text, err := w.readState(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", filepath.Join(w.dir, name), err)
	}
	return true, nil
}

// saveJSON writes what readJSON reads.
func (w *Workspace) saveJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return w.keepText(name, append(text, '\n'))
}

// damaged adds to an error of reading a state file what to do if it is damaged.
func damaged(err error, hint string) error {
	return advice.Wrap(advice.Failure, err, hintFor(err, hint))
}

// setInMap sets a value in a state file with a JSON object, and removes the zero value.
func setInMap[T comparable](w *Workspace, name, hint, key string, value T) error {
	all, err := readMap[T](w, name, hint)
	zero := *new(T)
	if err != nil || value == zero && all[key] == zero {
		return err
	}
	if all[key] = value; value == zero {
		delete(all, key)
	}
	return w.saveJSON(name, all)
}

// readMap reads a state file with a JSON object. One that does not exist is empty. hint says what to do if it
// is damaged.
func readMap[T any](w *Workspace, name, hint string) (map[string]T, error) {
	all := map[string]T{}
	if _, err := w.readJSON(name, &all); err != nil {
		return nil, damaged(err, hint)
	}
	if all == nil { // "null"
		all = map[string]T{}
	}
	return all, nil
}
