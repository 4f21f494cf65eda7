package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/page/planpage"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// Page describes a mirror, as Status returned it, as a page: its image sets with their ages and plans, and what a prune
// would delete. Plans that cannot be read are messages. now is what ages count to.
func Page(ctx context.Context, o StatusOptions, s *MirrorState, now time.Time) (*page.Document, error) {
	e, done := o.Env.OrDefault()
	defer done()
	t, err := site.OpenMirror(e, o.Mirror, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
	if err != nil {
		return nil, err
	}
	look := page.Section{ID: planpage.Attention, Title: "To look at"}
	sets := page.Section{ID: "image-sets", Title: "Image sets", Tables: []page.Table{revisionTable(s, now)}}
	for i := range s.ImageSets {
		set := &s.ImageSets[i]
		item := page.Item{ID: setID(i), Title: set.Name, Note: fmt.Sprintf("%s, %s", env.Number(set.Content.Images, "image", "images"), progress.Bytes(set.Content.Bytes))}
		if set.Content.Missing+set.Content.Withheld > 0 {
			look.Messages = append(look.Messages, page.Message{Level: page.Warning, Text: fmt.Sprintf("%s is incomplete: %s missing, %d catalogs or releases are withheld", set.Name, env.Number(set.Content.Missing, "image is", "images are"), set.Content.Withheld), More: "run gantry mirror for it again"})
		}
		switch p, err := site.ReadRecordedPlan(ctx, t.ImageSets(), &set.Revision); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			look.Messages = append(look.Messages, page.Message{Level: page.Warning, Text: "The plan of " + set.Name + " cannot be read", More: err.Error()})
		default:
			item.Tables = planpage.Summary(p)
			earlier, err := earlierPlans(ctx, t, &set.Revision)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				look.Messages = append(look.Messages, page.Message{Level: page.Note, Text: "Not all earlier versions of " + set.Name + " are known", More: err.Error()})
			}
			item.Tables = append(item.Tables, planpage.PrunedVersions(p.Outline(), earlier)...)
		}
		sets.Items = append(sets.Items, item)
	}
	for i := range s.Pending {
		run := &s.Pending[i]
		look.Messages = append(look.Messages, page.Message{Level: page.Warning, Text: fmt.Sprintf("A run of %s by %s has begun to push and has no record: it is running, or was killed", run.Name, whoRan(run.User, run.Host)), More: "begun " + age(run.Since, now) + "; if it was killed, run it again"})
	}
	if len(s.ImageSets)+len(s.Pending) == 0 {
		look.Messages = append(look.Messages, page.Message{Level: page.Note, Text: "The mirror has no records of image sets.", More: "The next run of each configuration writes them."})
	}
	prune, err := prunable(ctx, o)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		look.Messages = append(look.Messages, page.Message{Level: page.Note, Text: "What a prune would delete is unknown", More: err.Error()})
	}
	return &page.Document{
		Kind: "Mirror", Title: s.Mirror, Lead: "State of " + now.UTC().Format("2 January 2006, 15:04 UTC") + ".",
		Facts: []page.Fact{
			{Name: "Image sets", Value: diagram.Count(len(s.ImageSets))}, {Name: "Images", Value: diagram.Count(s.Total.Images), Note: "counted for each image set"},
			{Name: "Content", Value: progress.Bytes(s.Total.Bytes), Note: "counted for each image set"}, {Name: "Packages", Value: diagram.Count(s.Total.Packages)}, {Name: "Releases", Value: diagram.Count(s.Total.Releases)},
		},
		Sections: []page.Section{look, sets, prune},
	}, nil
}

// earlierPlans reads the plans of the revisions before the current one, the newest first. Of those that cannot be read, it
// returns the errors.
func earlierPlans(ctx context.Context, t *site.RegistryDestination, current *setrecord.Revision) (all []planpage.Earlier, failed error) {
	revisions, failed := revisionsBefore(ctx, t, current)
	for i := range revisions[:min(len(revisions), planpage.MaxEarlier)] {
		r := &revisions[i]
		p, err := site.ReadRecordedPlan(ctx, t.ImageSets(), r)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		all = append(all, planpage.Earlier{Name: fmt.Sprintf("revision %d, %s", r.Number, r.LastRun.Format(time.DateOnly)), Plan: p.Outline()})
	}
	return all, failed
}

