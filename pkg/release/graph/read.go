package graph

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/blang/semver/v4"
)

// What Read takes at most. The largest graph that is served today has 0.5 MB.
const (
	// MaxSize is that of a graph as JSON, in bytes.
	MaxSize = 32 << 20
	// maxValues counts the entries of lists and the members of objects: enough
	// for 500,000 conditional updates.
	maxValues = 1 << 21
)

// Read reads the JSON of a graph as update services answer it, of at most
// [MaxSize] bytes, and checks it as [New] does. Members that it does not know
// are passed over. Metadata that are no strings become their JSON.
//
// Errors say where in the JSON they are. They tell an answer that was cut short,
// a page of HTML and text that follows the graph apart.
func Read(r io.Reader) (*Graph, error) { return read(r, MaxSize, maxValues) }

func read(r io.Reader, size int64, values int) (*Graph, error) {
	limited := &io.LimitedReader{R: r, N: size + 1}
	in := bufio.NewReader(limited)
	if err := begins(in); err != nil {
		return nil, fmt.Errorf("reading an update graph: %w", err)
	}
	a := answer{dec: json.NewDecoder(in), left: values}
	err := a.read()
	if err == nil {
		err = a.end()
	}
	switch {
	case limited.N == 0:
		err = fmt.Errorf("it has more than %d bytes", size)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("it was cut short, after %d bytes: %w", a.dec.InputOffset(), io.ErrUnexpectedEOF)
	}
	var g *Graph
	if err == nil {
		g, err = New(a.nodes, a.plain, a.conditional)
	}
	if err != nil {
		return nil, fmt.Errorf("reading an update graph: %w", err)
	}
	return g, nil
}

// begins looks at the first bytes for what is sent in place of JSON.
func begins(in *bufio.Reader) error {
	head, err := in.Peek(64)
	head = bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(head) == 0 && err != nil && err != io.EOF:
		return err
	case len(head) == 0 && err != nil:
		return errors.New("it is empty")
	case bytes.HasPrefix(head, []byte("<")):
		return errors.New("it is a page of HTML, as proxies and login pages send it, and no JSON")
	}
	return nil
}

// An answer is a graph while it is read.
type answer struct {
	dec  *json.Decoder
	left int // values that may still come

	nodes       []Node
	plain       [][2]int
	conditional []Conditional
}

func (a *answer) read() error {
	seen := map[string]bool{}
	err := a.object(func(key string) error {
		switch key {
		case "nodes", "edges", "conditionalEdges":
			if seen[key] {
				return errors.New("it stands there twice")
			}
			seen[key] = true
		}
		switch key {
		case "version":
			return a.version()
		case "nodes":
			return a.list(a.node)
		case "edges":
			return a.list(a.edge)
		case "conditionalEdges":
			return a.list(a.group)
		}
		return a.skip()
	})
	if err == nil && !seen["nodes"] {
		return errors.New(`it is no update graph: it has no "nodes"`)
	}
	return err
}

// end makes sure that nothing follows the graph.
func (a *answer) end() error {
	switch _, err := a.dec.Token(); {
	case err == io.EOF:
		return nil
	case err == nil || errors.As(err, new(*json.SyntaxError)):
		return fmt.Errorf("something follows the graph, from byte %d on", a.dec.InputOffset())
	default:
		return err
	}
}

// version reads that of the format. Services that do not tell it mean 1.
func (a *answer) version() error {
	v := 1
	if err := a.dec.Decode(&v); err != nil {
		return err
	}
	if v != 1 {
		return fmt.Errorf("the graph is in version %d of the format, and only 1 is known", v)
	}
	return nil
}

func (a *answer) node() error {
	var n Node
	var version string
	err := a.object(func(key string) error {
		switch key {
		case "version":
			return a.dec.Decode(&version)
		case "payload":
			return a.dec.Decode(&n.Payload)
		case "metadata":
			n.Metadata = map[string]string{}
			return a.object(func(key string) error { return a.metadata(n.Metadata, key) })
		}
		return a.skip()
	})
	if err != nil {
		return err
	}
	if n.Version, err = semver.Parse(version); err != nil {
		return fmt.Errorf("%.60q is no version: %w", version, err)
	}
	if n.Payload == "" {
		return fmt.Errorf("%s has no payload (the release image)", version)
	}
	if len(n.Metadata) == 0 {
		n.Metadata = nil
	}
	a.nodes = append(a.nodes, n)
	return nil
}

// metadata reads one of a node's: today all are strings. null says nothing.
func (a *answer) metadata(to map[string]string, key string) error {
	var raw json.RawMessage
	if err := a.dec.Decode(&raw); err != nil {
		return err
	}
	var s string
	switch raw[0] {
	case 'n':
		return nil
	case '"':
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
	default:
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return err
		}
		s = b.String()
	}
	to[key] = s
	return nil
}

func (a *answer) edge() error {
	var e edge
	if err := a.dec.Decode(&e); err != nil {
		return err
	}
	a.plain = append(a.plain, e)
	return nil
}

// An edge is a pair of indexes. An array of Go would take one of any length.
type edge [2]int

func (e *edge) UnmarshalJSON(data []byte) error {
	inner, ok := bytes.CutPrefix(data, []byte("["))
	from, to, two := bytes.Cut(bytes.TrimSuffix(inner, []byte("]")), []byte(","))
	var err error
	if ok && two {
		if e[0], err = strconv.Atoi(string(bytes.TrimSpace(from))); err == nil {
			e[1], err = strconv.Atoi(string(bytes.TrimSpace(to)))
		}
	}
	if !ok || !two || err != nil {
		return fmt.Errorf("%.40s is no pair of indexes of nodes", data)
	}
	return nil
}

func (a *answer) group() error {
	var c Conditional
	err := a.object(func(key string) error {
		switch key {
		case "edges":
			return a.list(func() error { return a.pair(&c) })
		case "risks":
			return a.list(func() error { return a.risk(&c) })
		}
		return a.skip()
	})
	a.conditional = append(a.conditional, c)
	return err
}

func (a *answer) pair(c *Conditional) error {
	var p Pair
	err := a.strings(map[string]*string{"from": &p.From, "to": &p.To})
	c.Pairs = append(c.Pairs, p)
	return err
}

func (a *answer) risk(c *Conditional) error {
	var r Risk
	err := a.object(func(key string) error {
		switch key {
		case "url":
			return a.dec.Decode(&r.URL)
		case "name":
			return a.dec.Decode(&r.Name)
		case "message":
			return a.dec.Decode(&r.Message)
		case "matchingRules":
			return a.list(func() error { return a.rule(&r) })
		}
		return a.skip()
	})
	c.Risks = append(c.Risks, r)
	return err
}

func (a *answer) rule(r *Risk) error {
	var rule Rule
	err := a.object(func(key string) error {
		switch key {
		case "type":
			return a.dec.Decode(&rule.Type)
		case "promql":
			return a.strings(map[string]*string{"promql": &rule.PromQL})
		}
		return a.skip()
	})
	r.Rules = append(r.Rules, rule)
	return err
}
