package extract

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/pull"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// FilesOptions says which files Files writes, and where to.
type FilesOptions struct {
	open.Options
	// Names are those of pull.Options, and of the files of tools that the plan has. The default is all files
	// and tools.
	Names []string
	// To is the folder. It is created if it does not exist, with the folders that names have.
	To string
	// Force replaces files and tools that exist with other content.
	Force bool
}

// ExtractedFiles is the result of Files. Its JSON is what gantry archive extract --files --output json
// prints.
type ExtractedFiles struct {
	Version int               `json:"version"`
	To      string            `json:"to"`
	Files   []pull.PulledFile `json:"files"`
	// Tools are programs of releases that the plan asks for (mirror.platform.tools).
	Tools []releases.ReleaseTool `json:"tools,omitempty"`
	// Hidden are the names of hidden files, such as .bashrc. Without Options.Names, they are not written.
	Hidden []string `json:"hidden,omitempty"`
	// Earlier are the names of files that were not written because an earlier archive has their content.
	Earlier []string `json:"earlier,omitempty"`
}

// Files writes files of an archive to a folder, each completely or not at all. If one cannot be read,
// those before it stay, and are in the result. Without names, a file whose content is in an earlier archive
// that was not named is a warning.
func Files(ctx context.Context, o FilesOptions) (*ExtractedFiles, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if o.To == "" {
		return nil, env.InputHint("name a folder with Options.To", "there is no folder for the files")
	}
	have, err := open.Archive(o.Options)
	if err != nil {
		return nil, err
	}
	env.Opened(e.Observer, have)
	s, err := pull.ArchivedFileSource(ctx, have)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p, err := airgap.OpenedPlan(ctx, have)
	if err != nil {
		return nil, err
	}
	out := &ExtractedFiles{Version: 1, To: o.To, Files: []pull.PulledFile{}}
	toolNames, names := splitTools(p, o.Names)
	selected, hidden, err := selectFiles(ctx, s, names, len(o.Names) == 0)
	if err != nil {
		return nil, err
	}
	for _, name := range hidden {
		e.Warnf("%s is a hidden file, which shells and other programs may read, and is not written: give its name to write it", name)
	}
	out.Hidden = hidden
	root, err := pull.MakeRoot(o.To)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was written is synced
	stop := pull.ShowFiles(e, s, selected...)
	defer stop()
	for _, f := range selected {
		x := pull.PulledFile{Version: 1, MirroredFile: f, To: filepath.Join(o.To, filepath.FromSlash(f.Name))}
		x.Present, err = s.WriteBelow(ctx, f, root, o.Force)
		if len(o.Names) == 0 && errors.Is(err, fs.ErrNotExist) {
			e.Warnf("%s is in an earlier archive: name its folder, too, or run gantry get with the mirror", f.Name)
			out.Earlier = append(out.Earlier, f.Name)
			continue
		}
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, x)
	}
	stop()
	if len(o.Names) == 0 || len(toolNames) > 0 {
		out.Tools, err = plannedTools(ctx, e, have, p, toolNames, &o)
	}
	return out, err
}

// selectFiles returns the files with these names. If all is set, it returns all files but the hidden ones, and the names of
// those.
func selectFiles(ctx context.Context, s *pull.FileSource, names []string, all bool) (selected []site.MirroredFile, hidden []string, err error) {
	if all {
		stored, err := s.List(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range stored {
			if isHidden(f.Name) {
				hidden = append(hidden, f.Name)
			} else {
				selected = append(selected, f.MirroredFile)
			}
		}
	}
	for _, name := range names {
		f, err := s.Find(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		selected = append(selected, f)
	}
	return selected, hidden, nil
}

// isHidden reports whether a file or a folder that it is in begins with a dot.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") }
