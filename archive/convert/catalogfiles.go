package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A catalogEntry is what is read of an object of a catalog.
type catalogEntry struct {
	Name           string `json:"name"`
	Package        string `json:"package"`
	DefaultChannel string `json:"defaultChannel"`
	Image          string `json:"image"`
	RelatedImages  []struct {
		Name  string `json:"name"`
		Image string `json:"image"`
	} `json:"relatedImages"`
}

// readCatalog reads the files of a catalog in the working directory. What oc mirror filtered is JSON; the files of other catalogs are
// as they are in their images, JSON or YAML.
func (n *names) readCatalog(name, below string) ([]plan.Package, error) {
	packages := []plan.Package{}
	read := catalog.NewStreamer(func(m *catalog.Meta) error {
		var e catalogEntry
		if err := json.Unmarshal(m.Raw, &e); err != nil {
			n.unreadable(name, fmt.Sprintf("%s:%d: %v", m.File, m.Line, err))
			return nil
		}
		switch m.Schema {
		case catalog.SchemaPackage:
			packages = append(packages, plan.Package{Name: e.Name, DefaultChannel: e.DefaultChannel})
		case catalog.SchemaBundle:
			n.addBundle(name, &e)
		}
		return nil
	})
	files := n.from.Files(below)
	elements.Sort(files, func(a, b string) int { // the lists of ignored files come first
		return cmp.Compare(rankOfFile(a), rankOfFile(b))
	})
	for _, file := range files {
		text, err := n.from.Text(file)
		if err != nil {
			return nil, err
		}
		if err := read.File(strings.TrimPrefix(file, below), bytes.NewReader(text)); err != nil {
			return nil, err
		}
	}
	var wrong *catalog.Error
	if err := read.Close(); errors.As(err, &wrong) {
		n.unreadable(name, wrong.Problems[0].String())
	}
	elements.Sort(packages, func(a, b plan.Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, nil
}

func rankOfFile(file string) int {
	if path.Base(file) == catalog.IgnoreFile {
		return 0
	}
	return 1
}

// unreadable notes that a file of a catalog cannot be read.
func (n *names) unreadable(name, problem string) {
	n.notes = append(n.notes, fmt.Sprintf("the files of the catalog %s in the archive cannot all be read, so that images that only these name count as additional images: %s", name, problem))
}

func (n *names) addBundle(of string, e *catalogEntry) {
	why := plan.Reason{Catalog: of, Package: e.Package, Bundle: e.Name}
	n.addSource(e.Image, "", "", plan.BundleImage, why)
	for _, img := range e.RelatedImages {
		if img.Image != "" && img.Image != e.Image {
			related := why
			related.Name = img.Name
			n.addSource(img.Image, "", "", plan.RelatedImage, related)
		}
	}
}
