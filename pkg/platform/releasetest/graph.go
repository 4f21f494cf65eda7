package releasetest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A pair is an update by versions, as in conditional updates.
type pair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// An update leads from one payload to another of the same architecture.
type update struct{ from, to *Payload }

// The format of a response of an update service.
type (
	response struct {
		Version     int           `json:"version"`
		Nodes       []node        `json:"nodes"`
		Edges       [][2]int      `json:"edges"`
		Conditional []conditional `json:"conditionalEdges"`
	}
	node struct {
		Version  string            `json:"version"`
		Payload  string            `json:"payload"`
		Metadata map[string]string `json:"metadata"`
	}
	conditional struct {
		Edges []pair `json:"edges"`
		Risks []risk `json:"risks"`
	}
	risk struct {
		URL     string `json:"url"`
		Name    string `json:"name"`
		Message string `json:"message"`
		Rules   []rule `json:"matchingRules"`
	}
	rule struct {
		Type   string  `json:"type"`
		PromQL *promQL `json:"promql,omitempty"`
	}
	promQL struct {
		PromQL string `json:"promql"`
	}
)

func (b Blocked) risk() risk {
	r := rule{Type: "Always"}
	if b.PromQL != "" {
		r = rule{Type: "PromQL", PromQL: &promQL{b.PromQL}}
	}
	return risk{b.URL, b.Name, b.Message, []rule{r}}
}

// blocks reports whether b blocks the update.
func (b Blocked) blocks(u update) bool {
	return b.isTo(u.to) && slices.Contains(b.From, u.from.Version)
}

func (b Blocked) isTo(p *Payload) bool {
	return b.To == p.Version || b.To == p.Version+"+"+string(p.Arch)
}

// regexp returns a regular expression for the blocked sources, as in graph data.
func (b Blocked) regexp() string {
	quoted := elements.Map(b.From, func(from string) string { return strings.ReplaceAll(regexp.QuoteMeta(from), `\.`, "[.]") })
	return "^(" + strings.Join(quoted, "|") + ")[+].*$"
}

// updates returns the updates that the releases of an architecture list.
func (w *Platform) updates(arch release.Arch) []update {
	byVersion := map[string]*Payload{}
	for _, p := range w.Payloads {
		if p.Arch == arch {
			byVersion[p.Version] = p
		}
	}
	var all []update
	add := func(from, to *Payload) {
		if u := (update{from, to}); from != nil && to != nil && !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	for _, p := range w.Payloads {
		if p.Arch != arch {
			continue
		}
		for _, version := range p.Previous {
			add(byVersion[version], p)
		}
		for _, version := range p.Next {
			add(p, byVersion[version])
		}
	}
	return all
}

// Graph returns the response of the update service for a channel. For an unknown channel it has no
// nodes, like the responses of a real service.
func (w *Platform) Graph(channel string, arch release.Arch) ([]byte, error) {
	a := response{Version: 1, Nodes: []node{}, Edges: [][2]int{}, Conditional: []conditional{}}
	at := map[*Payload]int{}
	for _, p := range w.Payloads {
		if p.Arch == arch && slices.Contains(w.definition.Channels[channel], p.Version) {
			at[p] = len(a.Nodes)
			a.Nodes = append(a.Nodes, node{p.Version, p.Reference(), w.metadata(p)})
		}
	}
	groups := map[string]int{} // of conditional updates, by their risks
	for _, u := range w.updates(arch) {
		from, isFrom := at[u.from]
		to, isTo := at[u.to]
		if !isFrom || !isTo {
			continue
		}
		var risks []risk
		var blocked bool
		for _, b := range w.sortedBlocked() {
			if b.blocks(u) {
				blocked = true
				if b.Name != "" {
					risks = append(risks, b.risk())
				}
			}
		}
		switch {
		case risks != nil:
			key, err := json.Marshal(risks)
			if err != nil {
				return nil, err
			}
			if _, ok := groups[string(key)]; !ok {
				groups[string(key)] = len(a.Conditional)
				a.Conditional = append(a.Conditional, conditional{Risks: risks})
			}
			group := &a.Conditional[groups[string(key)]]
			group.Edges = append(group.Edges, pair{u.from.Version, u.to.Version})
		case !blocked:
			a.Edges = append(a.Edges, [2]int{from, to})
		}
	}
	return json.Marshal(a)
}

// sortedBlocked returns the blocked updates in the order of their files in the graph data.
func (w *Platform) sortedBlocked() []Blocked {
	return elements.Sorted(slices.Values(w.definition.Blocked), func(a, b Blocked) int { return strings.Compare(a.file(), b.file()) })
}

func (b Blocked) file() string {
	if b.Name == "" {
		return b.To + ".yaml"
	}
	return b.To + "-" + b.Name + ".yaml"
}

// metadata returns the metadata of a release in a graph.
func (w *Platform) metadata(p *Payload) map[string]string {
	const prefix = "io.openshift.upgrades.graph."
	all := p.metadata()
	all[prefix+"release.manifestref"] = p.Digest.String()
	var channels, removed []string
	for channel, versions := range w.definition.Channels {
		if slices.Contains(versions, p.Version) {
			channels = append(channels, channel)
		}
	}
	elements.Sort(channels, func(a, b string) int {
		_, versionOfA, _ := strings.Cut(a, "-")
		_, versionOfB, _ := strings.Cut(b, "-")
		return cmp.Or(strings.Compare(versionOfA, versionOfB), strings.Compare(a, b))
	})
	if channels != nil {
		all[prefix+"release.channels"] = strings.Join(channels, ",")
	}
	for _, named := range []bool{false, true} { // removed updates first, then risks
		for _, b := range w.sortedBlocked() {
			if b.isTo(p) && (b.Name != "") == named {
				removed = append(removed, b.regexp())
			}
		}
	}
	if removed != nil {
		all[prefix+"previous.remove_regex"] = strings.Join(removed, "|")
	}
	return all
}

// GraphData returns the compressed tarball of channels and blocked updates.
func (w *Platform) GraphData() []byte { return bytes.Clone(w.graphData) }

func (w *Platform) tarball() ([]byte, error) {
	files := map[string][]byte{
		"LICENSE": []byte("Made for tests.\n"), "version": []byte("1.1.0\n"), "raw/metadata.json": []byte("{}\n"),
		"blocked-edges/": nil, "channels/": nil, "raw/": nil,
	}
	for channel, versions := range w.definition.Channels {
		text, err := yaml.Marshal(object{"name": channel, "versions": versions})
		if err != nil {
			return nil, err
		}
		files["channels/"+channel+".yaml"] = text
	}
	for _, b := range w.definition.Blocked {
		edge := object{"to": b.To, "from": b.regexp()}
		if b.Name != "" {
			r := b.risk()
			edge["name"], edge["message"], edge["url"], edge["matchingRules"] = r.Name, r.Message, r.URL, r.Rules
		}
		text, err := yaml.Marshal(edge)
		if err != nil {
			return nil, err
		}
		files["blocked-edges/"+b.file()] = text
	}
	var z bytes.Buffer
	zw := gzip.NewWriter(&z)
	tw := tar.NewWriter(zw)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name])), ModTime: published}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		if err := tw.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := tw.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	err := zw.Close()
	return z.Bytes(), err
}
