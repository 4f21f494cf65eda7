package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// sameBut checks that two objects differ in at most one member.
func sameBut(fail func(string, ...any), was, is *catalog.Meta, member string) {
	if was == is {
		return
	}
	var a, b map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(was.Raw, &a), json.Unmarshal(is.Raw, &b)); err != nil {
		fail("%v", err)
	}
	delete(a, member)
	delete(b, member)
	if !maps.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		fail("%s %s was changed beyond its %s", is.Schema, is.Name, member)
	}
}

// entriesOf returns the bytes of an object's entries.
func entriesOf(fail func(string, ...any), m *catalog.Meta) []json.RawMessage {
	var object struct{ Entries []json.RawMessage }
	if err := json.Unmarshal(m.Raw, &object); err != nil {
		fail("%v", err)
	}
	return object.Entries
}
