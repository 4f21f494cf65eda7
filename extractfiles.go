package gantry

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/airgap"
)

// ExtractFilesOptions says which files ExtractFiles writes, and where to.
type ExtractFilesOptions struct {
	ArchiveOptions
	// Names are those of PullOptions, and of the files of tools that the plan has. The default is all files
	// and tools.
	Names []string
	// To is the folder. It is created if it does not exist, with the folders that names have.
	To string
	// Force replaces files and tools that exist with other content.
	Force bool
}

// ExtractedFiles is the result of ExtractFiles. Its JSON is what gantry archive extract --files --output json
// prints.
type ExtractedFiles struct {
	Version int          `json:"version"`
	To      string       `json:"to"`
	Files   []PulledFile `json:"files"`
	// Tools are programs of releases that the plan asks for (mirror.platform.tools).
	Tools []ReleaseTool `json:"tools,omitempty"`
	// Hidden are the names of hidden files, such as .bashrc. Without Options.Names, they are not written.
	Hidden []string `json:"hidden,omitempty"`
	// Earlier are the names of files that were not written because an earlier archive has their content.
	Earlier []string `json:"earlier,omitempty"`
}

// ExtractFiles writes files of an archive to a folder, each completely or not at all. If one cannot be read,
// those before it stay, and are in the result. Without names, a file whose content is in an earlier archive
// that was not named is a warning.
func ExtractFiles(ctx context.Context, o ExtractFilesOptions) (*ExtractedFiles, error) {
	e, done := o.Env.orDefault()
	defer done()
	if o.To == "" {
		return nil, inputHint("name a folder with Options.To", "there is no folder for the files")
	}
	have, err := OpenArchive(o.ArchiveOptions)
	if err != nil {
		return nil, err
	}
	e.opened(have)
	s, err := archivedFileSource(ctx, have)
	if err != nil {
		return nil, err
	}
	defer s.close()
	p, err := airgap.OpenedPlan(ctx, have)
	if err != nil {
		return nil, err
	}
	out := &ExtractedFiles{Version: 1, To: o.To, Files: []PulledFile{}}
	toolNames, names := splitTools(p, o.Names)
	selected, hidden, err := s.selectFiles(ctx, names, len(o.Names) == 0)
	if err != nil {
		return nil, err
	}
	for _, name := range hidden {
		e.warn("%s is a hidden file, which shells and other programs may read, and is not written: give its name to write it", name)
	}
	out.Hidden = hidden
	root, err := makeRoot(o.To)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was written is synced
	stop := e.showFiles(s, selected...)
	defer stop()
	for _, f := range selected {
		x := PulledFile{Version: 1, MirroredFile: f, To: filepath.Join(o.To, filepath.FromSlash(f.Name))}
		x.Present, err = s.writeBelow(ctx, f, root, o.Force)
		if len(o.Names) == 0 && errors.Is(err, fs.ErrNotExist) {
			e.warn("%s is in an earlier archive: name its folder, too, or run gantry pull with the mirror", f.Name)
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
		out.Tools, err = e.plannedTools(ctx, have, p, toolNames, &o)
	}
	return out, err
}

// selectFiles returns the files with these names. If all is set, it returns all files but the hidden ones, and the names of
// those.
func (s *fileSource) selectFiles(ctx context.Context, names []string, all bool) (selected []MirroredFile, hidden []string, err error) {
	if all {
		stored, err := s.list(ctx)
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
		f, err := s.find(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		selected = append(selected, f)
	}
	return selected, hidden, nil
}

// isHidden reports whether a file or a folder that it is in begins with a dot.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") }

// makeRoot opens the folder that Options.To names, and creates it if it does not exist.
func makeRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, inputf("Options.To: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, inputf("Options.To: %w", err)
	}
	return root, nil
}

// writeBelow writes a file to its place below a folder, and reports whether it was there. Folders that are missing are
// created. Nothing is written through a symbolic link that leads out of the folder.
func (s *fileSource) writeBelow(ctx context.Context, f MirroredFile, root *os.Root, force bool) (present bool, err error) {
	folder, base := path.Split(f.Name)
	if folder == "" {
		return s.writeIn(ctx, f, root, base, force)
	}
	err = root.MkdirAll(path.Clean(folder), 0o755)
	if err == nil {
		var below *os.Root
		if below, err = root.OpenRoot(path.Clean(folder)); err == nil {
			defer func() { err = errors.Join(err, below.Close()) }()
			return s.writeIn(ctx, f, below, base, force)
		}
	}
	hint := ""
	if link := linkIn(root, folder); link != "" {
		hint = "remove the symbolic link " + filepath.Join(root.Name(), filepath.FromSlash(link)) + ", or name another folder: links that lead out of it are not followed"
	}
	return false, inputHint(hint, "making the folder for %s: %w", f.Name, err)
}

// linkIn returns the first part of a path below a folder that is a symbolic link, or "".
func linkIn(root *os.Root, name string) string {
	at := ""
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		at = path.Join(at, part)
		if info, err := root.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}
