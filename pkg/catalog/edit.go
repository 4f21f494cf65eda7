package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// With returns the object with a new value for a member, and every other byte unchanged. The value
// is encoded as by encoding/json, without escaping for HTML; a [json.RawMessage] is compacted. A
// new member is added at the end.
func (m *Meta) With(member string, value any) (*Meta, error) {
	text, err := Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("changing %s of %s: %w", member, describe(m), err)
	}
	return m.with(member, text)
}

// Marshal encodes a value as encoding/json does, but without escapes for HTML, which would make version
// ranges unreadable.
func Marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

func (m *Meta) with(name string, value []byte) (*Meta, error) {
	var s scanner
	members, err := s.object(m.Raw)
	if err == nil {
		err = distinct(members)
	}
	if err != nil {
		return nil, fmt.Errorf("changing %s of %s: %w", name, describe(m), err)
	}
	var raw []byte
	if old, ok := find(members, name); ok {
		raw = splice(m.Raw, old.start, old.end, value)
	} else {
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("changing %s of %s: %w", name, describe(m), err)
		}
		text := append(append(quoted, ':'), value...)
		at := bytes.IndexByte(m.Raw, '{') + 1
		if len(members) > 0 {
			at = members[len(members)-1].end
			text = append([]byte{','}, text...)
		}
		raw = splice(m.Raw, at, at, text)
	}
	id, err := s.identity(raw)
	if err != nil {
		return nil, fmt.Errorf("changing %s of %s: %w", name, describe(m), err)
	}
	changed := *m
	changed.Raw = raw
	changed.Schema, changed.Package, changed.Name = id.schema, id.pkg, id.name
	if changed.Schema == SchemaPackage {
		changed.Package = changed.Name
	}
	return &changed, nil
}

// KeepElements returns the object with only those elements of a list member for which keep is true,
// by index from 0. The elements, and every byte outside of the list, are unchanged. If the member
// does not exist or all elements are kept, it returns m.
func (m *Meta) KeepElements(member string, keep func(i int) bool) (*Meta, error) {
	var s scanner
	members, err := s.object(m.Raw)
	if err != nil {
		return nil, fmt.Errorf("changing %s of %s: %w", member, describe(m), err)
	}
	old, ok := find(members, member)
	if !ok {
		return m, nil
	}
	list := m.Raw[old.start:old.end]
	if string(list) == "null" {
		return m, nil
	}
	spans, err := s.array(list)
	if err != nil {
		return nil, fmt.Errorf("changing %s of %s: %w", member, describe(m), err)
	}

	kept, count := []byte{'['}, 0
	from := 1 // start of the white space before an element
	for i, e := range spans {
		if keep(i) {
			if count > 0 {
				kept = append(kept, ',')
			}
			count++
			kept = append(kept, list[from:e.end]...)
		}
		if i+1 < len(spans) {
			from = e.end + bytes.IndexByte(list[e.end:], ',') + 1
		} else if count > 0 {
			kept = append(kept, list[e.end:len(list)-1]...)
		}
	}
	if count == len(spans) {
		return m, nil
	}
	return m.with(member, append(kept, ']'))
}

// find returns the member with the name, in any case.
func find(members []member, name string) (member, bool) {
	for _, m := range members {
		if strings.EqualFold(m.name, name) {
			return m, true
		}
	}
	return member{}, false
}

// splice returns text with the part between two offsets replaced.
func splice(text []byte, start, end int, part []byte) []byte {
	spliced := make([]byte, 0, len(text)-(end-start)+len(part))
	spliced = append(spliced, text[:start]...)
	spliced = append(spliced, part...)
	return append(spliced, text[end:]...)
}
