package state

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// A lastWorkspace is what a folder of the user keeps of a destination, outside of workspaces: which
// workspace was used for it last.
type lastWorkspace struct {
	Destination string `json:"destination"`
	Workspace   string `json:"workspace"` // absolute path
}

// maxLastWorkspace is how many bytes of such a file are read.
const maxLastWorkspace = 64 << 10

// lastWorkspaceFile returns the file for a destination in the user's folder.
func lastWorkspaceFile(dir, destination string) string {
	return filepath.Join(dir, "destinations", digest.FromString(destination).Encoded()[:32]+".json")
}

// LastWorkspace returns the workspace that was last used for a destination, or "" if none is known.
// dir is the user's folder that SaveLastWorkspace wrote to. A file that cannot be read is ignored.
func LastWorkspace(dir, destination string) string {
	text, _, err := regular.ReadPath(lastWorkspaceFile(dir, destination), maxLastWorkspace)
	var last lastWorkspace
	if err != nil || json.Unmarshal(text, &last) != nil || last.Destination != destination {
		return ""
	}
	return last.Workspace
}

// SaveLastWorkspace saves that a workspace was used for a destination.
func SaveLastWorkspace(dir, destination, workspace string) error {
	file := lastWorkspaceFile(dir, destination)
	if err := durable.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("saving which workspace was used: %w", err)
	}
	text, err := json.Marshal(lastWorkspace{destination, workspace})
	if err != nil {
		return fmt.Errorf("saving which workspace was used: %w", err)
	}
	return durable.Write(file, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}
