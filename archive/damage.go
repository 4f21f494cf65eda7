package archive

import (
	"fmt"
	"slices"
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
	// Which says which volume File is, "sequence 3, volume 2 of 4", where it is
	// missing; otherwise "". Sought are the folders that were looked into.
	Which  string
	Sought []string
	// Healed says that no content is lost, since all that the place holds is sound
	// elsewhere, in a repair for example.
	Healed bool
	// Lost are the manifests and blobs that cannot be read for it, as far as
	// Verify looked.
	Lost []digest.Digest
}

func (d Damage) String() string {
	switch {
	case d.Which != "":
		in := "is not in"
		if len(d.Sought) > 1 {
			in = "is in none of"
		}
		return fmt.Sprintf("%s (%s) %s %s", d.File, d.Which, in, strings.Join(d.Sought, ", "))
	case d.Entry == "":
		return d.File + ": " + d.Problem
	}
	return fmt.Sprintf("%s: %s at offset %d: %s", d.File, d.Entry, d.Offset, d.Problem)
}

// maxListed is how many places an error message lists.
const maxListed = 20

// missing reports whether volumes are missing, and nothing else is wrong.
func (e *DamageError) missing() bool {
	return !slices.ContainsFunc(e.Damage, func(d Damage) bool { return d.Which == "" })
}

func (e *DamageError) Error() string {
	if len(e.Damage) > 0 && e.missing() {
		return e.tell("is not complete: ", "lacks %d volumes:")
	}
	return e.tell("is damaged: ", "is damaged in %d places:")
}

// tell lists the damage behind what is said of one, or of several.
func (e *DamageError) tell(one, several string) string {
	if len(e.Damage) == 1 {
		return fmt.Sprintf("the archive in %s %s%s", e.Dir, one, e.Damage[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the archive in %s "+several, e.Dir, len(e.Damage))
	for _, d := range e.Damage[:min(len(e.Damage), maxListed)] {
		b.WriteString("\n  " + d.String())
	}
	if more := len(e.Damage) - maxListed; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}
