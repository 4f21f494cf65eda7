package archive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// A DamageError reports that an archive differs from what was written: files are missing or altered. It
// lists all damage that was found.
type DamageError struct {
	Dir    string
	Damage []Damage
	// Rebuild is the hint of Archive.RebuildHint, or "".
	Rebuild string
}

// A Damage is one position in a file that differs from what was written.
type Damage struct {
	File    string // the volume or the set manifest, by its name in the folder
	Entry   string // path in the volume; "" if the damage is not in an entry
	Offset  int64  // in the file, if Entry is not ""
	Problem string // "missing", "its digest is sha256:…"
	// If the file is a missing volume, Volume describes it, "sequence 3, volume 2 of 4", and
	// Searched are the folders that were searched. Otherwise both are empty.
	Volume   string
	Searched []string
	// Recoverable reports whether no content is lost, because intact copies are elsewhere, in a
	// repair for example.
	Recoverable bool
	// Lost are the manifests and blobs that cannot be read because of it, as far as Verify looked.
	Lost []digest.Digest
	// Dependents are blobs that this set or a later one carries as deltas of Lost, directly or through others: they can be made once
	// Lost can be read.
	Dependents []digest.Digest
}

func (d Damage) String() string {
	switch {
	case d.Volume != "":
		in := "is not in"
		if len(d.Searched) > 1 {
			in = "is in none of"
		}
		return fmt.Sprintf("%s (%s) %s %s", d.File, d.Volume, in, strings.Join(d.Searched, ", "))
	case d.Entry == "":
		return d.File + ": " + d.Problem
	}
	return fmt.Sprintf("%s: %s at offset %d: %s", d.File, d.Entry, d.Offset, d.Problem)
}

// maxListed is how many damages an error message lists.
const maxListed = 20

// missing reports whether volumes are missing and nothing else is wrong.
func (e *DamageError) missing() bool {
	return !slices.ContainsFunc(e.Damage, func(d Damage) bool { return d.Volume == "" })
}

// Advice implements advice.Adviser. Without parity files, the remedy depends on what the archive is read for.
func (e *DamageError) Advice() (advice.Kind, string) {
	return advice.Mismatch, e.Rebuild
}

// RebuildHint returns what to do about damage of sets that have parity files, the newest one first. It is "" if no
// damaged set has any, or only its set manifest is damaged.
func (a *Archive) RebuildHint(damage []Damage) string {
	var commands []string
	for _, m := range a.members {
		damaged := slices.ContainsFunc(damage, func(d Damage) bool {
			return slices.ContainsFunc(m.outer.Volumes, func(v volume) bool { return v.Name == d.File })
		})
		switch {
		case !damaged || m.set.Repairs != nil || a.parityFiles(m) == 0:
		case m == a.selected():
			commands = append(commands, "gantry archive rebuild")
		default:
			commands = append(commands, fmt.Sprintf("gantry archive rebuild with Options.Sequence %d", m.set.Sequence))
		}
	}
	if len(commands) == 0 {
		return ""
	}
	return "rebuild the volumes from the parity files beside them with " + strings.Join(commands, " and ") + ", and repeat"
}

func (e *DamageError) Error() string {
	if len(e.Damage) > 0 && e.missing() {
		return e.format("is not complete: ", "is missing %d volumes:")
	}
	return e.format("is damaged: ", "is damaged in %d places:")
}

// format returns a message with a list of the damage. one and several introduce one or several
// damages.
func (e *DamageError) format(one, several string) string {
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
