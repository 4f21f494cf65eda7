package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// ungrouped is the largest number of names with the same edges that get a node each.
const ungrouped = 2

// An absentee is a node for names that entries replace or skip, but that are not in the channel.
type absentee struct {
	names []string // in order
	node  diagram.Node
}

// findAbsent collects the absentees. Names with the same edges share one node, except for names
// that are installed.
func (t *chart) findAbsent() []absentee {
	edgesOf := map[string][]string{} // of a name, its edges as text
	var names []string
	for _, e := range t.edges {
		if t.entry[e.from] {
			continue
		}
		if edgesOf[e.from] == nil {
			names = append(names, e.from)
		}
		edgesOf[e.from] = append(edgesOf[e.from], fmt.Sprintf("%q %s", e.to, e.kind))
	}
	elements.Sort(names, t.older)
	groups := map[string][]string{}
	for _, name := range names {
		slices.Sort(edgesOf[name])
		key := strings.Join(edgesOf[name], " ")
		if t.runs(name) {
			key = name + " " + key
		}
		edgesOf[name] = []string{key}
		groups[key] = append(groups[key], name)
	}
	var absentees []absentee
	done := map[string]bool{}
	for _, name := range names {
		key := edgesOf[name][0]
		if done[key] {
			continue
		}
		group := groups[key]
		if len(group) <= ungrouped {
			absentees = append(absentees, t.absentOne(name))
			continue
		}
		done[key] = true
		absentees = append(absentees, absentee{group, diagram.Node{
			ID:     group[0],
			Label:  counted(len(group), "bundle"),
			Detail: fmt.Sprintf("%s and others", group[0]),
			Marks:  []string{absent},
			Names:  group,
		}})
	}
	return absentees
}

func (t *chart) absentOne(name string) absentee {
	n := diagram.Node{ID: name, Label: name, Marks: []string{absent}}
	if v := t.version(name); v != nil {
		n.Label, n.Detail = v.String(), name
	}
	if t.runs(name) {
		n.Marks = append(n.Marks, installed)
	}
	if others := t.channelsOf[name]; len(others) > 0 {
		n.Note = "in " + diagram.Few(others, 1)
		n.Facts = []diagram.Fact{{Name: "in", Value: strings.Join(others, ", ")}}
	}
	return absentee{[]string{name}, n}
}
