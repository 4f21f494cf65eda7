package graph

import (
	"encoding/json"
	"errors"
	"fmt"
)

// list reads an array or null, and calls entry for each entry.
func (p *parser) list(entry func() error) error {
	for i := 0; ; i++ {
		if more, err := p.next('[', i == 0); !more {
			return err
		}
		if err := entry(); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
}

// object reads an object or null, and calls member for the value of each member.
func (p *parser) object(member func(key string) error) error {
	for first := true; ; first = false {
		if more, err := p.next('{', first); !more {
			return err
		}
		token, err := p.dec.Token()
		if err != nil {
			return err
		}
		key := token.(string) // the decoder accepts only strings here
		if err := member(key); err != nil {
			return fmt.Errorf("%.40q: %w", key, err)
		}
	}
}

// next reports whether an array or object has another entry. It also reads the opening delimiter,
// if first is set, and the closing one.
func (p *parser) next(open json.Delim, first bool) (bool, error) {
	if first {
		token, err := p.dec.Token()
		switch {
		case err != nil:
			return false, err
		case token == nil:
			return false, nil
		case token != open:
			return false, fmt.Errorf("found %.40q, expected %q", fmt.Sprint(token), open.String())
		}
	}
	if !p.dec.More() {
		_, err := p.dec.Token()
		return false, err
	}
	if p.left--; p.left < 0 {
		return false, errors.New("the graph has too many values")
	}
	return true, nil
}

// strings reads an object whose members are strings.
func (p *parser) strings(to map[string]*string) error {
	return p.object(func(key string) error {
		if s := to[key]; s != nil {
			return p.dec.Decode(s)
		}
		return p.skip()
	})
}

// skip ignores a value.
func (p *parser) skip() error {
	var raw json.RawMessage
	return p.dec.Decode(&raw)
}
