package config

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// files adds the files of a plan that the configuration named, with their checksums.
func (d *planDraft) files(p *plan.Plan) {
	m := &d.draft.Config.Mirror
	for _, f := range p.Files {
		entry := imageset.File{SHA256: f.SHA256.Encoded(), Target: f.Name, Executable: f.Executable}
		address, web := plan.FileAddress(f.Source)
		path, local := plan.FilePath(f.Source)
		listed := slices.ContainsFunc(p.Images, func(img plan.Image) bool {
			return img.Digest == f.Digest && img.Source == f.Source && slices.ContainsFunc(img.Reasons, func(r plan.Reason) bool { return r.List == "files" })
		})
		if !listed || !web && !local {
			continue
		}
		if entry.Path = path; web {
			entry.URL, entry.Path = address, ""
		}
		i := slices.IndexFunc(m.Files, func(have imageset.File) bool { return have.Target == f.Name })
		switch {
		case i < 0:
			m.Files = append(m.Files, entry)
		case m.Files[i] != entry:
			d.note("file %s of %s is not included: another image set has a file of this name", f.Name, f.Origin)
		}
	}
}
