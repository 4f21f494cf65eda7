package operator

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/install"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
)

// WriteFiles writes each object to a file of its own in a folder, which is created if it does not exist. The
// names of the files, which it returns, have the order in which they are to be applied. A folder with other
// files of such names is an error, since "oc apply -f" of the folder would apply them, too. Files with other
// names stay.
func (i *Install) WriteFiles(dir string) ([]string, error) {
	files, err := install.Files(i.Objects)
	if err != nil {
		return nil, err
	}
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was written is synced
	if err := refuseOthers(root, files); err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		if err := (durable.Folder{Root: root}).WriteFile(f.Name, f.Text); err != nil {
			return names, fmt.Errorf("writing %s: %w", f.Name, err)
		}
		names = append(names, f.Name)
	}
	return names, nil
}

// refuseOthers returns an error if a folder has files of objects, such as those of an earlier run, that are
// not among those to write.
func refuseOthers(root *os.Root, files []install.File) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	var others []string
	for _, e := range entries {
		isOther := !slices.ContainsFunc(files, func(f install.File) bool { return f.Name == e.Name() })
		if object, _ := filepath.Match("[0-9][0-9]-*.yaml", e.Name()); object && isOther {
			others = append(others, e.Name())
		}
	}
	if len(others) == 0 {
		return nil
	}
	return env.InputHint("remove them, or give another folder", "%s has files of another version or operator, which would be applied, too: %s", root.Name(), strings.Join(others, ", "))
}
