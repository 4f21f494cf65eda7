package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/mirror"
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

// webFiles are the files of the releases that a mirror holds for a web server: the
// update graph of each channel, for clusters without an update service, and the
// signatures, for those that ask a store. What keeps a graph from being made is a
// note; a mirror that cannot be read is an error beside what needs no reading.
func (t *registryTarget) webFiles(ctx context.Context, h *mirror.Holding) (files []resources.File, notes []string, err error) {
	if files, err = resources.SignatureTree(signatureFolder, h.Platform().Signatures); err != nil {
		return nil, nil, err
	}
	channels := h.Followed()
	if len(channels) == 0 {
		return files, nil, nil
	}
	answer := h.PlannedGraph
	if h.GraphData != nil {
		held, err := t.heldReleases(ctx, h)
		if errors.Is(err, fs.ErrNotExist) { // somebody removed it
			return files, []string{fmt.Sprintf("no update graphs were written: %v", err)}, nil
		}
		if err != nil {
			return files, nil, err
		}
		answer = func(f mirror.Followed) (*graph.Graph, error) { return held.graph(h, f) }
	}
	for _, f := range channels {
		g, err := answer(f)
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("no update graph of %s for %s was written: %v", f.Channel, f.Arch, err))
			continue
		case len(g.Nodes) == 0:
			continue
		}
		var text bytes.Buffer
		if err := g.Write(&text); err != nil {
			return nil, nil, err
		}
		files = append(files, resources.File{Name: graphFolder + "/" + resources.GraphName(f.Channel, f.Arch), Text: text.Bytes()})
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
func (m *heldMirror) graph(h *mirror.Holding, f mirror.Followed) (*graph.Graph, error) {
	return m.Graph(f.Channel, f.Arch, func(r proof.Release) string {
		i := slices.IndexFunc(h.Releases, func(held mirror.HeldRelease) bool { return held.Mirror.Digest == r.Digest })
		if i < 0 { // the tag names another image now
			return r.Ref
		}
		return h.Releases[i].Source
	})
}
