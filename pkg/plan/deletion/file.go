package deletion

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/opencontainers/go-digest"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// fileKind identifies a list of images to delete, in the format of oc mirror. Its version is
// imageset.APIVersion.
const fileKind = "DeleteImageList"

// MaxFile is the maximum size of a list, in bytes.
const MaxFile = 64 << 20

// maxItems is the maximum number of images in a list.
const maxItems = 1_000_000

// A File is a list of images to delete from a mirror.
type File struct {
	Items []Item
	// Removes is what the plans of image sets lose, by the name of the image set. It is nil in files of oc mirror,
	// and if the items were changed after the file was written: then see Listed.
	Removes map[string]*Choice
	// Edited reports whether the items were changed after Gantry wrote the file.
	Edited bool
}

// An Item is an image of a list.
type Item struct {
	// Source is the image as its catalog or the configuration names it, in oc mirror's form ("docker://…").
	Source string
	// Image is the image in the mirror, with a tag or a digest.
	Image reference.Reference
	// Type is what oc mirror calls its kind.
	Type string
	// Digest is the image that was under the tag when the list was made; "" in files of oc mirror.
	Digest digest.Digest
}

type fileItem struct {
	Name      string `yaml:"imageName"`
	Reference string `yaml:"imageReference"`
	Type      string `yaml:"type"`
	Digest    string `yaml:"digest,omitempty"`
}

type fileDocument struct {
	Version string     `yaml:"apiVersion"`
	Items   []fileItem `yaml:"items"`
	Kind    string     `yaml:"kind"`
	Gantry  *ownPart   `yaml:"gantry,omitempty"`
}

// An ownPart is what only Gantry writes and reads.
type ownPart struct {
	// Items is the digest of the items that it belongs to.
	Items   string        `yaml:"itemsDigest"`
	Removes []fileRemoval `yaml:"removes"`
}

type fileRemoval struct {
	ImageSet string        `yaml:"imageSet"`
	Catalogs []string      `yaml:"catalogs,omitempty"`
	Bundles  []fileBundles `yaml:"bundles,omitempty"`
	Releases []string      `yaml:"releases,omitempty"`
	Charts   []string      `yaml:"charts,omitempty"`
	Images   []string      `yaml:"images,omitempty"`
	Graph    bool          `yaml:"graph,omitempty"`
}

type fileBundles struct {
	Catalog string   `yaml:"catalog"`
	Package string   `yaml:"package"`
	Names   []string `yaml:"names"`
}

// scheme begins images in the files of oc mirror.
const scheme = "docker://"

// ParseFile reads a list. Fields that it does not know are ignored, as oc mirror does.
func ParseFile(text []byte) (*File, error) {
	var d fileDocument
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, advice.New(advice.Input, "use a file that gantry prune -c or oc mirror delete --generate wrote", "it is not a list of images: %w", err)
	}
	switch {
	case d.Kind == imageset.DeletionKind:
		return nil, advice.New(advice.Input, "make the list with gantry prune -c FILE, and use that", "it is the configuration and not the list")
	case d.Kind == "":
		return nil, advice.New(advice.Input, "use a file that gantry prune -c or oc mirror delete --generate wrote", "it has no kind: it is empty, or not a list of images")
	case d.Kind != fileKind || d.Version != imageset.APIVersion:
		return nil, advice.New(advice.Input, "use a file that gantry prune -c or oc mirror delete --generate wrote", "it is %.60q of %.60q, and not %s of %s", d.Kind, d.Version, fileKind, imageset.APIVersion)
	case len(d.Items) > maxItems:
		return nil, advice.New(advice.Input, "split it", "it has %d images, and the limit is %d", len(d.Items), maxItems)
	}
	f := &File{}
	for i, in := range d.Items {
		item, err := in.item()
		if err != nil {
			return nil, advice.Wrap(advice.Input, fmt.Errorf("item %d: %w", i+1, err), "")
		}
		f.Items = append(f.Items, item)
	}
	if d.Gantry == nil {
		return f, nil
	}
	if f.Edited = d.Gantry.Items != itemsDigest(d.Items); f.Edited {
		return f, nil
	}
	f.Removes = map[string]*Choice{}
	for _, r := range d.Gantry.Removes {
		if r.ImageSet == "" || f.Removes[r.ImageSet] != nil {
			return nil, advice.New(advice.Input, "make the list again", "the image set %.100q is listed twice, or has no name", r.ImageSet)
		}
		f.Removes[r.ImageSet] = r.choice()
	}
	return f, nil
}