func setID(at int) string { return fmt.Sprintf("set-%d", at+1) }

// revisionTable lists the image sets and their earlier revisions.
func revisionTable(s *MirrorState, now time.Time) page.Table {
	t := page.Table{Caption: "What was mirrored, by whom and when", Columns: planpage.Columns("Image set", "Last run", "By", "From", "#Revision", "#Runs", "#Packages", "#Releases", "#Images", "#Size")}
	add := func(name page.Cell, r *setrecord.Revision) {
		from := page.Cell{Text: string(r.From), Note: "plan " + shortDigest(r.Plan.String())}
		if r.Configuration != "" {
			from.Note = shortDigest(r.Configuration.String())
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
			name, {Text: age(r.LastRun, now), Note: r.LastRun.Format(time.RFC3339)}, {Text: whoRan(r.User, r.Host)}, from, planpage.Count(r.Number), planpage.Count(r.Runs),
			planpage.Count(r.Content.Packages), planpage.Count(r.Content.Releases), planpage.Count(r.Content.Images), planpage.Bytes(r.Content.Bytes),
		}})
	}
	for i := range s.ImageSets {
		set := &s.ImageSets[i]
		add(page.Cell{Text: set.Name, Link: setID(i)}, &set.Revision)
		for j := range set.Revisions {
			add(page.Cell{Text: set.Name, Note: "earlier"}, &set.Revisions[j])
		}
	}
	return t
}

func shortDigest(d string) string { return d[:min(len(d), 19)] }

// age returns how long ago something was: "3 days ago".
func age(then, now time.Time) string {
	const day = 24 * time.Hour
	switch d := now.Sub(then); {
	case d < time.Hour:
		return "less than an hour ago"
	case d < 2*day:
		return env.Number(int(d/time.Hour), "hour", "hours") + " ago"
	default:
		return env.Number(int(d/day), "day", "days") + " ago"
	}
}

// whoRan returns "user@host", or "unknown".
func whoRan(user, host string) string {
	if user+host == "" {
		return "unknown"
	}
	return strings.Trim(user+"@"+host, "@")
}

// prunable shows what a prune would delete. Nothing is deleted.
func prunable(ctx context.Context, o StatusOptions) (page.Section, error) {
	s := page.Section{ID: "prune", Title: "Prune"}
	r, err := removal.Prune(ctx, removal.PruneOptions{Env: o.Env, Mirror: o.Mirror, Workspace: o.Workspace, MaxNestedPaths: o.MaxNestedPaths})
	if err != nil {
		return s, err
	}
	p := r.Plan
	if p.Empty() {
		s.Messages = []page.Message{{Level: page.Note, Text: "Nothing to delete: everything that the records list is needed."}}
		return s, nil
	}
	s.Lead = fmt.Sprintf("gantry prune would delete %s and %s, and free at most %s. What image sets without a record need is unknown.", env.Number(p.Totals.Manifests, "manifest", "manifests"), env.Number(p.Totals.Tags, "tag", "tags"), progress.Bytes(p.Totals.Bytes))
	t := page.Table{Caption: "To delete", Columns: planpage.Columns("Repository", "Tag or digest", "Was", "Last needed by", "#Frees")}
	for _, m := range p.Manifests {
		name := shortDigest(m.Digest.String())
		if len(m.Tags) > 0 {
			name = strings.Join(m.Tags, ", ")
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: m.Repository, Code: true}, {Text: name, Code: true}, {Text: m.Source}, {Text: fmt.Sprint(m.LastWanted)}, planpage.Bytes(m.Bytes)}})
	}
	for _, x := range p.Tags {
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: x.Repository, Code: true}, {Text: x.Tag, Code: true}, {Text: "a tag; its manifest stays"}, {Text: fmt.Sprint(x.LastWanted)}, {}}})
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}
