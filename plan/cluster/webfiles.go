package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/graphdata"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/proof"
)

// The folders of files for a web server. They are beside the manifests, in folders that `oc apply
// -f DIR` does not read.
const (
	GraphFolder     = "graphs"
	SignatureFolder = "signatures"
)

// webFiles returns the files for a web server about the releases in a mirror: the update graph of
// each channel, for clusters without an update service, and the signatures, for clusters that read
// a signature store. If a graph cannot be made, a note says why. If the mirror cannot be read, the
// files that do not require reading it are returned with the error.
func webFiles(ctx context.Context, t *site.RegistryDestination, h *state.Record, read bool) (files []resources.File, notes []string, err error) {
	if files, err = resources.SignatureTree(SignatureFolder, h.Platform().Signatures); err != nil {
		return nil, nil, err
	}
	channels := h.Channels()
	if len(channels) == 0 {
		return files, nil, nil
	}
	graphOf := h.PlannedGraph
	if h.GraphData != nil && read {
		mirrored, err := readReleases(ctx, t, h)
		if errors.Is(err, fs.ErrNotExist) { // it was removed from the mirror
			return files, []string{fmt.Sprintf("no update graphs were written: %v", err)}, nil
		}
		if err != nil {
			return files, nil, err
		}
		graphOf = func(f state.Channel) (*graph.Graph, error) { return mirrored.graph(h, f) }
	}
	for _, f := range channels {
		g, err := graphOf(f)
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("no update graph of %s for %s was written: %v", f.Name, f.Arch, err))
			continue
		case len(g.Nodes) == 0:
			continue
		}
		var text bytes.Buffer
		if err := g.Write(&text); err != nil {
			return nil, nil, err
		}
		files = append(files, resources.File{Name: GraphFolder + "/" + resources.GraphName(f.Name, f.Arch), Text: text.Bytes()})
	}
	return files, notes, nil
}

// mirroredReleases are the releases and the graph data of plans in a mirror.
type mirroredReleases struct{ proof.Mirror }

// readReleases reads the releases and the graph data of a mirror as update services read them.
func readReleases(ctx context.Context, t *site.RegistryDestination, h *state.Record) (*mirroredReleases, error) {
	tags := map[string][]string{} // by repository
	for _, r := range h.Releases {
		name := r.Mirror.Name()
		tags[name] = append(tags[name], r.Mirror.Tag)
	}
	m, images := &mirroredReleases{}, site.NewMirrorImages(t.Client)
	for _, repository := range slices.Sorted(maps.Keys(tags)) {
		found, err := proof.Read(ctx, images, repository, tags[repository], min(t.Streams, site.MaxReleaseReads))
		if err != nil {
			return nil, err
		}
		m.Releases = append(m.Releases, found...)
	}
	var err error
	m.Data, err = graphdata.ReadImage(ctx, images, h.GraphData.WithDigest(h.GraphData.Digest).String())
	return m, err
}

// graph returns the update graph that an update service at the site would serve, with the payloads
// by the names that clusters know.
func (m *mirroredReleases) graph(h *state.Record, f state.Channel) (*graph.Graph, error) {
	return m.Graph(f.Name, f.Arch, func(r proof.Release) string {
		i := slices.IndexFunc(h.Releases, func(recorded state.Release) bool { return recorded.Mirror.Digest == r.Digest })
		if i < 0 { // the tag names another image now
			return r.Ref
		}
		return h.Releases[i].Source
	})
}
