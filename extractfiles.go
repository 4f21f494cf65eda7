package gantry

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

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
	var selected []MirroredFile
	toolNames, names := splitTools(p, o.Names)
	if len(o.Names) == 0 {
		all, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			selected = append(selected, f.MirroredFile)
		}
	}
	for _, name := range names {
		f, err := s.find(ctx, name)
		if err != nil {
			return nil, err
		}
		selected = append(selected, f)
	}
	out := &ExtractedFiles{Version: 1, To: o.To, Files: []PulledFile{}}
	stop := e.showFiles(s, selected...)
	defer stop()
	for _, f := range selected {
		x := PulledFile{Version: 1, MirroredFile: f, To: filepath.Join(o.To, filepath.FromSlash(f.Name))}
		if err := os.MkdirAll(filepath.Dir(x.To), 0o755); err != nil {
			return out, inputf("Options.To: %w", err)
		}
		x.Present, err = s.write(ctx, f, x.To, o.Force)
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
