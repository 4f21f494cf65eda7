package tools

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// A placeholder is a text in a program that is replaced by what the release is: a name between NUL
// bytes, and room for the value.
type placeholder struct {
	name string // for messages
	text string
}

// newPlaceholder returns the placeholder with a name and room for a number of bytes.
func newPlaceholder(name, text string, room int) placeholder {
	return placeholder{name, "\x00_" + text + "_LOCATION_\x00" + strings.Repeat("X", room) + "\x00"}
}

var (
	inImage        = newPlaceholder("release image", "RELEASE_IMAGE", 300)
	inVersion      = newPlaceholder("release version", "RELEASE_VERSION", 64)
	inArchitecture = newPlaceholder("release architecture", "RELEASE_ARCHITECTURE", 64)
)

// A patch is a placeholder with its value.
type patch struct {
	placeholder
	value string
	done  bool
}

// patchBuffer is how much of a program is searched at once.
const patchBuffer = 256 << 10

// A patcher is a writer that replaces the first occurrence of each placeholder: from its beginning, by
// the value and a NUL byte. The rest of the placeholder stays, and the length of the program.
type patcher struct {
	w       io.Writer
	patches []patch
	pending []byte // not written: it may end in the beginning of a placeholder
	longest int
}

func newPatcher(w io.Writer, patches []patch) (*patcher, error) {
	p := &patcher{w: w, patches: patches}
	for _, one := range patches {
		if len(one.value) > len(one.text)-1 {
			return nil, fmt.Errorf("the %s has %d bytes, and the program has room for %d", one.name, len(one.value), len(one.text)-1)
		}
		p.longest = max(p.longest, len(one.text))
	}
	return p, nil
}

// Write implements io.Writer.
func (p *patcher) Write(b []byte) (int, error) {
	if len(p.missing()) == 0 && len(p.pending) == 0 {
		return p.w.Write(b)
	}
	p.pending = append(p.pending, b...)
	if len(p.pending) < patchBuffer {
		return len(b), nil
	}
	p.replace()
	return len(b), p.flush(len(p.pending) - p.longest + 1)
}

// replace replaces placeholders in what is pending.
func (p *patcher) replace() {
	for i := range p.patches {
		one := &p.patches[i]
		if one.done {
			continue
		}
		if at := bytes.Index(p.pending, []byte(one.text)); at >= 0 {
			copy(p.pending[at:], one.value)
			p.pending[at+len(one.value)] = 0
			one.done = true
		}
	}
}

// flush writes the first n pending bytes.
func (p *patcher) flush(n int) error {
	_, err := p.w.Write(p.pending[:n])
	p.pending = append(p.pending[:0], p.pending[n:]...)
	return err
}

// Close writes the rest. The writer below is not closed.
func (p *patcher) Close() error {
	p.replace()
	return p.flush(len(p.pending))
}

// missing returns the names of the placeholders that were not found yet.
func (p *patcher) missing() []string {
	var names []string
	for i := range p.patches {
		if !p.patches[i].done {
			names = append(names, p.patches[i].name)
		}
	}
	return names
}
