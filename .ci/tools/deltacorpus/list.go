package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

//go:embed list.json
var listJSON []byte

// The kinds of content: of pairs, by the language that most of it is written in, and of images for
// compact.
var (
	kinds      = []string{"Go", "C/C++", "Python", "Java", "JavaScript"}
	imageKinds = []string{"Go", "Debian", "node_modules", "Java", "Python", "Symbols"}
)

// A series is a program with several versions, from old to new. Two neighbors are a pair.
type series struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Source string `json:"source"` // go, debian or npm
	// Go: one module. Their content becomes one layer. Empty if the versions name their packages.
	Packages []string `json:"packages,omitempty"`
	// For Go: the main package, or the function that makes a command (github.com/spf13/cobra), if the
	// main package cannot be built outside of its repository.
	Main string `json:"main,omitempty"`
	Call string `json:"call,omitempty"`
	Arch string `json:"arch,omitempty"` // of Go programs
	// Whether a Go program is built without symbols and debugging information.
	Strip    bool      `json:"strip,omitempty"`
	Bytecode bool      `json:"bytecode,omitempty"` // compile Python, as RPM packages have it
	File     string    `json:"file,omitempty"`     // of npm: the layer has only this file of the package, a program
	Compact  bool      `json:"compact,omitempty"`  // images for compact; their pairs are not measured
	Suites   []string  `json:"suites,omitempty"`   // of Debian
	Pairs    int       `json:"pairs,omitempty"`    // if not 0, only so many pairs, the newest, are measured
	Versions []release `json:"versions"`
}

// A release is a version of a series.
type release struct {
	Version string `json:"version"`
	// By package: its version. The packages of older releases that are not named stay as they are.
	Packages map[string]string `json:"packages,omitempty"`
	SHA256   map[string]string `json:"sha256"` // by package: of the file that was downloaded
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
	case !s.Compact && !slices.Contains(kinds, s.Kind), s.Compact && !slices.Contains(imageKinds, s.Kind):
		return fmt.Errorf("unknown kind %q", s.Kind)
	case len(s.Versions) < 2:
		return errors.New("it needs at least two versions")
	case (len(s.Packages) == 0) == (len(s.Versions[0].Packages) == 0):
		return errors.New("either the series or its first version has packages")
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
	switch {
	case s.Compact:
		return nil
	case s.Pairs == 0:
		return s.Versions
	}
	return s.Versions[len(s.Versions)-s.Pairs-1:]
}

// release returns a release with all of its packages.
func (s series) release(i int) release {
	r := release{Version: s.Versions[i].Version, Packages: map[string]string{}, SHA256: map[string]string{}}
	for _, p := range s.Packages {
		r.Packages[p] = r.Version
		r.SHA256[p] = s.Versions[i].SHA256[p]
	}
	for _, v := range s.Versions[:i+1] {
		maps.Copy(r.Packages, v.Packages)
		for p := range v.Packages {
			r.SHA256[p] = v.SHA256[p]
		}
	}
	return r
}

// record adds the SHA-256 of downloads to the releases that name them.
func (s series) record(i int, sums map[string]string) {
	for p, sum := range sums {
		from := i
		for len(s.Packages) == 0 && s.Versions[from].Packages[p] == "" {
			from--
		}
		if s.Versions[from].SHA256 == nil {
			s.Versions[from].SHA256 = map[string]string{}
		}
		s.Versions[from].SHA256[p] = sum
	}
}
