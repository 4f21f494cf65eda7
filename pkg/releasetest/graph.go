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

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A pair is an update by versions, as conditional updates are written.
type pair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// An update leads from one payload to another of its architecture.
type update struct{ from, to *Payload }

// The form of an update service's answer.
type (
	answer struct {
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

// about reports whether the update is one that is blocked.
func (b Blocked) about(u update) bool {
	return b.leadsTo(u.to) && slices.Contains(b.From, u.from.Version)
}

func (b Blocked) leadsTo(p *Payload) bool {
	return b.To == p.Version || b.To == p.Version+"+"+string(p.Arch)
}

// regexp matches the blocked sources, as graph data says them.
func (b Blocked) regexp() string {
	var quoted []string
	for _, from := range b.From {
		quoted = append(quoted, strings.ReplaceAll(regexp.QuoteMeta(from), `\.`, "[.]"))
	}
	return "^(" + strings.Join(quoted, "|") + ")[+].*$"
}

// updates are those that the releases of an architecture tell of.
func (w *World) updates(arch release.Arch) []update {
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

// Graph is the answer of the update service for a channel. For one that is not
// there it has no nodes, as real answers have.
func (w *World) Graph(channel string, arch release.Arch) ([]byte, error) {
	a := answer{Version: 1, Nodes: []node{}, Edges: [][2]int{}, Conditional: []conditional{}}
	at := map[*Payload]int{}
	for _, p := range w.Payloads {
		if p.Arch == arch && slices.Contains(w.universe.Channels[channel], p.Version) {
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
		for _, b := range w.blocks() {
			if b.about(u) {
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

// blocks are the blocked updates in the order in which graph data is read.
func (w *World) blocks() []Blocked {
	return slices.SortedStableFunc(slices.Values(w.universe.Blocked), func(a, b Blocked) int { return strings.Compare(a.file(), b.file()) })
}

func (b Blocked) file() string {
	if b.Name == "" {
		return b.To + ".yaml"
	}
	return b.To + "-" + b.Name + ".yaml"
}

// metadata is what a graph says of a release.
func (w *World) metadata(p *Payload) map[string]string {
	const prefix = "io.openshift.upgrades.graph."
	all := p.metadata()
	all[prefix+"release.manifestref"] = p.Digest.String()
	var channels, removed []string
	for channel, versions := range w.universe.Channels {
		if slices.Contains(versions, p.Version) {
			channels = append(channels, channel)
		}
	}
	slices.SortFunc(channels, func(a, b string) int {
		_, versionOfA, _ := strings.Cut(a, "-")
		_, versionOfB, _ := strings.Cut(b, "-")
		return cmp.Or(strings.Compare(versionOfA, versionOfB), strings.Compare(a, b))
	})
	if channels != nil {
		all[prefix+"release.channels"] = strings.Join(channels, ",")
	}
	for _, named := range []bool{false, true} { // risks are added to what is gone
		for _, b := range w.blocks() {
			if b.leadsTo(p) && (b.Name != "") == named {
				removed = append(removed, b.regexp())
			}
		}
	}
	if removed != nil {
		all[prefix+"previous.remove_regex"] = strings.Join(removed, "|")
	}
	return all
}

// GraphData is the tarball of channels and blocked updates, gzip'd.
func (w *World) GraphData() []byte { return bytes.Clone(w.graphData) }

func (w *World) tarball() ([]byte, error) {
	files := map[string][]byte{
		"LICENSE": []byte("Made for tests.\n"), "version": []byte("1.1.0\n"), "raw/metadata.json": []byte("{}\n"),
		"blocked-edges/": nil, "channels/": nil, "raw/": nil,
	}
	for channel, versions := range w.universe.Channels {
		text, err := yaml.Marshal(object{"name": channel, "versions": versions})
		if err != nil {
			return nil, err
		}
		files["channels/"+channel+".yaml"] = text
	}
	for _, b := range w.universe.Blocked {
		says := object{"to": b.To, "from": b.regexp()}
		if b.Name != "" {
			r := b.risk()
			says["name"], says["message"], says["url"], says["matchingRules"] = r.Name, r.Message, r.URL, r.Rules
		}
		text, err := yaml.Marshal(says)
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
