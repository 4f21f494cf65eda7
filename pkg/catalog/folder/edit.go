package folder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxEdited is the maximum size of a file that Edit changes, in bytes.
const maxEdited = 256 << 20

// Edit replaces one object in the files of the folder dir and keeps every other byte. before is the object
// as it was read from there. If it is nil, after is added to the file that has the object beside. If
// after is nil, before is removed. A YAML document loses its comments. The changed file is read back
// before it gets its name.
func Edit(dir string, before, after, beside *catalog.Meta) (err error) {
	at := cmp.Or(before, beside)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	text, err := regular.Read(root, at.File, maxEdited)
	if err != nil {
		return fmt.Errorf("changing %s: %w", at.File, err)
	}
	changed, err := edit(text, at, before != nil, after)
	if err == nil {
		err = confirm(text, changed, at.File)
	}
	if err == nil {
		err = durable.Folder{Root: root}.WriteFile(at.File, changed)
	}
	if err != nil {
		return fmt.Errorf("changing %s: %w", at.File, err)
	}
	return nil
}

var errMoved = errors.New("the file has changed since it was read; try again")

// edit returns the text of a file in which the object at is replaced, or another one is added at the end.
func edit(text []byte, at *catalog.Meta, replace bool, after *catalog.Meta) ([]byte, error) {
	start := lineOffset(text, at.Line)
	if i := bytes.Index(text[start:], at.Raw); i >= 0 {
		return editJSON(text, start+i, len(at.Raw), replace, after), nil
	}
	return editYAML(text, start, replace, after)
}

func editJSON(text []byte, start, length int, replace bool, after *catalog.Meta) []byte {
	var raw []byte
	if after != nil {
		raw = after.Raw
	}
	if !replace {
		return bytes.Join([][]byte{bytes.TrimRight(text, "\n"), raw, nil}, []byte("\n"))
	}
	head, tail := text[:start], text[start+length:]
	if after == nil && (start == 0 || text[start-1] == '\n') { // its line goes with it
		tail = bytes.TrimPrefix(tail, []byte("\n"))
	}
	return bytes.Join([][]byte{head, raw, tail}, nil)
}

// editYAML replaces the document that begins at start and ends before the next line "---", which is always
// the end of a document.
func editYAML(text []byte, start int, replace bool, after *catalog.Meta) ([]byte, error) {
	var doc []byte
	if after != nil {
		var err error
		if doc, err = after.YAML(); err != nil {
			return nil, err
		}
	}
	if !replace {
		return bytes.Join([][]byte{bytes.TrimRight(text, "\n"), []byte("---"), doc}, []byte("\n")), nil
	}
	end := len(text)
	if i := bytes.Index(text[start:], []byte("\n---")); i >= 0 {
		end = start + i + 1
	}
	head, tail := text[:start], text[end:]
	if after == nil && len(tail) > 0 { // one "---" is enough
		tail = tail[min(len(tail), bytes.IndexByte(append(tail, '\n'), '\n')+1):]
	} else if after == nil {
		head = bytes.TrimSuffix(bytes.TrimRight(head, "\n"), []byte("---"))
	}
	return bytes.Join([][]byte{head, doc, tail}, nil), nil
}

// lineOffset returns the offset of a line, counted from 1.
func lineOffset(text []byte, line int) int {
	at := 0
	for range line - 1 {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// confirm checks that the changed file has the objects of the old one except for a single change.
func confirm(old, changed []byte, name string) error {
	before, err := objects(old, name)
	if err != nil {
		return err
	}
	after, err := objects(changed, name)
	if err != nil {
		return errors.Join(errMoved, err)
	}
	differ := 0
	for raw, n := range before {
		differ += max(0, n-after[raw])
	}
	added := 0
	for raw, n := range after {
		added += max(0, n-before[raw])
	}
	if differ > 1 || added > 1 {
		return errMoved
	}
	return nil
}

// objects counts the objects of a file by their text.
func objects(text []byte, name string) (map[string]int, error) {
	found := map[string]int{}
	s := catalog.NewStreamer(func(m *catalog.Meta) error {
		found[string(m.Raw)]++
		return nil
	})
	return found, errors.Join(s.File(name, bytes.NewReader(text)), s.Close())
}
