package planpage

import (
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Count is a cell with a number.
func Count(n int) page.Cell { return page.Cell{Text: diagram.Count(n), Sort: int64(n)} }

// Bytes is a cell with a size.
func Bytes(n int64) page.Cell { return page.Cell{Text: progress.Bytes(n), Sort: n} }

// Columns returns columns with names. A name that begins with # is the one of numbers.
func Columns(names ...string) (all []page.Column) {
	for _, name := range names {
		if name[0] == '#' {
			all = append(all, page.Column{Name: name[1:], Number: true})
			continue
		}
		all = append(all, page.Column{Name: name})
	}
	return all
}

func packageID(catalog, at int) string { return fmt.Sprintf("package-%d-%d", catalog+1, at+1) }
func releaseID(at int) string          { return fmt.Sprintf("release-%d", at+1) }

// short returns the beginning of a digest, as far as people compare it.
func short(d digest.Digest) string {
	const characters = 19
	return string(d)[:min(len(d), characters)]
}
