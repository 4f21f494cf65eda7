package fileartifact

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// reservedNames are the devices of Windows, in lower case. A file cannot have one of these names there, also
// not with an extension.
var reservedNames = []string{"con", "prn", "aux", "nul", "conin$", "conout$", "com", "lpt"}

// CheckNewName returns an error unless s is a name that CheckName accepts and that all systems keep as it is:
// in Unicode's form NFC, because some systems change other forms, and without a name that Windows reserves.
func CheckNewName(s string) error {
	if err := CheckName(s); err != nil {
		return err
	}
	if !norm.NFC.IsNormalString(s) {
		return fmt.Errorf("the name %+q has an accent as a character of its own, or is otherwise not in the Unicode form NFC", s)
	}
	for part := range strings.SplitSeq(s, "/") {
		if isReserved(part) {
			return fmt.Errorf("the part %q of the name is reserved by Windows", part)
		}
	}
	return nil
}

// isReserved reports whether Windows takes a part of a path for a device.
func isReserved(part string) bool {
	base, _, _ := strings.Cut(strings.ToLower(part), ".")
	base = strings.TrimRight(base, " ")
	for _, name := range reservedNames {
		rest, ok := strings.CutPrefix(base, name)
		numbered := name == "com" || name == "lpt"
		if ok && (!numbered && rest == "" || numbered && len([]rune(rest)) == 1 && strings.ContainsAny(rest, "123456789¹²³")) {
			return true
		}
	}
	return false
}

// Names are the names of files that can be written to one folder, on every system. The zero value has none.
type Names struct {
	files, folders map[string]string // from the form of a name that folded returns to the name
}

// A ConflictError is the error of two names that cannot be in one folder.
type ConflictError struct {
	Name, Other string
	// Same reports whether the names are equal, apart from case and forms of Unicode. If not, one of them is a
	// folder that the other one is in.
	Same bool
}

// Error returns both names.
func (e *ConflictError) Error() string {
	switch {
	case e.Same && e.Name == e.Other:
		return fmt.Sprintf("two files have the name %q", e.Name)
	case e.Same:
		return fmt.Sprintf("the files %q and %q have one name on systems that ignore case", e.Other, e.Name)
	}
	file, below := e.Name, e.Other
	if strings.Count(file, "/") > strings.Count(below, "/") {
		file, below = below, file
	}
	return fmt.Sprintf("%q cannot be a file, because it is the folder of %q", file, below)
}

// Add adds the name of a file. If it cannot be in one folder with another file, Add returns a ConflictError
// with the first of these, and the name is not added.
func (n *Names) Add(name string) *ConflictError {
	key := folded(name)
	if other, ok := n.files[key]; ok {
		return &ConflictError{Name: name, Other: other, Same: true}
	}
	if other, ok := n.folders[key]; ok {
		return &ConflictError{Name: name, Other: other}
	}
	for i, c := range key {
		if other, ok := n.files[key[:i]]; c == '/' && ok {
			return &ConflictError{Name: name, Other: other}
		}
	}
	if n.files == nil {
		n.files, n.folders = map[string]string{}, map[string]string{}
	}
	n.files[key] = name
	for i, c := range key {
		if _, ok := n.folders[key[:i]]; c == '/' && !ok {
			n.folders[key[:i]] = name
		}
	}
	return nil
}

// folded returns what names have in common that a system without case takes for one.
func folded(name string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, norm.NFC.String(name)))
}
