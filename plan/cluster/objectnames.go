package cluster

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Names of mirror sets and of the UpdateService. The first mirror of a workspace has the names that oc
// mirror gives, "idms-operator-0". Another mirror of the workspace, and a workspace that is new for its
// mirror although another one was used for it, would replace these objects in a cluster, and remove the
// sources of the first. Their names get a suffix: the name of the image set, or Format.ResourceName. If the
// mirror has records of its image sets, every workspace has the same sources, and no suffix is needed.
// The workspace keeps the suffix of each mirror.

// NameObjects sets the suffix of the objects of a mirror, and the note about it. imageSet is the name of the plan, given is
// Format.ResourceName. With save, the suffix is kept in the workspace.
func NameObjects(s *workspace.Session, t *site.RegistryDestination, workspace, imageSet, given string, save bool) error {
	key := t.Key()
	taken, err := s.OtherSuffixes(key)
	if err != nil {
		return err
	}
	suffix, known, err := s.Suffix(key)
	switch {
	case err != nil:
		return err
	case given != "":
		if slices.Contains(taken, given) {
			return env.InputHint("set another one", "Options.ResourceName %q belongs to another mirror of the workspace", given)
		}
		suffix = given
	case !known:
		if len(t.Recorded) == 0 { // else these objects contain those of the other workspace, and replace them
			taken = append(taken, suffixElsewhere(s, t, workspace)...)
		}
		if slices.Contains(taken, "") {
			suffix = resources.NewSuffix(imageSet, taken)
			t.SuffixNote = fmt.Sprintf("the mirror sets of %s have %q in their names, because another mirror or workspace has those without", t.String(), suffix)
		}
	case slices.Contains(taken, suffix):
		t.SuffixNote = fmt.Sprintf("the mirror sets of %s have the same names as those of another mirror in this workspace, so a cluster can use only one of the two mirrors; set Options.ResourceName to a name to use both",
			t.String())
	}
	t.Suffix = suffix
	if !save {
		return nil
	}
	return s.SaveSuffix(key, suffix)
}

// suffixElsewhere returns the suffix that objects of the mirror have in the workspace that was last used
// for it, if that is another one.
func suffixElsewhere(s *workspace.Session, t *site.RegistryDestination, workspace string) []string {
	dir, err := filepath.Abs(workspace)
	if err != nil || s.Env.StateDir == "" {
		return nil
	}
	last := state.LastWorkspace(s.Env.StateDir, t.String())
	if last == "" || last == dir {
		return nil
	}
	if suffix, known := state.SuffixIn(last, t.Key()); known {
		return []string{suffix}
	}
	return nil
}
