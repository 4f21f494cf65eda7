package site

import (
	"io"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// planWriter writes the JSON of a plan.
type planWriter = func(io.Writer) error

// ContentOf returns the summary of a plan.
func ContentOf(p *plan.Plan) setrecord.Content {
	c := setrecord.Content{
		Catalogs: len(p.Catalogs), Releases: len(p.Releases), Images: len(p.Images), Charts: len(p.Charts), Files: len(p.Files), Bytes: p.Totals.Bytes,
	}
	for i := range p.Catalogs {
		c.Packages += len(p.Catalogs[i].Packages)
	}
	return c
}
