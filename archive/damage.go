package archive

import (
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
)

// A DamageError says that an archive is not what was written: files are missing
// or altered. It names all that was found.
type DamageError struct {
	Dir    string
	Damage []Damage
}

// A Damage is one place that is not as it was written.
type Damage struct {
	File    string // the volume or the set manifest, by its name in the folder
	Entry   string // path in the volume; "" where it is no entry
	Offset  int64  // in the file, where Entry is not ""
	Problem string // "missing", "its digest is sha256:…"
	// Lost are the manifests and blobs that cannot be read for it, as far as
	// Verify looked.
	Lost []digest.Digest
}

func (d Damage) String() string {
	if d.Entry == "" {
		return d.File + ": " + d.Problem
	}
	return fmt.Sprintf("%s: %s at offset %d: %s", d.File, d.Entry, d.Offset, d.Problem)
}

// maxListed is how many places an error message lists.
const maxListed = 20

func (e *DamageError) Error() string {
	if len(e.Damage) == 1 {
		return fmt.Sprintf("the archive in %s is damaged: %s", e.Dir, e.Damage[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the archive in %s is damaged in %d places:", e.Dir, len(e.Damage))
	for _, d := range e.Damage[:min(len(e.Damage), maxListed)] {
		b.WriteString("\n  " + d.String())
	}
	if more := len(e.Damage) - maxListed; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}
