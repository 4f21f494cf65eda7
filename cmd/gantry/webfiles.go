package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/release/graphdata"
	"github.com/gantry-mirror/gantry/pkg/release/proof"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// The folders of what a web server may give to clusters. They stand beside the
// manifests, where `oc apply -f DIR` does not look.
const (
	graphFolder     = "graphs"
	signatureFolder = "signatures"
)

// A followed channel is one of an architecture for which releases were chosen.
type followed struct {
	channel string
	arch    release.Arch
}

// webFiles are the files of the releases that a mirror holds for a web server: the
// update graph of each channel, for clusters without an update service, and the
// signatures, for those that ask a store. What keeps a graph from being made is a
// note.
func (t *registryTarget) webFiles(ctx context.Context, h *mirror.Holding) (files []resources.File, notes []string, err error) {
	if files, err = resources.SignatureTree(signatureFolder, h.Platform().Signatures); err != nil {
		return nil, nil, err
	}
	var channels []followed
	for _, r := range h.Releases {
		for _, name := range r.Channels {
			if f := (followed{name, r.Arch}); !slices.Contains(channels, f) {
				channels = append(channels, f)
			}
		}
	}
	slices.SortFunc(channels, func(a, b followed) int { return cmp.Or(cmp.Compare(a.channel, b.channel), cmp.Compare(a.arch, b.arch)) })
	if len(channels) == 0 {
		return files, nil, nil
	}
	answer := func(f followed) (*graph.Graph, error) { return plannedGraph(h, f) }
	if h.GraphData != nil {
		held, err := t.heldReleases(ctx, h)
		if errors.Is(err, fs.ErrNotExist) { // somebody removed it
			return files, []string{fmt.Sprintf("no update graphs were written: %v", err)}, nil
		}
		if err != nil {
			return nil, nil, err
		}
		answer = func(f followed) (*graph.Graph, error) { return held.graph(h, f) }
	}
	for _, f := range channels {
		g, err := answer(f)
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("no update graph of %s for %s was written: %v", f.channel, f.arch, err))
			continue
		case len(g.Nodes) == 0:
			continue
		}
		var text bytes.Buffer
		if err := g.Write(&text); err != nil {
			return nil, nil, err
		}
		files = append(files, resources.File{Name: graphFolder + "/" + resources.GraphName(f.channel, f.arch), Text: text.Bytes()})
	}
	return files, notes, nil
}

// heldMirror is a mirror as far as it holds releases of plans.
type heldMirror struct{ proof.Mirror }

// heldReleases reads what update services read of the releases and the graph data
// that a mirror holds.
func (t *registryTarget) heldReleases(ctx context.Context, h *mirror.Holding) (*heldMirror, error) {
	tags := map[string][]string{} // by repository
	for _, r := range h.Releases {
		name := r.Mirror.Name()
		tags[name] = append(tags[name], r.Mirror.Tag)
	}
	m, images := &heldMirror{}, newMirrorImages(t.client)
	for _, repository := range slices.Sorted(maps.Keys(tags)) {
		found, err := proof.Read(ctx, images, repository, tags[repository], min(t.streams, maxReleaseReads))
		if err != nil {
			return nil, err
		}
		m.Releases = append(m.Releases, found...)
	}
	var err error
	m.Data, err = graphdata.ReadImage(ctx, images, h.GraphData.WithDigest(h.GraphData.Digest).String())
	return m, err
}

// graph is what an update service at the site answers, with the payloads by the names
// that clusters know.
func (m *heldMirror) graph(h *mirror.Holding, f followed) (*graph.Graph, error) {
	return m.Graph(f.channel, f.arch, func(r proof.Release) string {
		i := slices.IndexFunc(h.Releases, func(held mirror.HeldRelease) bool { return held.Mirror.Digest == r.Digest })
		if i < 0 { // the tag names another image now
			return r.Ref
		}
		return h.Releases[i].Source
	})
}

// plannedGraph is the graph of the hops that were planned, between releases that the
// mirror holds: without graph data, nobody knows of others. Where plans differ in
// the risks of a hop, the first one counts, which is that of this run.
func plannedGraph(h *mirror.Holding, f followed) (*graph.Graph, error) {
	var nodes []graph.Node
	index := map[string]int{}
	node := func(version string) (int, bool) {
		if at, ok := index[version]; ok {
			return at, true
		}
		i := slices.IndexFunc(h.Releases, func(r mirror.HeldRelease) bool { return r.Version == version && r.Arch == f.arch })
		v, err := semver.Parse(version)
		if i < 0 || err != nil {
			return 0, false
		}
		r := h.Releases[i]
		metadata := map[string]string{graph.ManifestKey: r.Mirror.Digest.String(), graph.ChannelsKey: strings.Join(slices.Sorted(slices.Values(r.Channels)), ",")}
		if r.URL != "" {
			metadata[graph.URLKey] = r.URL
		}
		if r.Arch == release.Multi {
			metadata[graph.ArchKey] = string(release.Multi)
		}
		index[version] = len(nodes)
		nodes = append(nodes, graph.Node{Version: v, Payload: r.Source, Metadata: metadata})
		return index[version], true
	}
	var plain [][2]int
	var conditional []graph.Conditional
	seen := map[[2]int]bool{}
	for _, u := range h.Updates {
		if u.Channel != f.channel || u.Arch != f.arch {
			continue
		}
		for _, hop := range u.Hops {
			from, isFrom := node(hop.From)
			to, isTo := node(hop.To)
			pair := [2]int{from, to}
			if !isFrom || !isTo || seen[pair] {
				continue
			}
			seen[pair] = true
			if len(hop.Risks) == 0 {
				plain = append(plain, pair)
				continue
			}
			c := graph.Conditional{Pairs: []graph.Pair{{From: hop.From, To: hop.To}}}
			for _, r := range hop.Risks {
				risk := graph.Risk{Name: r.Name, Message: r.Message, URL: r.URL}
				for _, rule := range r.Rules {
					risk.Rules = append(risk.Rules, graph.Rule{Type: rule.Type, PromQL: rule.PromQL})
				}
				c.Risks = append(c.Risks, risk)
			}
			conditional = append(conditional, c)
		}
	}
	return graph.New(nodes, plain, conditional)
}
