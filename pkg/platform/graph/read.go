package graph

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/elements"
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
	text, err := io.ReadAll(io.LimitReader(r, size+1))
	if err == nil && int64(len(text)) > size {
		err = fmt.Errorf("the response has more than %d bytes", size)
	}
	var g *Graph
	if err == nil {
		g, err = parse(text, values)
	}
	if err != nil {
		return nil, fmt.Errorf("reading an update graph: %w", err)
	}
	return g, nil
}

// parse parses the text of a graph with at most so many values.
func parse(text []byte, values int) (*Graph, error) {
	switch head := bytes.TrimLeft(text, " \t\r\n"); {
	case len(head) == 0:
		return nil, errors.New("the response is empty")
	case bytes.HasPrefix(head, []byte("<")):
		return nil, errors.New("the response is an HTML page, not JSON; proxies and login pages send such pages")
	}
	n := 0
	for _, c := range []byte(",[{") { // at least one for each value; texts may have some, too
		n += bytes.Count(text, []byte{c})
	}
	if n > values {
		return nil, errors.New("the graph has too many values")
	}
	var answer struct {
		Version     *int           `json:"version"` // services that omit it mean 1
		Nodes       jsontext.Value `json:"nodes"`
		Edges       [][2]int       `json:"edges"`
		Conditional []groupJSON    `json:"conditionalEdges"`
	}
	err := json.Unmarshal(text, &answer)
	var nodes []answeredNode
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the response was cut short after %d bytes: %w", len(text), io.ErrUnexpectedEOF)
	case err != nil:
		return nil, err
	case answer.Version != nil && *answer.Version != 1:
		return nil, fmt.Errorf("format version %d is not supported, only 1", *answer.Version)
	case answer.Nodes == nil:
		return nil, errors.New(`not an update graph: "nodes" is missing`)
	}
	if err := json.Unmarshal(answer.Nodes, &nodes); err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	all := make([]Node, len(nodes))
	for i := range nodes {
		if all[i], err = nodes[i].node(); err != nil {
			return nil, fmt.Errorf("nodes[%d]: %w", i, err)
		}
	}
	conditional := elements.Map(answer.Conditional, func(c groupJSON) Conditional { return c.conditional() })
	return New(all, answer.Edges, conditional)
}

// An answeredNode is a node as services return it.
type answeredNode struct {
	Version  string                    `json:"version"`
	Payload  string                    `json:"payload"`
	Metadata map[string]jsontext.Value `json:"metadata"`
}

// node checks a node. Values of metadata are strings today; null is ignored.
func (a *answeredNode) node() (n Node, err error) {
	if n.Version, err = semver.Parse(a.Version); err != nil {
		return n, fmt.Errorf("%.60q is not a version: %w", a.Version, err)
	}
	if n.Payload = a.Payload; n.Payload == "" {
		return n, fmt.Errorf("%s has no payload (the release image)", a.Version)
	}
	for key, value := range a.Metadata {
		var text string
		switch value.Kind() {
		case 'n':
			continue
		case '"':
			err = json.Unmarshal(value, &text)
		default:
			err = value.Compact()
			text = string(value)
		}
		if err != nil {
			return n, err
		}
		if n.Metadata == nil {
			n.Metadata = map[string]string{}
		}
		n.Metadata[key] = text
	}
	return n, nil
}

// conditional returns the group without the JSON.
func (g *groupJSON) conditional() Conditional {
	var c Conditional
	for _, p := range g.Edges {
		c.Pairs = append(c.Pairs, Pair(p))
	}
	for _, r := range g.Risks {
		risk := Risk{Name: r.Name, Message: r.Message, URL: r.URL}
		for _, rule := range r.Rules {
			made := Rule{Type: rule.Type}
			if rule.PromQL != nil {
				made.PromQL = rule.PromQL.PromQL
			}
			risk.Rules = append(risk.Rules, made)
		}
		c.Risks = append(c.Risks, risk)
	}
	return c
}
