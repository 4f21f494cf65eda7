package limits

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// What is wrong with a file is told in at most this many lines.
const maxProblems = 20

// maxFile bounds the file, in bytes, and maxStreams and maxRequests its values.
const (
	maxFile     = 1 << 20
	maxStreams  = 256
	maxRequests = 10_000
)

// Default is the file that is read where the user names none:
// $XDG_CONFIG_HOME/gantry/limits.yaml, else that below ~/.config. "" means that
// there is no such file.
func Default(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // as the XDG specification has it
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	file := filepath.Join(dir, "gantry", "limits.yaml")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return file
}

// Load reads the file at path. An error says what is wrong with it, one line for
// each mistake, "limits.yaml:3: …".
func Load(path string) (*Limits, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading limits: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading limits: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("reading limits: %s is larger than %d MiB", path, maxFile>>20)
	}
	return Parse(path, text)
}

// Parse is Load for the text of a file. A file without entries is an error.
func Parse(file string, text []byte) (*Limits, error) {
	r := &reader{file: file}
	l := &Limits{}
	if root := r.root(text); root != nil {
		r.fields(root, "", map[string]func(*yaml.Node){
			"hosts": func(n *yaml.Node) { l.Hosts = r.hosts(n) },
		})
		if len(l.Hosts) == 0 && len(r.problems) == 0 {
			r.fault(root, `hosts are missing: list at least one, "hosts: [{host: quay.io, streams: 8}]"`)
		}
	}
	if len(r.problems) > 0 {
		return nil, errors.New(strings.Join(r.problems, "\n"))
	}
	return l, nil
}

// A reader collects what is wrong with a file.
type reader struct {
	file     string
	problems []string
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf("%s:%d: ", r.file, n.Line)+fmt.Sprintf(format, args...))
	}
}

var syntaxLine = regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): `)

// root returns the mapping of the one document in text, or nil where a problem
// was found.
func (r *reader) root(text []byte) *yaml.Node {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&doc)
	empty := errors.Is(err, io.EOF)
	if err == nil {
		switch err = d.Decode(&more); {
		case err == nil:
			r.fault(&more, "a second document begins here: keep one to a file")
			return nil
		case errors.Is(err, io.EOF):
			return doc.Content[0]
		}
	}
	if empty {
		doc.Line = 1
		r.fault(&doc, "the file is empty: list hosts, or remove it")
	} else {
		at := &yaml.Node{Line: 1}
		message := err.Error()
		if m := syntaxLine.FindStringSubmatch(message); m != nil {
			at.Line, _ = strconv.Atoi(m[1]) // digits, by the expression
			message = message[len(m[0]):]
		}
		r.fault(at, "it is no YAML: %s", strings.TrimPrefix(message, "yaml: "))
	}
	return nil
}

// fields reads a mapping with the function for each of its fields.
func (r *reader) fields(n *yaml.Node, what string, known map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%swanted a mapping", what)
		return
	}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		switch line, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode || read == nil:
			hint := suggest.Phrase(key.Value, names)
			if hint == "" {
				hint = "there are " + strings.Join(names, ", ")
			}
			r.fault(key, "%sunknown field %s; %s", what, quote(key.Value), hint)
		case twice:
			r.fault(key, "%sduplicate field %s: line %d has it already", what, key.Value, line)
		default:
			seen[key.Value] = key.Line
			read(value)
		}
	}
}

func (r *reader) hosts(n *yaml.Node) []Host {
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "hosts: wanted a list")
		return []Host{}
	}
	var list []Host
	lines := map[string]int{}
	for i, entry := range n.Content {
		var h Host
		before := len(r.problems)
		what := fmt.Sprintf("hosts[%d]: ", i)
		r.fields(entry, what, map[string]func(*yaml.Node){
			"host":    func(n *yaml.Node) { h.Pattern = r.pattern(n, what) },
			"streams": func(n *yaml.Node) { h.Streams = int(r.number(n, what+"streams", 1, maxStreams, true)) },
			"requestsPerSecond": func(n *yaml.Node) {
				h.RequestsPerSecond = r.number(n, what+"requestsPerSecond", 0.01, maxRequests, false)
			},
			"rate": func(n *yaml.Node) { h.Rate = r.rate(n, what) },
		})
		if len(r.problems) > before {
			continue
		}
		switch line, twice := lines[h.Pattern]; {
		case h.Pattern == "":
			r.fault(entry, "%sthe host is missing", what)
		case twice:
			r.fault(entry, "%s%s is listed on line %d already", what, h.Pattern, line)
		case h == Host{Pattern: h.Pattern}:
			r.fault(entry, "%s%s has no limit: give streams, requestsPerSecond or rate", what, h.Pattern)
		}
		lines[h.Pattern] = entry.Line
		list = append(list, h)
	}
	return list
}

// A host is a DNS name of letters, digits, dots, dashes and underscores, an IPv4
// address, or an IPv6 address in brackets, as references have them.
var hostName = regexp.MustCompile(`^(\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)

func (r *reader) pattern(n *yaml.Node, what string) string {
	s := strings.ToLower(n.Value)
	name, _ := split(s)
	_, err := netip.ParseAddr(name)
	switch {
	case n.Kind != yaml.ScalarNode || n.Value == "":
		r.fault(n, "%shost: wanted a host, quay.io", what)
	case strings.Contains(s, "/"):
		r.fault(n, "%shost: %s is more than a host: limits are for a registry, not for a path", what, quote(n.Value))
	case len(s) > 300 || !hostName.MatchString(s) || strings.HasPrefix(s, "[") && err != nil:
		r.fault(n, `%shost: %s is no host: write quay.io, mirror.example.com:5000 or "*.example.com"`, what, quote(n.Value))
	default:
		return s
	}
	return ""
}

func (r *reader) number(n *yaml.Node, what string, low, high float64, whole bool) float64 {
	v, err := strconv.ParseFloat(n.Value, 64)
	kind := "a number"
	if whole {
		kind = "a whole number"
	}
	// A NaN is not within bounds either.
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!str" || err != nil || !(v >= low && v <= high) || whole && v != float64(int(v)) {
		r.fault(n, "%s: wanted %s from %v to %v", what, kind, low, high)
		return 0
	}
	return v
}

func (r *reader) rate(n *yaml.Node, what string) Rate {
	if n.Kind != yaml.ScalarNode {
		r.fault(n, "%srate: wanted a rate, 50MiB", what)
		return 0
	}
	rate, err := ParseRate(n.Value)
	if err != nil {
		r.fault(n, "%srate: %v", what, err)
	}
	return rate
}
