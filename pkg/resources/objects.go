package resources

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// An ObjectName names an object of a cluster.
type ObjectName struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns "CatalogSource openshift-marketplace/cs-index-v1".
func (n ObjectName) String() string {
	if n.Namespace == "" {
		return n.Kind + " " + n.Name
	}
	return n.Kind + " " + n.Namespace + "/" + n.Name
}

func compareNames(a, b ObjectName) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// A RenamedObject is a catalog whose object has another name than before.
type RenamedObject struct {
	From ObjectName `json:"from"`
	To   ObjectName `json:"to"`
}

// Changes are the differences between the objects of two runs, sorted.
type Changes struct {
	// Added and Removed also have the objects of Renamed.
	Added   []ObjectName    `json:"added"`
	Changed []ObjectName    `json:"changed"`
	Removed []ObjectName    `json:"removed"`
	Renamed []RenamedObject `json:"renamed,omitempty"`
	// NotApplied are objects that the Kustomization applied before, and whose component it now leaves out. The
	// manifests still have them, and clusters keep them.
	NotApplied []ObjectName `json:"notApplied,omitempty"`
	// Settings are objects of clusters that only the files before change. Clusters need them: they are set
	// back, and not deleted.
	Settings []Setting `json:"settings,omitempty"`
	// Unchanged is how many objects are as before.
	Unchanged int `json:"unchanged"`
}

// Any reports whether there is a difference.
func (c *Changes) Any() bool {
	return len(c.Added)+len(c.Changed)+len(c.Removed)+len(c.NotApplied)+len(c.Settings) > 0
}

// AddDropped adds to Removed the objects of the files before that no longer are in those after, whether the
// Kustomization applied them or not: an earlier one may have, for other clusters.
func (c *Changes) AddDropped(before, after []File) {
	manifests := slices.DeleteFunc(slices.Clone(before), func(f File) bool { return IsSupport(f.Name) })
	now := ObjectNames(after)
	for _, n := range ObjectNames(manifests) {
		if !slices.Contains(now, n) && !slices.Contains(c.Removed, n) {
			c.Removed = append(c.Removed, n)
		}
	}
	elements.Sort(c.Removed, compareNames)
}

// Compare returns how the objects in the files after differ from those before. A file may contain
// several YAML documents or a list. Files before that are not manifests are ignored: the user may have
// changed them.
func Compare(before, after []File) (*Changes, error) {
	was := map[ObjectName]object{}
	for _, f := range before {
		all, err := readObjects(f)
		if err != nil {
			continue
		}
		for _, o := range all {
			o.setting = isSetting(f.Name)
			was[o.name] = o
		}
	}
	c := &Changes{Added: []ObjectName{}, Changed: []ObjectName{}, Removed: []ObjectName{}}
	now := map[ObjectName]object{}
	for _, f := range after {
		all, err := readObjects(f)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Name, err)
		}
		for _, o := range all {
			now[o.name] = o
		}
	}
	for name, o := range now {
		switch old, known := was[name]; {
		case !known:
			c.Added = append(c.Added, name)
		case !bytes.Equal(old.text, o.text):
			c.Changed = append(c.Changed, name)
		default:
			c.Unchanged++
		}
	}
	for name, o := range was {
		switch _, stays := now[name]; {
		case stays:
		case o.setting:
			c.Settings = append(c.Settings, o.restored())
		default:
			c.Removed = append(c.Removed, name)
		}
	}
	elements.Sort(c.Settings, func(a, b Setting) int { return compareNames(a.ObjectName, b.ObjectName) })
	for _, list := range [][]ObjectName{c.Added, c.Changed, c.Removed} {
		elements.Sort(list, compareNames)
	}
	c.findRenamed(was, now)
	return c, nil
}

// findRenamed finds the catalogs whose objects were renamed: one object disappears and one of its kind
// appears for a repository.
func (c *Changes) findRenamed(was, now map[ObjectName]object) {
	type place struct{ kind, repository string }
	added := map[place][]ObjectName{}
	removed := map[place][]ObjectName{}
	for _, n := range c.Added {
		at := place{n.Kind, now[n].repository}
		added[at] = append(added[at], n)
	}
	for _, n := range c.Removed {
		at := place{n.Kind, was[n].repository}
		removed[at] = append(removed[at], n)
	}
	for at, from := range removed {
		if to := added[at]; at.repository != "" && len(from) == 1 && len(to) == 1 {
			c.Renamed = append(c.Renamed, RenamedObject{from[0], to[0]})
		}
	}
	elements.Sort(c.Renamed, func(a, b RenamedObject) int { return compareNames(a.From, b.From) })
}

// ObjectNames returns the objects in files. Files that are not manifests are ignored.
func ObjectNames(files []File) (names []ObjectName) {
	for _, f := range files {
		all, err := readObjects(f)
		if err != nil {
			continue
		}
		for _, o := range all {
			names = append(names, o.name)
		}
	}
	elements.Sort(names, compareNames)
	return slices.Compact(names)
}

// An object is an object of a cluster, with its text in a form that can be compared.
type object struct {
	name       ObjectName
	apiVersion string
	text       []byte
	repository string // of a catalog's image
	setting    bool   // it belongs to the cluster
}

// readObjects reads the objects of a file with YAML or JSON.
func readObjects(f File) (all []object, err error) {
	documents := yaml.NewDecoder(bytes.NewReader(f.Text))
	for {
		var fields map[string]any
		if err := documents.Decode(&fields); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		items := []any{fields}
		if list, ok := fields["items"].([]any); ok {
			items = list
		}
		for _, item := range items {
			o, err := newObject(item)
			if err != nil {
				return nil, err
			}
			if o.name.Name != "" {
				all = append(all, o)
			}
		}
	}
}

func newObject(item any) (object, error) {
	text, err := json.Marshal(item)
	if err != nil {
		return object{}, err
	}
	var head struct {
		APIVersion string
		Kind       string
		Metadata   struct{ Namespace, Name string }
		Spec       struct {
			Image  string
			Source json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return object{}, err
	}
	o := object{name: ObjectName{head.Kind, head.Metadata.Namespace, head.Metadata.Name}, apiVersion: head.APIVersion, text: text}
	image := head.Spec.Image
	if head.Kind == "ClusterCatalog" {
		var source struct{ Image struct{ Ref string } }
		if json.Unmarshal(head.Spec.Source, &source) == nil {
			image = source.Image.Ref
		}
	}
	if ref, err := reference.Parse(image); err == nil && (head.Kind == "ClusterCatalog" || head.Kind == "CatalogSource") {
		o.repository = ref.Name()
	}
	return o, nil
}
