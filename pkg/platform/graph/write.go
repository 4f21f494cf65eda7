package graph

import (
	"encoding/json"
	"fmt"
	"io"
)

// The JSON of update services, version 1 of the format.
type (
	graphJSON struct {
		Version     int         `json:"version"`
		Nodes       []nodeJSON  `json:"nodes"`
		Edges       [][2]int32  `json:"edges"`
		Conditional []groupJSON `json:"conditionalEdges"`
	}
	nodeJSON struct {
		Version  string            `json:"version"`
		Payload  string            `json:"payload"`
		Metadata map[string]string `json:"metadata"`
	}
	groupJSON struct {
		Edges []pairJSON `json:"edges"`
		Risks []riskJSON `json:"risks"`
	}
	pairJSON struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	riskJSON struct {
		URL     string     `json:"url"`
		Name    string     `json:"name"`
		Message string     `json:"message"`
		Rules   []ruleJSON `json:"matchingRules"`
	}
	ruleJSON struct {
		Type   string      `json:"type"`
		PromQL *promQLJSON `json:"promql,omitempty"`
	}
	promQLJSON struct {
		PromQL string `json:"promql"`
	}
)

// Write writes g as update services return it, on one line: nodes by version, then updates by the
// versions that they connect. Equal graphs have equal bytes, and [Read] returns g again.
func (g *Graph) Write(w io.Writer) error {
	out := graphJSON{
		Version: 1, Nodes: make([]nodeJSON, len(g.Nodes)),
		Edges: make([][2]int32, 0, len(g.edges)), Conditional: make([]groupJSON, len(g.groups)),
	}
	for i, risks := range g.groups {
		out.Conditional[i].Risks = risksJSON(risks)
	}
	for i, n := range g.Nodes {
		out.Nodes[i] = nodeJSON{n.Version.String(), n.Payload, n.Metadata}
		if n.Metadata == nil {
			out.Nodes[i].Metadata = map[string]string{}
		}
	}
	for i := range g.Nodes {
		for _, e := range g.From(i) {
			if e.Group < 0 {
				out.Edges = append(out.Edges, [2]int32{int32(i), e.To})
				continue
			}
			c := &out.Conditional[e.Group]
			c.Edges = append(c.Edges, pairJSON{out.Nodes[i].Version, out.Nodes[e.To].Version})
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // queries contain < and >
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("writing an update graph: %w", err)
	}
	return nil
}

func risksJSON(risks []Risk) []riskJSON {
	out := make([]riskJSON, len(risks))
	for i, r := range risks {
		out[i] = riskJSON{r.URL, r.Name, r.Message, make([]ruleJSON, len(r.Rules))}
		for j, rule := range r.Rules {
			out[i].Rules[j].Type = rule.Type
			if rule.PromQL != "" {
				out[i].Rules[j].PromQL = &promQLJSON{rule.PromQL}
			}
		}
	}
	return out
}
