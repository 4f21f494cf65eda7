package view

import (
	"cmp"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// CopyProgress returns the reading of a meter, for progress bars and lines.
func CopyProgress(m *mirror.Meter, retries int64) progress.Reading {
	at := m.Progress()
	r := progress.Reading{Images: at.Images, ImagesDone: at.Finished, Total: at.Total, Done: at.Done, Moved: at.Copied, Requests: at.Requests, RequestsDone: at.RequestsDone}
	switch {
	case at.Total == 0 && at.Finished < at.Images:
		return progress.Reading{What: "looking", Images: at.Images, ImagesDone: at.Compared}
	case at.Total > 0 && at.Done == at.Total && at.Finished == at.Images:
		r.What = "finishing"
	}
	r.Facts = present(
		textIf(at.Failed > 0, "%d failed", at.Failed),
		textIf(at.Withheld > 0, "%d withheld", at.Withheld),
		textIf(at.Present > 0, "%d already present", at.Present),
		textIf(at.Found > 0, "%s found", progress.Bytes(at.Found)),
		textIf(at.Mounted > 0, "%s mounted", progress.Bytes(at.Mounted)),
		textIf(retries > 0, "%s", Number(retries, "retry", "retries")))
	transfers := m.Transfers()
	elements.Sort(transfers, func(a, b mirror.Transfer) int { return cmp.Compare(b.Size, a.Size) })
	for _, t := range transfers {
		name := string(t.Digest)
		if hex := t.Digest.Encoded(); len(hex) > 12 {
			name = hex[:12]
		}
		r.Items = append(r.Items, progress.Item{Name: name + " " + t.Repository, Size: t.Size, Done: t.Done})
	}
	return r
}
