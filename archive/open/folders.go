package open

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
)

// Folders returns the folders of texts such as "file:///media/disk". Errors begin with
// option: "Options.From ", or "" for arguments.
func Folders(option string, texts []string) ([]string, error) {
	var dirs []string
	for _, text := range texts {
		dir, ok := strings.CutPrefix(text, env.ArchiveScheme)
		if !ok || dir == "" {
			hint := "write file://DIR, the folder of the archive"
			if text != "" && !strings.Contains(text, ":") {
				hint = "write " + env.ArchiveScheme + text + " if that is the folder of the archive"
			}
			return nil, env.InputHint(hint, "%s%q is not an archive", option, text)
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}
