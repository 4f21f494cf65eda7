package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// configurations is the file that says which configuration a name stands for.
// Plans travel and name no folder; the workspace stays where it is.
const configurations = "configurations.json"

// Configuration returns the path of the configuration that the plan called name
// was made of last; "" where there was none.
func (w *Workspace) Configuration(name string) (path string, err error) {
	all, err := w.configurations()
	return all[name], err
}

// SaveConfiguration remembers the path of the configuration that a name stands
// for from now on.
func (w *Workspace) SaveConfiguration(name, path string) error {
	all, err := w.configurations()
	if err != nil || all[name] == path {
		return err
	}
	all[name] = path
	out, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", configurations, err)
	}
	return w.disk.WriteFile(configurations, append(out, '\n'))
}

func (w *Workspace) configurations() (map[string]string, error) {
	all := map[string]string{}
	text, err := w.disk.Root.ReadFile(configurations)
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; remove it where it is damaged, it only tells configurations of one name apart", filepath.Join(w.dir, configurations), err)
	}
	if all == nil { // "null"
		all = map[string]string{}
	}
	return all, nil
}
