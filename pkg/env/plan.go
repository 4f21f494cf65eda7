package env

import (
	"cmp"
	"strings"
)

// WorkspaceDir returns the folder of an option Workspace.
func WorkspaceDir(workspace string) string {
	return strings.TrimPrefix(cmp.Or(workspace, DefaultWorkspace), ArchiveScheme)
}
