package site

import (
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A MirroredFile is a file at a destination, or in an archive.
type MirroredFile struct {
	Name       string        `json:"name"`
	Size       int64         `json:"size"`
	SHA256     digest.Digest `json:"sha256"`
	Executable bool          `json:"executable,omitempty"`
}

// NewMirroredFile returns a file of a plan as results have it.
func NewMirroredFile(f plan.File) MirroredFile {
	return MirroredFile{Name: f.Name, Size: f.Size, SHA256: f.SHA256, Executable: f.Executable}
}
