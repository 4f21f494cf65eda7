package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

//go:embed list.json
var listJSON []byte

// The kinds of content, by the language that most of it is written in.
var kinds = []string{"Go", "C/C++", "Python", "Java", "JavaScript"}

// A series is a program with several versions, from old to new. Two neighbors are a pair.
type series struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Source   string   `json:"source"`   // go, debian or npm
	Packages []string `json:"packages"` // Go: one module. Their content becomes one layer.
	// For Go: the main package, or the function that makes a command (github.com/spf13/cobra), if the
	// main package cannot be built outside of its repository.
	Main string `json:"main,omitempty"`
	Call string `json:"call,omitempty"`
	Arch string `json:"arch,omitempty"` // of Go programs
	// Whether a Go program is built without symbols and debugging information.
	Strip    bool      `json:"strip,omitempty"`
	Bytecode bool      `json:"bytecode,omitempty"` // compile Python, as RPM packages have it
	Suites   []string  `json:"suites,omitempty"`   // of Debian
	Pairs    int       `json:"pairs,omitempty"`    // if not 0, only so many pairs, the newest, are measured
	Versions []release `json:"versions"`
}

// A release is a version of a series.
type release struct {
	Version string            `json:"version"`
	SHA256  map[string]string `json:"sha256"` // by package: of the file that was downloaded
}

func readList(b []byte) ([]series, error) {
	var list []series
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("reading list.json: %w", err)
	}
	seen := map[string]bool{}
	for _, s := range list {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("list.json: %s: %w", s.Name, err)
		}
		if seen[s.Name] {
			return nil, fmt.Errorf("list.json: two series have the name %s", s.Name)
		}
		seen[s.Name] = true
	}
	return list, nil
}

func (s series) check() error {
	switch {
	case s.Name == "":
		return errors.New("a series has no name")
	case !slices.Contains(kinds, s.Kind):
		return fmt.Errorf("unknown kind %q", s.Kind)
	case len(s.Packages) == 0:
		return errors.New("it has no package")
	case len(s.Versions) < 2:
		return errors.New("it needs at least two versions")
	case s.Pairs < 0 || s.Pairs >= len(s.Versions):
		return fmt.Errorf("it has no %d pairs", s.Pairs)
	}
	switch s.Source {
	case "go":
		if len(s.Packages) != 1 || s.Arch == "" || (s.Main == "") == (s.Call == "") {
			return errors.New("a Go program has one module, an arch, and either main or call")
		}
	case "debian":
		if len(s.Suites) == 0 {
			return errors.New("Debian packages need suites")
		}
	case "npm":
	default:
		return fmt.Errorf("unknown source %q", s.Source)
	}
	return nil
}

// measured returns the versions; each is measured against the one before it, from old to
// new; the first is only a base.
func (s series) measured() []release {
	if s.Pairs == 0 {
		return s.Versions
	}
	return s.Versions[len(s.Versions)-s.Pairs-1:]
}
