package picture

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/diagram"
)

// The names of marks and kinds.
const (
	head          = "head"
	mirrorHead    = "mirrored head"
	installed     = "installed"
	kept          = "kept"
	pruned        = "pruned"
	skipped       = "skipped"
	deprecated    = "deprecated"
	stranded      = "stranded"
	shared        = "shared"
	absent        = "absent"
	drawnAbove    = "drawn above"
	isDefault     = "default"
	mirrorDefault = "default in the mirror"
	replaces      = "replaces"
	skips         = "skips"
	skipRange     = "skipRange"
	notMirrored   = "not mirrored"
)

func marks() []diagram.Mark {
	return []diagram.Mark{
		{Name: isDefault, About: "the channel of subscriptions that name none", Look: diagram.Badge},
		{Name: mirrorDefault, About: "the default channel of the mirrored catalog", Look: diagram.Badge},
		{Name: notMirrored, About: "nothing of the channel is kept", Look: diagram.Badge},
		{Name: head, About: "the bundle that new installations get", Look: diagram.Strong},
		{Name: mirrorHead, About: "the bundle that new installations get from the mirror", Look: diagram.Strong},
		{Name: installed, About: "a cluster runs it", Look: diagram.Here},
		{Name: kept, About: "the mirror has it", Look: diagram.Chosen},
		{Name: pruned, About: "the mirror does not have it", Look: diagram.Faded},
		{Name: skipped, About: "skipped, not offered to new installations", Look: diagram.Dashed},
		{Name: deprecated, About: "deprecated by its publisher", Look: diagram.Notice},
		{Name: stranded, About: "no updates lead to the head", Look: diagram.Notice},
		{Name: shared, About: "also in other channels", Look: diagram.Stacked},
		{Name: absent, About: "not in this channel, but can be updated from", Look: diagram.Absent},
	}
}

func kinds() []diagram.Kind {
	return []diagram.Kind{
		{Name: replaces, About: "an update of the chain", Line: diagram.Solid},
		{Name: skips, About: "an update from a skipped bundle", Line: diagram.Dash},
		{Name: skipRange, About: "an update from every version in a range", Line: diagram.Dots},
	}
}

// notes returns the sentences below the title.
func (s *sketch) notes(channels []*catalog.Channel) []string {
	p := s.pkg
	first := fmt.Sprintf("%s in %s", counted(len(p.Bundles), "bundle"), counted(len(p.Channels), "channel"))
	if len(channels) < len(p.Channels) {
		first += fmt.Sprintf(", %d %s drawn", len(channels), verb(len(channels), "is", "are"))
	}
	if k := s.options.Kept; k != nil && len(k.Bundles) == 0 {
		first += ". The mirror keeps none of it"
	} else if k != nil {
		first += fmt.Sprintf(". The mirror keeps %s in %s", counted(len(k.Bundles), "bundle"), counted(len(k.Channels), "channel"))
		if k.DefaultChannel != p.DefaultChannel {
			first += fmt.Sprintf("; its default channel is %s", k.DefaultChannel)
		}
	}
	notes := []string{first + "."}
	if message, ok := s.deprecation(catalog.SchemaPackage, ""); ok {
		notes = append(notes, "The package is deprecated: "+message)
	}
	var elsewhere []string
	for _, at := range s.options.Installed {
		if at.Name != "" && len(s.channelsOf[at.Name]) == 0 && !slices.Contains(elsewhere, at.Name) {
			elsewhere = append(elsewhere, at.Name)
		}
	}
	if len(elsewhere) > 0 {
		notes = append(notes, "Installed, but in no channel of the catalog: "+diagram.Few(elsewhere, 5)+".")
	}
	return notes
}

func counted(n int, noun string) string {
	return diagram.Count(n) + " " + noun + verb(n, "", "s")
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
