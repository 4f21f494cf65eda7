package image

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
)

// facts are what Build needs of the listings, as Facts writes them.
type facts struct {
	Dir    string                       `json:"dir"`
	Caches []string                     `json:"caches,omitempty"`
	Layers map[digest.Digest]layerFacts `json:"layers"` // by diff ID
}

// layerFacts are what Build needs of a listing.
type layerFacts struct {
	Touches     []string                  `json:"touches,omitempty"`
	More        bool                      `json:"more,omitempty"`
	Tmp         bool                      `json:"tmp,omitempty"`
	Directories map[string]directoryFacts `json:"directories,omitempty"`
}

// directoryFacts are attributes.
type directoryFacts struct {
	Mode int64 `json:"mode"`
	UID  int   `json:"uid,omitempty"`
	GID  int   `json:"gid,omitempty"`
}

// Facts is what Read or Stream learnt about the layers, as JSON, for an Image of
// the same root to Restore.
func (i *Image) Facts() ([]byte, error) {
	f := facts{Dir: i.dir, Caches: i.caches, Layers: map[digest.Digest]layerFacts{}}
	for id, found := range i.listings {
		l := layerFacts{More: found.more, Tmp: found.tmp, Directories: map[string]directoryFacts{}}
		l.Touches = slices.Sorted(maps.Keys(found.touches))
		for name, a := range found.directories {
			l.Directories[name] = directoryFacts{a.mode, a.uid, a.gid}
		}
		f.Layers[id] = l
	}
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("writing what is known of image %s: %w", i.root.Digest, err)
	}
	return data, nil
}

// Restore takes in the Facts of an Image that was read, so that Build and Layers
// have the same results for this one, which was only opened. Facts of another
// image are an error.
func (i *Image) Restore(data []byte) error {
	var f facts
	err := json.Unmarshal(data, &f)
	if err == nil {
		err = i.restore(f)
	}
	if err != nil {
		return fmt.Errorf("taking in what is known of image %s: %w", i.root.Digest, err)
	}
	return nil
}

func (i *Image) restore(f facts) error {
	if err := i.mustBeFileBased(); err != nil {
		return err
	}
	if f.Dir != i.dir || !slices.Equal(f.Caches, i.caches) {
		return fmt.Errorf("it is about an image with the catalog in /%.200s", f.Dir)
	}
	for _, id := range i.primary().diffIDs {
		if _, ok := f.Layers[id]; !ok {
			return fmt.Errorf("layer %s is missing", id)
		}
	}
	listings := map[digest.Digest]*listing{}
	for id, l := range f.Layers {
		found := &listing{more: l.More, tmp: l.Tmp, touches: map[string]bool{}, directories: map[string]attributes{}}
		for _, dir := range l.Touches {
			found.touches[dir] = true
		}
		for name, a := range l.Directories {
			found.directories[name] = attributes{a.Mode, a.UID, a.GID}
		}
		listings[id] = found
	}
	i.listings = listings
	return nil
}
