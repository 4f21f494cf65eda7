package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// configurations is the file with the path of each configuration. Plans are copied to other
// machines and contain no paths, so the workspace keeps them.
const configurations = "configurations.json"

// Configuration returns the path of the configuration that the image set was last planned from, or
// "" if it is unknown.
func (w *Workspace) Configuration(name string) (path string, err error) {
	all, err := w.configurations()
	return all[name], err
}

// SaveConfiguration saves the path of the configuration of an image set.
func (w *Workspace) SaveConfiguration(name, path string) error {
	all, err := w.configurations()
	if err != nil {
		return err
	}
	all[name] = path
	out, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", configurations, err)
	}
	return w.keepText(configurations, append(out, '\n'))
}

func (w *Workspace) configurations() (map[string]string, error) {
	all := map[string]string{}
	text, err := w.readState(configurations)
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, advice.Wrap(advice.Failure, fmt.Errorf("reading %s: %w", filepath.Join(w.dir, configurations), err),
			hintFor(err, "if it is damaged, remove it; it only distinguishes configurations of the same name"))
	}
	if all == nil { // "null"
		all = map[string]string{}
	}
	return all, nil
}
