package gantry

import (
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/plan"
)

// A MirroredFile is a file at a destination, or in an archive.
type MirroredFile struct {
	Name       string        `json:"name"`
	Size       int64         `json:"size"`
	SHA256     digest.Digest `json:"sha256"`
	Executable bool          `json:"executable,omitempty"`
}

func mirroredFile(f plan.File) MirroredFile {
	return MirroredFile{Name: f.Name, Size: f.Size, SHA256: f.SHA256, Executable: f.Executable}
}

// mirroredFiles returns the files of a plan that are at the destination after a run.
func mirroredFiles(p *plan.Plan, report *mirror.Report) (all []MirroredFile) {
	if report.Unfinished {
		return nil
	}
	failed := map[string]bool{} // by source
	for _, f := range report.Failed {
		failed[f.Source] = true
	}
	for _, f := range p.Files {
		if !failed[f.Source] {
			all = append(all, mirroredFile(f))
		}
	}
	return all
}
