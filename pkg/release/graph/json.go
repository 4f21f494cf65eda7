package graph

import (
	"encoding/json"
	"errors"
	"fmt"
)

// list reads an array, or null, by calls of entry.
func (a *answer) list(entry func() error) error {
	for i := 0; ; i++ {
		if more, err := a.next('[', i == 0); !more {
			return err
		}
		if err := entry(); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
}

// object reads an object, or null, by calls of member for its members' values.
func (a *answer) object(member func(key string) error) error {
	for first := true; ; first = false {
		if more, err := a.next('{', first); !more {
			return err
		}
		token, err := a.dec.Token()
		if err != nil {
			return err
		}
		key := token.(string) // the decoder takes nothing else in its place
		if err := member(key); err != nil {
			return fmt.Errorf("%.40q: %w", key, err)
		}
	}
}

// next reports whether an array or object has another entry. It reads what opens
// it, first, and what closes it.
func (a *answer) next(open json.Delim, first bool) (bool, error) {
	if first {
		token, err := a.dec.Token()
		switch {
		case err != nil:
			return false, err
		case token == nil:
			return false, nil
		case token != open:
			return false, fmt.Errorf("there is %.40q where %q was expected", fmt.Sprint(token), open.String())
		}
	}
	if !a.dec.More() {
		_, err := a.dec.Token()
		return false, err
	}
	if a.left--; a.left < 0 {
		return false, errors.New("the graph has more values than any that is served")
	}
	return true, nil
}

// strings reads an object whose members are strings.
func (a *answer) strings(to map[string]*string) error {
	return a.object(func(key string) error {
		if s := to[key]; s != nil {
			return a.dec.Decode(s)
		}
		return a.skip()
	})
}

// skip passes over a value.
func (a *answer) skip() error {
	var raw json.RawMessage
	return a.dec.Decode(&raw)
}
