package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Rehost changes where a mirror is: its registry and the prefix of its repositories. Lists that the record
// shares with another one do not change.
func (r *Record) Rehost(host, prefix, newHost, newPrefix string) error {
	r.Images, r.Catalogs, r.Releases = slices.Clone(r.Images), slices.Clone(r.Catalogs), slices.Clone(r.Releases)
	var refs []*reference.Reference
	for i := range r.Images {
		if r.Images[i].Mirror.Host != "" {
			refs = append(refs, &r.Images[i].Mirror)
		}
	}
	for i := range r.Catalogs {
		refs = append(refs, &r.Catalogs[i].Mirror)
	}
	for i := range r.Releases {
		refs = append(refs, &r.Releases[i].Mirror)
	}
	if r.GraphData != nil && r.GraphData.Host != "" {
		graph := *r.GraphData
		r.GraphData = &graph
		refs = append(refs, &graph)
	}
	for _, ref := range refs {
		rest, ok := strings.CutPrefix("/"+ref.Path, strings.TrimSuffix("/"+prefix, "/")+"/")
		if ref.Host != host || !ok {
			return fmt.Errorf("%s is not below %s", ref, strings.TrimSuffix(host+"/"+prefix, "/"))
		}
		ref.Host, ref.Path = newHost, strings.TrimPrefix(newPrefix+"/"+rest, "/")
	}
	moveText := func(s string) string { // a place is no reference if its catalog has no mirror
		if rest, ok := strings.CutPrefix(s, strings.TrimSuffix(host+"/"+prefix, "/")+"/"); ok {
			return strings.TrimSuffix(newHost+"/"+newPrefix, "/") + "/" + rest
		}
		return s
	}
	r.Names = slices.Clone(r.Names)
	for i := range r.Names {
		r.Names[i].Place = moveText(r.Names[i].Place)
	}
	if r.Selections == nil {
		return nil
	}
	selections := make(map[string]digest.Digest, len(r.Selections))
	for tag, d := range r.Selections {
		selections[moveText(tag)] = d
	}
	r.Selections = selections
	return nil
}
