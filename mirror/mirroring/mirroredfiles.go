package mirroring

import (
	"context"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// mirroredFiles returns the files of a plan that are at the destination after a run.
func mirroredFiles(p *plan.Plan, report *mirror.Report) (all []site.MirroredFile) {
	if report.Unfinished {
		return nil
	}
	failed := map[string]bool{} // by source
	for _, f := range report.Failed {
		failed[f.Source] = true
	}
	for _, f := range p.Files {
		if !failed[f.Source] {
			all = append(all, site.NewMirroredFile(f))
		}
	}
	return all
}

// sayOtherFiles says which files that were copied have another content in the mirror, too, since the name now
// belongs to this one. It is the older content of the file, or the file of another image set.
func sayOtherFiles(ctx context.Context, e *env.Env, t *site.RegistryDestination, p *plan.Plan, report *mirror.Report) {
	var copied []plan.File
	for _, f := range p.Files {
		if slices.ContainsFunc(report.New, func(img *plan.Image) bool { return img.Digest == f.Digest && img.Source == f.Source }) {
			copied = append(copied, f)
		}
	}
	if len(copied) == 0 {
		return
	}
	tags, err := t.Client.Tags(ctx, t.InMirror(fileartifact.Repository), site.MaxFileTags)
	if err != nil {
		e.Logger().Warn("the files of the mirror cannot be listed", "error", err)
		return
	}
	for _, f := range copied {
		if others := otherContents(f, tags); len(others) > 0 {
			e.Noticef("file %s: this name now has the content of this run; the mirror also has %s, which another run mirrored under this name",
				f.Name, strings.Join(others, ", "))
		}
	}
}

// otherContents returns the other contents that a mirror has of a file, by what gantry get is given. tags are
// those of the mirror.
func otherContents(f plan.File, tags []string) (others []string) {
	own := f.Artifact().Tags()
	for _, tag := range tags {
		digits, ok := strings.CutPrefix(tag, own[0]+"-")
		if ok && tag != own[1] && len(digits) == len(own[1])-len(own[0])-1 && strings.Trim(digits, "0123456789abcdef") == "" {
			others = append(others, f.Name+"@sha256:"+digits)
		}
	}
	return others
}
