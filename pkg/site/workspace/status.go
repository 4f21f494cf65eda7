package workspace

import (
	"errors"
	"io/fs"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// StatusReport lists what a workspace knows. Its JSON is what gantry status -o json prints.
type StatusReport struct {
	Version   int    `json:"version"`
	Workspace string `json:"workspace"`
	// Runs are the last runs, by destination and configuration.
	Runs []state.Run `json:"runs"`
}

// Status returns the mirrors and archives that a workspace knows, and the last run of each. It reads
// nothing but the workspace, and can be called during a run.
func Status(workspace string) (*StatusReport, error) {
	dir := env.WorkspaceDir(workspace)
	runs, err := state.Runs(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, env.InputHint("name it with Options.Workspace; a run creates it", "there is no workspace %s", dir)
	}
	if err != nil {
		return nil, err
	}
	s := &StatusReport{Version: 1, Workspace: dir, Runs: runs}
	if runs == nil {
		s.Runs = []state.Run{}
	}
	return s, nil
}
