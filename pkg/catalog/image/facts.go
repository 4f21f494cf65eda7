package image

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// facts is what Build needs of the listings, as Facts writes it.
type facts struct {
	Dir    string                       `json:"dir"`
	Label  string                       `json:"label,omitempty"` // the labeled directory if it is a symbolic link to Dir
	Caches []string                     `json:"caches,omitempty"`
	Layers map[digest.Digest]layerFacts `json:"layers"` // by diff ID
}

// layerFacts is what Build needs of a listing.
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

// Facts returns what Read or Stream learned about the layers, as JSON, for Restore on an Image of the
// same root.
func (i *Image) Facts() ([]byte, error) {
	f := facts{Dir: i.dir, Label: i.labeled, Caches: i.caches, Layers: map[digest.Digest]layerFacts{}}
	for id, found := range i.listings {
		l := layerFacts{More: found.Elsewhere, Tmp: found.Tmp, Directories: map[string]directoryFacts{}}
		l.Touches = slices.Sorted(maps.Keys(found.Touches))
		for name, a := range found.Directories {
			l.Directories[name] = directoryFacts{a.Mode, a.UID, a.GID}
		}
		f.Layers[id] = l
	}
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("recording the layers of image %s: %w", i.image.Root.Digest, err)
	}
	return data, nil
}

// Restore loads the Facts of an Image that was read, so that Build and Layers have the same results
// for this one, which was only opened. Facts of another image are an error.
func (i *Image) Restore(data []byte) error {
	var f facts
	err := json.Unmarshal(data, &f)
	if err == nil {
		err = i.restore(f)
	}
	if err != nil {
		return fmt.Errorf("loading the record of the layers of image %s: %w", i.image.Root.Digest, err)
	}
	return nil
}

func (i *Image) restore(f facts) error {
	if err := i.mustBeFileBased(); err != nil {
		return err
	}
	opened := *i
	if f.Label != "" && f.Label == i.dir {
		opened.labeled, opened.dir = f.Label, f.Dir
		opened.findCaches()
	}
	if clean, err := image.CleanPath(f.Dir); err != nil || clean != f.Dir || f.Dir == "" || f.Dir != opened.dir || !slices.Equal(f.Caches, opened.caches) {
		return fmt.Errorf("it is of an image with the catalog in /%.200s", f.Dir)
	}
	for _, id := range i.image.Primary().DiffIDs {
		if _, ok := f.Layers[id]; !ok {
			return fmt.Errorf("layer %s is missing", id)
		}
	}
	listings := map[digest.Digest]*image.Listing{}
	for id, l := range f.Layers {
		found := &image.Listing{Elsewhere: l.More, Tmp: l.Tmp, Touches: map[string]bool{}, Directories: map[string]image.Attributes{}}
		for _, dir := range l.Touches {
			found.Touches[dir] = true
		}
		for name, a := range l.Directories {
			found.Directories[name] = image.Attributes{Mode: a.Mode, UID: a.UID, GID: a.GID}
		}
		listings[id] = found
	}
	opened.listings = listings
	*i = opened
	return nil
}
