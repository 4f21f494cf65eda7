package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// What oc mirror prints while it copies, as far as other tools look for it (internal/pkg/batch of its version 2),
// without the codes for colors.

// An OCMirrorLog makes the lines of a copy.
type OCMirrorLog struct {
	// Now returns the time of a line.
	Now func() time.Time

	plan *plan.Plan // what was requested
}

func (l *OCMirrorLog) line(level, format string, args ...any) string {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	return fmt.Sprintf("%s  %-9s: %s\n", l.Now().Format("2006/01/02 15:04:05"), "["+level+"]", text)
}

// Begin returns the lines at the begin of a copy.
func (l *OCMirrorLog) Begin(p *plan.Plan) string {
	if l.plan == nil { // otherwise, packages are left out of what was requested
		l.plan = p
	}
	return l.line("INFO", "\U0001F680 Start copying the images...") + l.line("INFO", "\U0001F4CC images to copy %d ", len(images(p))+len(p.Missing))
}

// images returns the images of a plan without those that belong to another image: oc mirror does not count them.
func images(p *plan.Plan) []*plan.Image {
	var all []*plan.Image
	for i := range p.Images {
		if p.Images[i].Subject == "" {
			all = append(all, &p.Images[i])
		}
	}
	return all
}

// Images returns a line for each image that was copied, and for each that failed.
func (l *OCMirrorLog) Images(r *mirror.Report) string {
	var b strings.Builder
	for _, img := range r.New {
		b.WriteString(l.line("INFO", "Success copying %s \u27A1\uFE0F %s", img.Source, img.Repository))
	}
	for _, f := range r.Failed {
		b.WriteString(l.line("ERROR", "Failed to copy %s: %s", f.Source, f.Reason))
	}
	return b.String()
}

// Results returns the lines at the end of a copy: how many of the requested images of each kind are at the
// destination, with everything that belongs to them. copied is the plan without packages that were left out.
func (l *OCMirrorLog) Results(copied *plan.Plan, r *mirror.Report) string {
	if l.plan == nil {
		return ""
	}
	present := map[string]bool{}
	for _, img := range images(copied) {
		present[img.Source] = true
	}
	incomplete := map[digest.Digest]bool{} // images without something that belongs to them
	for _, f := range r.Failed {
		delete(present, f.Source)
		for i := range copied.Images {
			if img := &copied.Images[i]; img.Source == f.Source && img.Subject != "" {
				incomplete[img.Subject] = true
			}
		}
	}
	total, done := map[string]int{}, map[string]int{}
	for _, img := range images(l.plan) {
		kind := ocMirrorKind(img.Reasons)
		total[kind]++
		if present[img.Source] && !incomplete[img.Digest] {
			done[kind]++
		}
	}
	for _, m := range l.plan.Missing {
		total[ocMirrorKind(m.Reasons)]++
	}
	return l.results("mirrored", total, done)
}

// results returns the lines with how many images of each kind were mirrored or deleted.
func (l *OCMirrorLog) results(verb string, total, done map[string]int) string {
	var b strings.Builder
	b.WriteString(l.line("INFO", "=== Results ==="))
	for _, kind := range [...]string{"release", "operator", "additional", "helm"} {
		switch n := total[kind]; {
		case n == 0:
		case done[kind] == n:
			b.WriteString(l.line("INFO", " \u2713 %d / %d %s images %s successfully", n, n, kind, verb))
		default:
			b.WriteString(l.line("INFO", " \u2717 %d / %d %s images %s: Some %s images failed to be %s - please check the logs", done[kind], n, kind, verb, kind, verb))
		}
	}
	return b.String()
}

// ocMirrorKind returns which of the four kinds of oc mirror an image is of.
func ocMirrorKind(reasons []plan.Reason) string {
	kind := "additional"
	for _, r := range reasons {
		switch {
		case r.Release != "" || r.List == "platform":
			return "release"
		case r.Catalog != "" || r.List == "operators":
			return "operator"
		case r.Chart != "":
			kind = "helm"
		}
	}
	return kind
}