func (in *fileItem) item() (Item, error) {
	if strings.ContainsFunc(in.Name+in.Type, unicode.IsControl) {
		return Item{}, fmt.Errorf("%.200q has a control character", in.Name+in.Type)
	}
	ref, err := reference.Parse(strings.TrimPrefix(in.Reference, scheme))
	if err != nil {
		return Item{}, fmt.Errorf("imageReference: %w", err)
	}
	if ref.Tag == "" && ref.Digest == "" {
		return Item{}, fmt.Errorf("imageReference %s has neither a tag nor a digest", ref)
	}
	out := Item{Source: in.Name, Image: ref, Type: in.Type, Digest: digest.Digest(in.Digest)}
	out.Digest = cmp.Or(out.Digest, ref.Digest)
	if out.Digest != "" && (!reference.IsKnownDigest(out.Digest) || ref.Digest != "" && ref.Digest != out.Digest) {
		return Item{}, fmt.Errorf("the digest %.100q of %s is malformed, or another one", in.Digest, ref)
	}
	return out, nil
}

// Write returns the file. Its items are sorted.
func (f *File) Write() ([]byte, error) {
	d := fileDocument{Version: imageset.APIVersion, Items: []fileItem{}, Kind: fileKind}
	for _, item := range f.Items {
		out := fileItem{item.Source, scheme + item.Image.String(), item.Type, string(item.Digest)}
		if item.Digest == item.Image.Digest {
			out.Digest = ""
		}
		d.Items = append(d.Items, out)
	}
	elements.Sort(d.Items, compareItems)
	if f.Removes != nil {
		d.Gantry = &ownPart{Items: itemsDigest(d.Items)}
		for _, name := range slices.Sorted(maps.Keys(f.Removes)) {
			d.Gantry.Removes = append(d.Gantry.Removes, removalOf(name, f.Removes[name]))
		}
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	err := errors.Join(encoder.Encode(d), encoder.Close())
	return text.Bytes(), err
}

func compareItems(a, b fileItem) int {
	return cmp.Or(strings.Compare(a.Reference, b.Reference), strings.Compare(a.Name, b.Name), strings.Compare(a.Type, b.Type), strings.Compare(a.Digest, b.Digest))
}

// itemsDigest returns a digest of items, in whatever order.
func itemsDigest(items []fileItem) string {
	items = elements.Sorted(slices.Values(items), compareItems)
	var text strings.Builder
	for _, i := range items {
		fmt.Fprintf(&text, "%q %q %q %q\n", i.Name, i.Reference, i.Type, i.Digest)
	}
	return digest.FromString(text.String()).String()
}

func removalOf(name string, c *Choice) fileRemoval {
	chosen := func(all map[string]bool) (names []string) {
		for name, selected := range all {
			if selected {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	r := fileRemoval{ImageSet: name, Catalogs: chosen(c.Catalogs), Releases: chosen(c.Releases), Charts: chosen(c.Charts), Images: chosen(c.Images), Graph: c.Graph}
	type pkg struct{ catalog, name string }
	bundles := map[pkg][]string{}
	for b, selected := range c.Bundles {
		if selected {
			bundles[pkg{b.Catalog, b.Package}] = append(bundles[pkg{b.Catalog, b.Package}], b.Name)
		}
	}
	for p, names := range bundles {
		slices.Sort(names)
		r.Bundles = append(r.Bundles, fileBundles{p.catalog, p.name, names})
	}
	elements.Sort(r.Bundles, func(a, b fileBundles) int {
		return cmp.Or(strings.Compare(a.Catalog, b.Catalog), strings.Compare(a.Package, b.Package))
	})
	return r
}

func (r *fileRemoval) choice() *Choice {
	c := newChoice()
	for to, names := range map[*map[string]bool][]string{&c.Catalogs: r.Catalogs, &c.Releases: r.Releases, &c.Charts: r.Charts, &c.Images: r.Images} {
		for _, name := range names {
			(*to)[name] = true
		}
	}
	for _, b := range r.Bundles {
		for _, name := range b.Names {
			c.Bundles[Bundle{b.Catalog, b.Package, name}] = true
		}
	}
	c.Graph = r.Graph
	return c
}
