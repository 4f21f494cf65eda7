package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/file/density"
)

// Limits of the list of a repository, in bytes. The largest public ones have 25 MB, and below 4 MB
// for one chart.
const (
	// MaxIndex is the maximum size of an index.
	MaxIndex = 128 << 20

	maxEntry = 16 << 20 // of the versions of a chart, which are parsed together
	maxKey   = 1 << 10  // of a line with the name of a chart
)

// A Version is one version of a chart in an index.
type Version struct {
	Name    string `json:"name" yaml:"name"`
	Version string `json:"version" yaml:"version"`
	Type    string `json:"type" yaml:"type"`
	// URLs are absolute, or relative to the address of the repository.
	URLs []string `json:"urls" yaml:"urls"`
	// Digest is the SHA-256 of the archive in hexadecimal, with or without "sha256:", or "".
	Digest string `json:"digest" yaml:"digest"`
	// Created is when the version was added to the repository, or "".
	Created string `json:"created" yaml:"created"`
}

// IsLibrary reports whether the chart cannot be installed on its own.
func (v *Version) IsLibrary() bool { return v.Type == library }

// An Index is the list of a chart repository. Its charts are parsed when they are asked for, each on
// its own: an index may have tens of megabytes, and YAML needs twenty times as much memory.
type Index struct {
	entries map[string][]byte // as YAML, "NAME: [...]", or
	parsed  map[string][]Version
}

// ParseIndex reads index.yaml. The text must not be changed afterwards.
func ParseIndex(text []byte) (*Index, error) {
	if len(text) > MaxIndex {
		return nil, fmt.Errorf("the index has more than %d bytes", MaxIndex)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if len(text) > maxEntry || !hasOtherBreaks(text) {
		if entries := splitEntries(text); entries != nil {
			return &Index{entries: entries}, nil
		}
	}
	var whole struct {
		APIVersion string                `json:"apiVersion" yaml:"apiVersion"`
		Entries    map[string][]*Version `json:"entries" yaml:"entries"`
	}
	err := density.Check(text)
	switch {
	case err != nil:
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		err = json.Unmarshal(text, &whole)
	case len(text) > maxEntry:
		return nil, fmt.Errorf("the index has %d bytes and another form than Helm writes", len(text))
	default:
		err = yaml.Unmarshal(text, &whole)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	if whole.APIVersion == "" && whole.Entries == nil {
		return nil, errors.New("it is not the index of a chart repository: it has neither apiVersion nor entries")
	}
	i := &Index{parsed: map[string][]Version{}}
	for name, all := range whole.Entries {
		i.parsed[name] = present(all)
	}
	return i, nil
}

// hasOtherBreaks reports whether a text has line breaks of YAML that splitEntries does not know.
func hasOtherBreaks(text []byte) bool {
	is := func(breaks string) bool { return bytes.Contains(text, []byte(breaks)) }
	return bytes.Count(text, []byte("\r")) != bytes.Count(text, []byte("\r\n")) || is("\u0085") || is("\u2028") || is("\u2029")
}

// present returns the entries that are not null, as Helm does.
func present(all []*Version) []Version {
	out := make([]Version, 0, len(all))
	for _, v := range all {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// Names returns the names of all charts, sorted.
func (i *Index) Names() []string {
	if i.parsed != nil {
		return slices.Sorted(maps.Keys(i.parsed))
	}
	return slices.Sorted(maps.Keys(i.entries))
}

// Versions returns the versions of a chart in the order of the index. A chart that is not in the index has
// none.
func (i *Index) Versions(name string) ([]Version, error) {
	if i.parsed != nil {
		return i.parsed[name], nil
	}
	text, ok := i.entries[name]
	if !ok {
		return nil, nil
	}
	if len(text) > maxEntry {
		return nil, fmt.Errorf("the versions of chart %s have more than %d bytes in the index", name, maxEntry)
	}
	var one map[string][]*Version
	err := density.Check(text)
	if err == nil {
		err = yaml.Unmarshal(text, &one)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the versions of chart %s in the index: %w", name, err)
	}
	return present(one[name]), nil
}

// splitEntries returns the lines of each chart of an index in the form that Helm writes: "entries:",
// and below it the name of each chart, all with the same indentation. It returns nil for another form.
func splitEntries(text []byte) map[string][]byte {
	entries := map[string][]byte{}
	var inside bool
	var indent, begin int // of the current chart
	var name string
	end := func(at int) {
		if name != "" {
			entries[name] = text[begin:at]
		}
		name = ""
	}
	for at := 0; at < len(text); {
		line, next := text[at:], len(text)
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line, next = line[:n], at+n+1
		}
		line = bytes.TrimRight(line, " \r")
		trimmed := bytes.TrimLeft(line, " ")
		depth := len(line) - len(trimmed)
		switch {
		case len(trimmed) == 0 || trimmed[0] == '#':
		case depth == 0 && !isItem(trimmed):
			end(at)
			if inside = string(line) == "entries:"; inside && len(entries) > 0 {
				return nil
			}
			if !inside && bytes.HasPrefix(line, []byte("entries")) || !topLevel().Match(line) {
				return nil
			}
		case !inside || isItem(trimmed) && depth > 0 && depth <= indent && name != "":
		case indent == 0 && depth > 0 && !isItem(trimmed), depth == indent && depth > 0:
			end(at)
			indent = depth
			var ok bool
			if name, ok = key(trimmed); !ok || entries[name] != nil {
				return nil
			}
			begin = at
		case depth < indent:
			return nil
		}
		at = next
	}
	end(len(text))
	if indent == 0 {
		return nil
	}
	return entries
}

// topLevel matches a line without indentation whose value ends there. Others may belong to a text of several lines.
var topLevel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(---|[A-Za-z][A-Za-z0-9]*:( +("[^"]*"|'[^']*'|\{[^]["'{}]*\}|\[[^]["'{}]*\]|[^]["'{}&*!|>%@#]*))?( +#.*)?)$`)
})

// isItem reports whether a line is an entry of a list.
func isItem(line []byte) bool {
	return line[0] == '-' && (len(line) == 1 || line[1] == ' ' || line[1] == '\t')
}

// key returns the key of "NAME:".
func key(line []byte) (string, bool) {
	var one map[string]any
	if len(line) > maxKey || !bytes.HasSuffix(line, []byte(":")) || yaml.Unmarshal(line, &one) != nil || len(one) != 1 {
		return "", false
	}
	for name, value := range one {
		return name, value == nil && name != ""
	}
	return "", false
}
