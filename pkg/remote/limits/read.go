package limits

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxProblems is how many problems of a file are reported.
const maxProblems = 20

// maxFile limits the file, in bytes, and maxStreams and maxRequests its values.
const (
	maxFile     = 1 << 20
	maxStreams  = 256
	maxRequests = 10_000
)

// Load reads the file at path. Its error has one line for each problem, "limits.yaml:3: …".
func Load(path string) (*Limits, error) {
	f, err := regular.OpenInput(path)
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
	return parse(path, text)
}

// parse is Load for the text of a file. A file without entries is an error.
func parse(file string, text []byte) (*Limits, error) {
	r := &reader{file: file}
	l := &Limits{}
	if root := r.root(text); root != nil {
		r.fields(root, "", map[string]func(*yaml.Node){
			"hosts": func(n *yaml.Node) { l.Hosts = r.hosts(n) },
		})
		if len(l.Hosts) == 0 && len(r.problems) == 0 {
			r.problem(root, `hosts are missing: list at least one, "hosts: [{host: quay.io, streams: 8}]"`)
		}
	}
	if len(r.problems) > 0 {
		return nil, errors.New(strings.Join(r.problems, "\n"))
	}
	return l, nil
}

// A reader collects the problems of a file.
type reader struct {
	file     string
	problems []string
}

func (r *reader) problem(n *yaml.Node, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf("%s:%d: ", r.file, n.Line)+fmt.Sprintf(format, args...))
	}
}

var syntaxLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): `) })

// root returns the mapping of the only document in text, or nil if it found a problem.
func (r *reader) root(text []byte) *yaml.Node {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&doc)
	empty := errors.Is(err, io.EOF)
	if err == nil {
		switch err = d.Decode(&more); {
		case err == nil:
			r.problem(&more, "a second document begins here: write one per file")
			return nil
		case errors.Is(err, io.EOF):
			return doc.Content[0]
		}
	}
	if empty {
		doc.Line = 1
		r.problem(&doc, "the file is empty: list hosts, or remove it")
	} else {
		at := &yaml.Node{Line: 1}
		message := err.Error()
		if m := syntaxLine().FindStringSubmatch(message); m != nil {
			at.Line, _ = strconv.Atoi(m[1]) // digits, by the expression
			message = message[len(m[0]):]
		}
		r.problem(at, "invalid YAML: %s", strings.TrimPrefix(message, "yaml: "))
	}
	return nil
}

// fields reads a mapping with a function for each of its fields.
func (r *reader) fields(n *yaml.Node, what string, known map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.problem(n, "%sexpected a mapping", what)
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
			hint := cmp.Or(suggest.Phrase(key.Value, names), "the fields are "+strings.Join(names, ", "))
			r.problem(key, "%sunknown field %s; %s", what, quote(key.Value), hint)
		case twice:
			r.problem(key, "%sduplicate field %s: it is already on line %d", what, key.Value, line)
		default:
			seen[key.Value] = key.Line
			read(value)
		}
	}
}

func (r *reader) hosts(n *yaml.Node) []Host {
	if n.Kind != yaml.SequenceNode {
		r.problem(n, "hosts: expected a list")
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
			r.problem(entry, "%sthe host is missing", what)
		case twice:
			r.problem(entry, "%s%s is already on line %d", what, h.Pattern, line)
		case h == Host{Pattern: h.Pattern}:
			r.problem(entry, "%s%s has no limit: add streams, requestsPerSecond or rate", what, h.Pattern)
		}
		lines[h.Pattern] = entry.Line
		list = append(list, h)
	}
	return list
}

// hostName matches a DNS name of letters, digits, dots, dashes and underscores, an IPv4 address, or
// an IPv6 address in brackets, as in references.
var hostName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)
})

func (r *reader) pattern(n *yaml.Node, what string) string {
	s := strings.ToLower(n.Value)
	name, _ := split(s)
	_, err := netip.ParseAddr(name)
	switch {
	case n.Kind != yaml.ScalarNode || n.Value == "":
		r.problem(n, "%shost: expected a host, such as quay.io", what)
	case strings.Contains(s, "/"):
		r.problem(n, "%shost: %s has a path: limits apply to a whole registry", what, quote(n.Value))
	case len(s) > 300 || !hostName().MatchString(s) || strings.HasPrefix(s, "[") && err != nil:
		r.problem(n, `%shost: %s is not a host: write quay.io, mirror.example.com:5000 or "*.example.com"`, what, quote(n.Value))
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
	// NaN is not within the limits either.
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!str" || err != nil || !(v >= low && v <= high) || whole && v != float64(int(v)) {
		r.problem(n, "%s: expected %s from %v to %v", what, kind, low, high)
		return 0
	}
	return v
}

func (r *reader) rate(n *yaml.Node, what string) Rate {
	if n.Kind != yaml.ScalarNode {
		r.problem(n, "%srate: expected a rate, such as 50MiB", what)
		return 0
	}
	rate, err := ParseRate(n.Value)
	if err != nil {
		r.problem(n, "%srate: %v", what, err)
	}
	return rate
}
