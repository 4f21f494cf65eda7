package planpage

import (
	"fmt"
	"slices"
	"sort"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// maxImageBytes is about how much of a page lists of images may take, and rowBytes what a row has beside its names.
const (
	maxImageBytes = 5 << 19
	rowBytes      = 250
)

// imagesOf returns the images of each part.
func (b *builder) imagesOf() map[string][]*plan.Image {
	of := map[string][]*plan.Image{}
	for i := range b.Plan.Images {
		img := &b.Plan.Images[i]
		var keys []string
		for _, r := range img.Reasons {
			if key := partOf(r).key; !slices.Contains(keys, key) {
				keys = append(keys, key)
				of[key] = append(of[key], img)
			}
		}
	}
	return of
}

// imageRows returns how many images each package and release may list, so that all lists together are not too large: the
// same number for all.
func (b *builder) imageRows() int {
	most := len(b.Plan.Images)
	return sort.Search(most, func(n int) bool { // the first number so that one more is too large
		size := 0
		for _, images := range b.images {
			for _, img := range images[:min(n+1, len(images))] {
				size += rowBytes + len(sourceName(img))
			}
		}
		return size > maxImageBytes
	})
}

// imageTable lists images with what names them.
func (b *builder) imageTable(caption string, images []*plan.Image, namedBy func(plan.Reason) string) page.Table {
	t := page.Table{Caption: caption, Columns: Columns("Image", "Kind", "Named by", "Digest", "#Size")}
	if len(images) > b.rows {
		t.Caption += fmt.Sprintf(": the first %d of %d, because the plan has too many for a page", b.rows, len(images))
	}
	for _, img := range images[:min(b.rows, len(images))] {
		var names []string
		for _, r := range img.Reasons {
			if name := namedBy(r); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: sourceName(img), Code: true}, {Text: string(img.Kind)}, {Text: diagram.Few(names, 2)}, {Text: short(img.Digest), Code: true}, Bytes(img.Size)}})
	}
	return t
}
