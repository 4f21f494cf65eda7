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

// The limits of Read. The largest graph that is served today has 0.5 MB.
const (
	// MaxSize is the largest size of a graph as JSON, in bytes.
	MaxSize = 32 << 20
	// maxValues limits the entries of lists and members of objects: enough for 500,000 conditional
	// updates.
	maxValues = 1 << 21
)

// Read parses the JSON of an update service, at most [MaxSize] bytes, and checks it as [New] does.
// It ignores unknown members. Metadata values that are not strings become their JSON.
//
// Errors give the position in the JSON. They distinguish a truncated response, an HTML page, and
// text after the graph.
func Read(r io.Reader) (*Graph, error) { return read(r, MaxSize, maxValues) }

func read(r io.Reader, size int64, values int) (*Graph, error) {
	limited := &io.LimitedReader{R: r, N: size + 1}
	in := bufio.NewReader(limited)
	if err := checkStart(in); err != nil {
		return nil, fmt.Errorf("reading an update graph: %w", err)
	}
	p := parser{dec: json.NewDecoder(in), left: values}
	err := p.read()
	if err == nil {
		err = p.end()
	}
	switch {
	case limited.N == 0:
		err = fmt.Errorf("the response has more than %d bytes", size)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("the response was cut short after %d bytes: %w", p.dec.InputOffset(), io.ErrUnexpectedEOF)
	}
	var g *Graph
	if err == nil {
		g, err = New(p.nodes, p.plain, p.conditional)
	}
	if err != nil {
		return nil, fmt.Errorf("reading an update graph: %w", err)
	}
	return g, nil
}

// checkStart looks at the first bytes for anything that is sent in place of JSON.
func checkStart(in *bufio.Reader) error {
	head, err := in.Peek(64)
	head = bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(head) == 0 && err != nil && err != io.EOF:
		return err
	case len(head) == 0 && err != nil:
		return errors.New("the response is empty")
	case bytes.HasPrefix(head, []byte("<")):
		return errors.New("the response is an HTML page, not JSON; proxies and login pages send such pages")
	}
	return nil
}

// A parser reads one graph.
type parser struct {
	dec  *json.Decoder
	left int // values that may still follow

	nodes       []Node
	plain       [][2]int
	conditional []Conditional
}

func (p *parser) read() error {
	seen := map[string]bool{}
	err := p.object(func(key string) error {
		switch key {
		case "nodes", "edges", "conditionalEdges":
			if seen[key] {
				return errors.New("it occurs twice")
			}
			seen[key] = true
		}
		switch key {
		case "version":
			return p.version()
		case "nodes":
			return p.list(p.node)
		case "edges":
			return p.list(p.edge)
		case "conditionalEdges":
			return p.list(p.group)
		}
		return p.skip()
	})
	if err == nil && !seen["nodes"] {
		return errors.New(`not an update graph: "nodes" is missing`)
	}
	return err
}

// end returns an error if anything follows the graph.
func (p *parser) end() error {
	switch _, err := p.dec.Token(); {
	case err == io.EOF:
		return nil
	case err == nil || errors.As(err, new(*json.SyntaxError)):
		return fmt.Errorf("unexpected data after the graph, at byte %d", p.dec.InputOffset())
	default:
		return err
	}
}

// version reads the version of the format. Services that omit it mean 1.
func (p *parser) version() error {
	v := 1
	if err := p.dec.Decode(&v); err != nil {
		return err
	}
	if v != 1 {
		return fmt.Errorf("format version %d is not supported, only 1", v)
	}
	return nil
}

func (p *parser) node() error {
	var n Node
	var version string
	err := p.object(func(key string) error {
		switch key {
		case "version":
			return p.dec.Decode(&version)
		case "payload":
			return p.dec.Decode(&n.Payload)
		case "metadata":
			n.Metadata = map[string]string{}
			return p.object(func(key string) error { return p.metadata(n.Metadata, key) })
		}
		return p.skip()
	})
	if err != nil {
		return err
	}
	if n.Version, err = semver.Parse(version); err != nil {
		return fmt.Errorf("%.60q is not a version: %w", version, err)
	}
	if n.Payload == "" {
		return fmt.Errorf("%s has no payload (the release image)", version)
	}
	if len(n.Metadata) == 0 {
		n.Metadata = nil
	}
	p.nodes = append(p.nodes, n)
	return nil
}

// metadata reads one value of a node's metadata. Today all are strings. null is ignored.
func (p *parser) metadata(to map[string]string, key string) error {
	var raw json.RawMessage
	if err := p.dec.Decode(&raw); err != nil {
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

func (p *parser) edge() error {
	var e edge
	if err := p.dec.Decode(&e); err != nil {
		return err
	}
	p.plain = append(p.plain, e)
	return nil
}

// An edge is a pair of indexes. A Go array would accept a JSON array of any length.
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
		return fmt.Errorf("%.40s is not a pair of node indexes", data)
	}
	return nil
}

func (p *parser) group() error {
	var c Conditional
	err := p.object(func(key string) error {
		switch key {
		case "edges":
			return p.list(func() error { return p.pair(&c) })
		case "risks":
			return p.list(func() error { return p.risk(&c) })
		}
		return p.skip()
	})
	p.conditional = append(p.conditional, c)
	return err
}

func (p *parser) pair(c *Conditional) error {
	var pair Pair
	err := p.strings(map[string]*string{"from": &pair.From, "to": &pair.To})
	c.Pairs = append(c.Pairs, pair)
	return err
}

func (p *parser) risk(c *Conditional) error {
	var r Risk
	err := p.object(func(key string) error {
		switch key {
		case "url":
			return p.dec.Decode(&r.URL)
		case "name":
			return p.dec.Decode(&r.Name)
		case "message":
			return p.dec.Decode(&r.Message)
		case "matchingRules":
			return p.list(func() error { return p.rule(&r) })
		}
		return p.skip()
	})
	c.Risks = append(c.Risks, r)
	return err
}

func (p *parser) rule(r *Risk) error {
	var rule Rule
	err := p.object(func(key string) error {
		switch key {
		case "type":
			return p.dec.Decode(&rule.Type)
		case "promql":
			return p.strings(map[string]*string{"promql": &rule.PromQL})
		}
		return p.skip()
	})
	r.Rules = append(r.Rules, rule)
	return err
}
